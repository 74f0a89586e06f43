"""`convcheck score`: every observable wrong conversion is caught, and a gap is found."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from catalogue import CATALOG, CORPUS
from command import convcheck, refused
from planted.causes import EVERY as CAUSES
from planted.causes import case_of
from report_json import held_to_schema

from convcheck.backends.protocol import Outputs
from convcheck.causes.score import AskedInputs, Mutant, is_wrong, mutants
from convcheck.judge.answers import ANSWERED, NOT_ASKED, Answers
from convcheck.judge.answers import REFUSED as TURNED_DOWN
from convcheck.judge.calls import judge
from convcheck.judge.result import FAILURES
from convcheck.records import replace
from convcheck.rules.causes import Cause
from convcheck.rules.model import Case
from convcheck.semantics.answers_at import points_of
from convcheck.semantics.body import wrong_calls
from convcheck.semantics.compile import compile_wrong, readings_at
from convcheck.semantics.expected import EXACT, REFUSED, UNDEFINED
from convcheck.vectors.corpus import Corpus
from convcheck.vectors.model import CallSet, VectorSet

NAMED = {cause.name: cause for cause in CAUSES}


def plant(cases: Sequence[Case], causes: Sequence[Cause], corpus: Corpus = CORPUS) -> list[Mutant]:
    return [mutant for _, found in mutants(corpus, cases, causes) for mutant in found]


def only_of(kind: type[Corpus]) -> Corpus:
    return kind(CORPUS.catalog, CORPUS.tier, CORPUS.seed, CORPUS.manifests)


def calls_of(case: Case) -> CallSet:
    calls = CORPUS.vectors(case)
    assert isinstance(calls, CallSet)
    return calls


def scored(out: Path) -> Any:
    return held_to_schema("score", json.loads(out.read_text()))


NARROW = (
    # only 2^31 has no absolute value in int32
    ("onnx.Cast-25/uint32-to-bool", "through-int32-least-is-false"),
    # between 1.5 and 2 times 2^-24 the last bit of float16 decides nothing, and a lower one does
    ("onnx.Cast-25/float32-to-float8e8m0/saturate=1/round_mode=nearest", "cut-to-float16"),
    ("onnx.Cast-25/string-to-float8e8m0/saturate=1/round_mode=nearest", "cut-to-float16"),
)


@pytest.mark.parametrize(("case", "cause"), NARROW)
def test_the_edge_vectors_catch_what_few_inputs_show(case: str, cause: str) -> None:
    [found] = plant([case_of(case)], [NAMED[cause]])
    assert found.caught > 0


COUNTED = (
    "onnx.Cast-21/float64-to-float8e5m2/saturate=0",
    *(
        f"onnx.Cast-21/{types}"
        for types in ("float32-to-int4", "string-to-float16", "uint64-to-string")
    ),
    "pypto.cast-0.2/float16-to-int8/mode=CAST_RINT/satmode=OFF",
    "openvino.Convert-1/float32-to-bool",
)


@pytest.mark.parametrize("name", COUNTED)
def test_so_many_vectors_are_judged_wrong_in_a_run(name: str) -> None:
    """The score equals the judge's count if each rule has one reading."""
    case = case_of(name)
    spec, vectors = CATALOG.specs[case.spec], CORPUS.vectors(case)
    assert isinstance(vectors, VectorSet)
    points = points_of(case, vectors.inputs[0])
    counts = {mutant.cause: mutant.caught for mutant in plant([case], CAUSES)}
    for cause in CAUSES:
        program = compile_wrong(spec, case, (cause,)) if cause.applies_to(case) else None
        if program is None:
            assert cause not in counts
            continue
        given = readings_at(program, points)[0]
        free = given.patterns == UNDEFINED
        codes = np.where(free, vectors.expected.readings[0].codes, given.codes)
        refused = given.patterns == REFUSED
        state = np.where(refused, TURNED_DOWN, ANSWERED).astype(np.uint8)
        if free.any():
            continue
        messages = dict.fromkeys(np.flatnonzero(refused).tolist(), "no")
        groups = judge(vectors, Answers(codes, state, messages)).groups
        wrong = sum(group.count for group in groups if group.verdict in FAILURES)
        assert counts.get(cause, 0) == wrong, cause.name


class Blunted(Corpus):
    def vectors(self, case: Case) -> VectorSet:
        whole = super().vectors(case)
        assert isinstance(whole, VectorSet)
        bits = whole.inputs[0]
        kept = np.flatnonzero((bits & 0x7F800000 != 0) | (bits & 0x7FFFFFFF == 0))
        return replace(whole, inputs=(bits[kept],), expected=whole.expected.take(kept))


def test_what_the_vectors_miss_is_found_by_the_inputs_beyond_them() -> None:
    case, flush = case_of("onnx.Cast-21/float32-to-bfloat16"), NAMED["flushes-inputs"]
    [unseen] = plant([case], [flush], only_of(Blunted))
    assert (unseen.caught, unseen.cause) == (0, flush)
    assert unseen.witness is not None
    witness = np.array([int(unseen.witness, 16)], np.uint32)
    assert 0 < int(witness[0]) & 0x7FFFFFFF < 0x800000
    assert AskedInputs.of(CATALOG.specs[case.spec], case, witness).caught(flush).wrong == 1
    assert plant([case], [flush])[0].caught > 0


def test_what_shows_nowhere_does_not_count() -> None:
    case = case_of("onnx.Cast-21/float32-to-float64")
    assert plant([case], [NAMED["truncates"], NAMED["saturate-is-1"]]) == []


def test_a_reading_holds_for_a_rule_as_a_whole() -> None:
    """Truncation and ties to even are both readings of float to int4. A mixture is not."""
    case = case_of("onnx.Cast-21/float32-to-int4")
    truncates, away = NAMED["truncates"], NAMED["ties-away"]
    assert plant([case], [truncates]) == []
    [caught] = plant([case], [away])
    assert caught.caught > 0


def test_versions_share_what_is_equal() -> None:
    cases = [case_of(f"onnx.Cast-{version}/float32-to-float16") for version in (13, 19, 21)]
    found = plant(cases, CAUSES)
    by_case = [[(m.cause, m.caught) for m in found if m.case is case] for case in cases]
    assert by_case[0] == by_case[1] == by_case[2]
    assert by_case[0]


CHOICE = ("onnx.Cast-21", "--from", "int8", "--to", "float8")


def test_the_command_says_what_is_caught_and_what_only_just(tmp_path: Path) -> None:
    out = tmp_path / "s.json"
    done = convcheck("score", *CHOICE, "-o", out, COLUMNS="80")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert "wrong conversions show in 8 cases; the edge vectors catch all of them" in lines[0]
    assert lines[2].startswith("onnx.Cast-21 ")
    [spec] = scored(out)["specs"]
    assert (spec["cases"], spec["caught"], spec["missed"]) == (8, spec["observable"], [])
    counts = [each["vectors"] for each in spec["weakest"]]
    assert counts == sorted(counts)
    assert 0 < len(counts) < spec["observable"]


# Not every binade of float64 is asked: the files would be too large.
UNASKED = """\
causes:
  - name: loses-a-binade
    says: gives zero from 2^K to its double
    when: {from: float64, to: float64}
    table: {"x >= 2^L": as-below, "x >= 2^K": +0}
"""


def test_a_cause_that_the_vectors_miss_is_named(tmp_path: Path) -> None:
    (tmp_path / "causes").mkdir()
    text = UNASKED.replace("K", "100").replace("L", "101")
    (tmp_path / "causes" / "own.yaml").write_text(text)
    wide = ("onnx.Cast-21", "--case", "float64-to-float64", "--specs", tmp_path)
    out = tmp_path / "s.json"
    done = convcheck("score", *wide, "-o", out)
    assert done.returncode == 1, done.stderr
    told = "onnx.Cast-21/float64-to-float64: gives zero from 2^100 to its double (loses-a-binade)"
    assert "not caught: 1" in done.stdout
    assert f"{told}; 0x463" in " ".join(done.stdout.split())
    [unseen] = scored(out)["specs"][0]["missed"]
    assert (unseen["cause"], unseen["vectors"]) == ("loses-a-binade", 0)
    assert 2.0**100 <= np.uint64(int(unseen["input"], 16)).view(np.float64) < 2.0**101
    assert convcheck("score", *wide, "--tier", "boundary").returncode == 0


def test_nothing_to_observe_is_no_success() -> None:
    done = convcheck("score", "onnx.Cast-21", "--case", "bool-to-string")
    assert (done.returncode, done.stderr) == (3, "")
    assert done.stdout.startswith("no wrong conversion of the catalogue shows in 1 case")


def test_a_bad_pattern_is_bad_input() -> None:
    assert "no spec matches 'onnx.Cats-21'" in refused("score", "onnx.Cats-21")


SHORT = "onnx.Range-11/int64-int64-int64"


class Halved(Corpus):
    def vectors(self, case: Case) -> CallSet:
        whole = calls_of(case)
        lengths = [
            max((len(out.codes) for one in due.readings for out in one.outputs), default=0)
            for due in whole.expected
        ]
        return only(whole, [i for i, length in enumerate(lengths) if length <= 2])


def only(whole: CallSet, kept: Sequence[int]) -> CallSet:
    calls, expected = tuple(whole.calls[i] for i in kept), tuple(whole.expected[i] for i in kept)
    return replace(whole, calls=calls, expected=expected)


def test_so_many_calls_are_judged_wrong_in_a_run() -> None:
    case, cause = case_of(SHORT), NAMED["limit-included"]
    calls = calls_of(case)
    [made, *_] = wrong_calls(CATALOG.specs[case.spec], case, calls.calls)((cause,))
    given = [made.answer(i) for i in range(len(calls))]
    said = [i for i, one in enumerate(given) if one is not None]
    got = tuple(Outputs((one.outputs[0].codes,), ("int64",)) if one else None for one in given)
    state = np.array([ANSWERED if one else NOT_ASKED for one in given], np.uint8)
    groups = judge(calls, Answers(np.array(got, object), state, {})).groups
    wrong = sum(group.count for group in groups if group.verdict in FAILURES)
    assert 0 < wrong < len(said)
    assert [mutant.caught for mutant in plant([case], [cause])] == [wrong]


def test_what_the_calls_miss_is_found_by_those_beyond_them() -> None:
    case, cause = case_of(SHORT), NAMED["length-in-bfloat16"]
    [unseen] = plant([case], [cause], only_of(Halved))
    assert (unseen.caught, unseen.cause) == (0, cause)
    assert unseen.witness is not None
    start, limit, delta = map(int, unseen.witness.split("; "))
    exact = max(-((start - limit) // delta), 0)
    assert exact > 2  # the oracle's exact length, not the one in bfloat16
    done = convcheck("explain", SHORT, str(start), str(limit), str(delta))
    assert f"int64 [{exact}]" in done.stdout


def test_what_a_cause_leaves_open_is_taken_for_right() -> None:
    case = case_of("openvino.FakeConvert-13/float32-float32/per-tensor/destination_type=f8e5m2")
    calls = calls_of(case)
    i = next(n for n, due in enumerate(calls.expected) if len(due.readings) > 1)
    [*_, due] = calls.expected[i].readings
    [output] = due.outputs
    one, other = np.flatnonzero((output.patterns == EXACT) & (output.codes != 0))[:2]
    open_, codes = output.patterns.copy(), output.codes.copy()
    open_[one], codes[other] = UNDEFINED, codes[other] ^ 1 << 22
    given = replace(due, outputs=(replace(output, patterns=open_),))
    assert not is_wrong(calls, i, given)
    assert is_wrong(calls, i, replace(given, outputs=(replace(given.outputs[0], codes=codes),)))


def test_what_equals_the_rules_for_calls_does_not_count() -> None:
    case = case_of("onnx.Range-11/int16-int16-int16")
    assert plant([case], [NAMED["sums-in-float64"], NAMED["length-in-float64"]]) == []


def test_the_command_scores_whole_calls(tmp_path: Path) -> None:
    out = tmp_path / "s.json"
    case = "onnx.DequantizeLinear-13/int8-float32-int8/tensor"
    done = convcheck("score", case, "-o", out, "--no-progress")
    assert (done.returncode, done.stderr) == (0, "")
    assert "wrong conversions show in 1 case; the edge vectors catch all of them" in done.stdout
    assert re.search(r" [0-9]+ calls?  [a-z0-9-]+: int8-float32-int8", done.stdout)
    [spec] = scored(out)["specs"]
    assert spec["observable"] == spec["caught"] > 30


PROMOTION = "openvino.ConvertPromoteTypes-14"


def promotions(*names: str) -> list[Case]:
    first = "promote_unsafe=true/pytorch_scalar_promotion=false/u64_integer_promotion_target=f32"
    return [case_of(f"{PROMOTION}/{name}/{first}") for name in names]


class Spared(Corpus):
    def vectors(self, case: Case) -> CallSet:
        whole = calls_of(case)
        numbers = [call[1].view(np.int64) for call in whole.calls]
        kept = [i for i, x in enumerate(numbers) if (abs(x) <= 2048).all()]  # exact in float16
        assert len(kept) < len(whole)
        return only(whole, kept)


def test_what_is_wrong_with_values_is_planted_in_the_first_case_that_converts_the_types() -> None:
    cause = NAMED["truncates"]
    tensors, scalars = promotions("float16-int64/tensor-tensor", "float16-int64/scalar-scalar")
    assert plant([scalars], [cause])[0].caught > 0
    [first] = plant([tensors, scalars], [cause])
    assert (first.case, first.caught > 0) == (tensors, True)


def test_values_that_the_calls_miss_are_found_among_those_of_the_boundary_tier() -> None:
    case, cause = promotions("float16-int64/tensor-tensor")[0], NAMED["loses-the-carry"]
    assert plant([case], [cause])[0].caught > 0
    [unseen] = plant([case], [cause], only_of(Spared))
    assert (unseen.caught, unseen.cause) == (0, cause)
    assert unseen.witness is not None


def test_as_many_calls_of_a_promotion_are_judged_wrong_in_a_run() -> None:
    [case] = promotions("float16-int64/tensor-tensor")
    calls = calls_of(case)
    some = [cause for cause in CAUSES if not cause.call][::5]
    found = plant([case], some)
    edits = wrong_calls(CATALOG.specs[case.spec], case, calls.calls)
    for cause in some:
        made = next(iter(edits((cause,))), None)
        wrong = sum(is_wrong(calls, i, made.answer(i)) for i in range(len(calls)) if made)
        counts = [mutant.caught for mutant in found if mutant.cause is cause]
        assert max(counts, default=0) <= wrong <= sum(counts), cause.name
    assert len(found) > 20
