import numpy as np
import pytest
from catalogue import CATALOG
from command import convcheck
from planted.causes import EVERY, answered_calls, answering, case_of, converting, vectors_of
from planted_calls import asked
from planted_calls import told as told_of

from convcheck.backends.protocol import Outputs
from convcheck.causes.gather import causes_named, gathered
from convcheck.causes.search import Search, diagnose
from convcheck.judge.answers import Elsewhere
from convcheck.judge.calls import judge
from convcheck.records import replace
from convcheck.semantics.evaluate import evaluate
from convcheck.vectors.model import CallSet


def rounded(source):
    start = f"onnx.Cast-24/{source}-to-float8e8m0/saturate=1/round_mode="
    return [start + mode for mode in ("up", "down", "nearest")]


def result(name, convert, elsewhere=()):
    vectors = vectors_of(name)
    answers = answering(vectors, convert(vectors.inputs[0]))
    answers = replace(answers, elsewhere=tuple(elsewhere))
    found = diagnose(Search(EVERY, CATALOG), vectors, answers, convert)
    return replace(judge(vectors, answers), diagnosis=found)


def told(results):
    return [
        (tuple(cause.name for cause in one.causes), [case.case.id for case in one.cases])
        for one in gathered(results, causes_named(results, EVERY)).explanations
    ]


@pytest.mark.parametrize("source", ["float16", "uint8", "int64"])
def test_an_attribute_is_ignored_where_only_one_value_is_right(source):
    names = rounded(source)
    ignoring = converting(case_of(names[0]), *(["through-float32"] if source == "int64" else []))
    results = [result(name, ignoring) for name in names]
    pair = ("through-float32",) if source == "int64" else ()
    alone = [(pair, names[:1])] if pair else []
    assert told(results) == [*alone, ((*pair, "round-mode-is-up"), names[1:])]


def test_an_attribute_is_not_ignored_where_two_of_its_values_are_right():
    names = rounded("float16")
    kernels = [converting(case_of(name)) for name in (*names[:2], names[1])]
    results = [result(*one) for one in zip(names, kernels, strict=True)]
    found = results[2].diagnosis
    assert found
    assert {("round-mode-is-down",), ("truncates",)} <= set(found.fits)
    assert told(results) == [(("truncates",), names[2:])]


def test_an_attribute_that_other_types_obey_is_not_ignored():
    """OpenVINO 2026.4.1 takes some promotions of i8 and u16 as unsafe, and refuses others."""

    def right(source):
        found = [result(name, converting(case_of(name))) for name in rounded(source)]
        group, *groups = found[0].groups
        other = replace(group, decision=replace(group.decision, row="another row"))
        return [replace(found[0], groups=(other, *groups)), *found[1:]]

    names = rounded("float16")
    fits = (("round-mode-is-up",), ("rounds-away",))
    results = [result(name, converting(case_of(names[0]))) for name in names]
    results[1:] = [
        replace(one, diagnosis=replace(one.diagnosis, fits=fits))
        for one in results[1:]
        if one.diagnosis
    ]
    for source in ("float32", "bfloat16", "float64"):
        assert told(results) == [(("round-mode-is-up",), names[1:])]
        results += right(source)
    assert told(results) == [(("rounds-away",), names[1:])]


def test_a_mode_that_leaves_an_input_open_is_not_refuted_by_a_right_answer():
    """With saturate=0, only `nearest` says what 0 and infinity give."""
    names = [f"onnx.Cast-24/float16-to-float8e8m0/saturate=0/round_mode={mode}"
             for mode in ("up", "nearest")]  # fmt: skip
    up, right = converting(case_of(names[0])), converting(case_of(names[1]))
    inside = evaluate(CATALOG.specs["onnx.Cast-24"], vectors_of(names[0]).case,
                      np.arange(1 << 16, dtype=np.uint16)).readings[0].patterns == 0  # fmt: skip

    def kernel(codes):
        return np.where(inside[codes], up(codes), right(codes))

    found = result(names[1], kernel).diagnosis
    assert found
    assert ("round-mode-is-up",) in found.fits


def test_a_cause_of_few_wrong_answers_says_so_however_many_versions_have_it():
    few = [f"onnx.Cast-{v}/float8e4m3fn-to-bool" for v in (19, 21, 23, 24, 25)] * 8
    many = "onnx.Cast-21/float64-to-float16"

    def compares_codes(codes):
        return (codes != 0).astype(np.uint8)

    for results, said in (
        ([result(name, compares_codes) for name in few], True),
        ([result(many, converting(case_of(many), "through-float32"))], False),
    ):
        [one] = gathered(results, causes_named(results, EVERY)).explanations
        assert one.is_on_few_answers is said


def test_a_fault_of_whole_vectors_keeps_its_cause_and_says_where_it_lives():
    """Tails of 8 and single elements are right (llvm/llvm-project#214605)."""
    name = "onnx.Cast-21/float64-to-float16"
    wrong, right = converting(case_of(name), "through-float32"), converting(case_of(name))

    def in_lanes(codes):
        whole = len(codes) // 8 * 8
        return np.concatenate([wrong(codes[:whole]), right(codes[whole:])])

    bits = vectors_of(name).inputs[0]
    differs = np.flatnonzero(wrong(bits) != right(bits))
    others = [Elsewhere(p, differs[-9:], right(bits[differs[-9:]])) for p in ("alone", "odd tail")]
    found = result(name, in_lanes, others)
    assert found.diagnosis
    assert ("through-float32",) in found.diagnosis.fits
    assert found.diagnosis.whole_vectors
    [one] = gathered([found], causes_named([found], EVERY)).explanations
    assert one.in_whole_vectors
    plain = result(name, wrong)
    assert plain.diagnosis
    assert not plain.diagnosis.whole_vectors


def test_a_run_says_that_a_fault_lives_in_whole_vectors():
    done = convcheck("run", "--backend", "tests.planted.bad_backends:InVectors", "--case",
                     "onnx.Cast-21/float64-to-float16")  # fmt: skip
    assert "in whole vectors only: rounds twice, through float32" in done.stdout


F32 = np.float32
QUANTIZE = "onnx.QuantizeLinear-21/float32-float32-int8/tensor"


def quantize(quotient, rounded=np.rint):
    def kernel(x, scale, zero):
        with np.errstate(all="ignore"):
            place = rounded(quotient(x.view(F32), scale.view(F32))) + zero.view(np.int8)
            whole = np.clip(np.where(np.isnan(place), 0, place), -128, 127)
        return np.asarray(whole).astype(np.int8).view(np.uint8)

    return kernel


def away(x):
    return np.trunc(x.astype(np.float64) + np.copysign(0.5, x))


PLANTED = {
    "a reciprocal": (
        quantize(lambda x, s: x * (F32(1) / s)),
        {"quotient-by-reciprocal", "quotient-by-reciprocal-in-float32", "nan-is-+0"}
        | {f"through-int{bits}-clamp" for bits in (16, 32, 64)},  # which also give 0 for a NaN
    ),
    "a reciprocal of large quotients alone": (
        quantize(lambda x, s: np.where(np.abs(x / s) > 60, x * (F32(1) / s), x / s)), set(),
    ),
    "ties away from zero": (quantize(lambda x, s: x / s, away), {"quotient-rounded-nearest-away"}),
    "ties away from zero beyond 100": (
        quantize(lambda x, s: x / s, lambda q: np.where(np.abs(q) > 100, away(q), np.rint(q))),
        set(),
    ),
    "towards zero below 1": (
        quantize(lambda x, s: x / s, lambda q: np.where(np.abs(q) < 1, np.trunc(q), np.rint(q))),
        set(),
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", PLANTED)
def test_no_neighbour_that_fits_some_calls_explains_a_fault(fault):
    """Neighbours are compared with ten times as many elements as the vectors have."""
    kernel, right = PLANTED[fault]
    calls, more = asked(QUANTIZE), list[CallSet]()

    def answers(some):
        more.append(some)
        return answered_calls([Outputs((kernel(*call),), ("int8",)) for call in some.calls])

    found = told_of(calls, answers)
    assert {name for fit in found.fits for name in fit} <= right
    assert bool(found.fits) is bool(right)
    sizes = [sum(call[0].size for call in some.calls) for some in more]
    assert found.answers > len(calls)
    assert all(size > 9 * sizes[0] for size in sizes[1:])
