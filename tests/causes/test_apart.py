import numpy as np
import pytest
from catalogue import CATALOG
from command import convcheck, report_at
from planted.causes import CAUSES, EVERY, answering, case_of, converting, vectors_of

from convcheck.causes.apart import telling_inputs
from convcheck.causes.search import Search, diagnose
from convcheck.causes.trial import applies
from convcheck.judge.answers import Elsewhere
from convcheck.records import replace
from convcheck.semantics.answers_at import points_of
from convcheck.semantics.compile import compile_wrong, readings_at, rules_key
from convcheck.semantics.program import Program

TO_BOOL = "onnx.Cast-21/int64-to-bool"
ALIKE = ("through-int32-wrap", "through-int32-least-is-false")


def inputs_for(name, *causes):
    case = case_of(name)
    spec = CATALOG.specs[case.spec]
    programs = [compile_wrong(spec, case, (CAUSES[cause],)) for cause in causes]
    return telling_inputs(spec, case, [p for p in programs if isinstance(p, Program)]).tolist()


def test_inputs_are_worked_out_on_which_causes_differ():
    assert set(inputs_for(TO_BOOL, *ALIKE)) == {2**31, 2**64 - 2**31}
    [found, *_] = inputs_for("onnx.Cast-21/float16-to-float8e5m2/saturate=1", "truncates",
                             "cut-to-bfloat16")  # fmt: skip
    assert 0 < found < 1 << 16
    carried = ("through-float32", "through-float32-then-float16-carried-twice")
    assert inputs_for("onnx.Cast-21/float64-to-float16", *carried)


def test_what_nothing_tells_apart_has_no_such_input():
    assert inputs_for("onnx.Cast-21/float16-to-float8e5m2/saturate=1", "truncates") == []
    same = ("through-float16", "through-float16-saturating")
    assert inputs_for("openvino.Convert-1/float32-to-float8e4m3fn", *same) == []


@pytest.mark.parametrize(("false", "left"), [(True, ALIKE[1]), (False, ALIKE[0])])
def test_a_cause_that_misses_a_further_answer_is_none(false, left):
    vectors = vectors_of(TO_BOOL)

    def converted(codes):
        low = codes & codes.dtype.type(2**32 - 1)
        return ((low != 0) & ((low != 2**31) | (not false))).astype(np.uint8)

    answers = answering(vectors, converted(vectors.inputs[0]))
    search = Search(tuple(CAUSES.values()), CATALOG)
    alike = diagnose(search, vectors, answers)
    assert alike is not None
    assert {(name,) for name in ALIKE} <= set(alike.fits)
    found = diagnose(search, vectors, answers, converted)
    assert found is not None
    assert (left,) in found.fits
    assert not {(name,) for name in ALIKE if name != left} & set(found.fits)
    assert diagnose(search, vectors, answers, lambda codes: None) == alike


MINE = """causes:
  - {name: mine, says: goes through int32, through: {type: int32, beyond: wrap}}
"""


@pytest.mark.parametrize(
    ("backend", "causes"), [("ThroughInt32", 1), ("ThroughInt32Dies", 2), ("ThroughInt32Raises", 2)]
)
def test_a_run_tells_causes_apart_even_if_deadly(backend, causes, tmp_path):
    """A user's causes are tried with those found before."""
    (tmp_path / "causes").mkdir()
    (tmp_path / "causes" / "mine.yaml").write_text(MINE)
    out = tmp_path / "r.json"
    address = f"tests.planted.bad_backends:{backend}"
    asked = ("--backend", address, "--case", TO_BOOL, "--specs", tmp_path)
    done = convcheck("run", *asked, "-o", out)
    assert done.returncode == 1, done.stderr
    [cause] = report_at(out)["causes"]
    told = [each["name"] for one in (cause["together"], *cause["others"]) for each in one]
    assert ("mine" in told, ALIKE[1] in told) == (causes == 2, True)


TEXTS = "onnx.Cast-21/string-to-float16"
PAIR = ("through-float32", "inf-saturates")
PAIRED = "onnx.Cast-21/float64-to-float16"


def told(vectors, convert, ask, *names):
    causes = [CAUSES[name] for name in names] or list(CAUSES.values())
    answers = answering(vectors, convert(vectors.inputs[0]))
    found = diagnose(Search(tuple(causes), CATALOG), vectors, answers, ask)
    assert found is not None
    return found.fits


def test_texts_are_worked_out_on_which_causes_differ():
    vectors, names = vectors_of(TEXTS), ("truncates", "rounds-down")
    texts = np.array(["3.14", "1", "100.5", "0.0"], object)
    kept = np.flatnonzero(np.isin(vectors.inputs[0], texts))
    expected = vectors.expected.take(kept)
    some = replace(vectors, inputs=(vectors.inputs[0][kept],), expected=expected)
    alone = told(some, converting(some.case, "truncates"), None, *names)
    assert alone == tuple((name,) for name in names)
    for name in names:
        ask = converting(some.case, name)
        assert told(some, converting(some.case, "truncates"), ask, *names) == ((name,),)


@pytest.mark.parametrize("name", ["ties-away", "through-bfloat16", "flushes-results"])
def test_what_is_wrong_of_the_vectors_alone_has_no_cause(name):
    """A cause that fits is asked more, and the backend is right there."""
    vectors = vectors_of("onnx.Cast-21/float32-to-float16")
    wrong = converting(vectors.case, name)
    assert (name,) in told(vectors, wrong, None)
    assert (name,) in told(vectors, wrong, wrong)
    assert told(vectors, wrong, converting(vectors.case)) == ()


def test_what_is_asked_more_is_no_vector_and_is_decided():
    vectors = vectors_of("onnx.Cast-21/float32-to-int8")
    asked = []
    wrong = converting(vectors.case, "whole-nearest-even")
    told(vectors, wrong, lambda codes: (asked.append(codes), wrong(codes))[1], "whole-nearest-even")
    [codes] = asked
    values = codes.view(np.float32).astype(np.float64)
    assert not np.isin(codes, vectors.inputs[0]).any()
    assert (np.abs(values) < 129).all()
    differs = np.rint(values) != np.trunc(values)
    assert 100 < np.count_nonzero(differs) < len(codes) - 100
    assert (np.abs(values % 1 - 0.5) > 1e-3).any()


def test_pairs_are_told_apart_and_one_miss_drops_them():
    vectors = vectors_of(PAIRED)
    wrong = converting(vectors.case, *PAIR)
    alone = told(vectors, wrong, None)
    assert PAIR in alone
    assert PAIR in told(vectors, wrong, wrong)
    assert told(vectors, wrong, converting(vectors.case)) == ()


def test_pairs_are_told_apart_between_boundaries():
    """Beyond the largest value, vectors do not tell x from the rounded x through float32."""
    vectors = vectors_of("openvino.Convert-1/float64-to-float8e5m2")
    true = ("through-float32", "overflows-to-infinity")
    false = ("through-float32", "compares-x-infinity")
    wrong = converting(vectors.case, *true)
    assert false in told(vectors, wrong, None)
    found = told(vectors, wrong, wrong)
    assert true in found
    assert false not in found


@pytest.mark.parametrize(("name", "elsewhere", "explained"), [
    ("ties-away", {0x7FC00000: 0x7E01}, True),
    ("ties-away", {0x7FC00000: 0x7C00}, False),
    ("ties-away", {0x3F800000: 0x3C01}, False),
    ("nan-is-+inf", {0x7FC00000: 0x7E01}, True),
])  # fmt: skip
def test_placements_may_differ_in_nans(name, elsewhere, explained):
    vectors = vectors_of("onnx.Cast-21/float32-to-float16")
    bits = vectors.inputs[0]
    index = np.flatnonzero(np.isin(bits, list(elsewhere)))
    assert len(index) == len(elsewhere)
    other = Elsewhere("alone", index, np.array(list(elsewhere.values()), np.uint16))
    answers = answering(vectors, converting(vectors.case, name)(bits))
    answers = replace(answers, elsewhere=(other,))
    found = diagnose(Search(tuple(CAUSES.values()), CATALOG), vectors, answers)
    assert (found is not None and (name,) in found.fits) == explained


SEARCH = Search(EVERY, CATALOG)
VERSIONS = (19, 21, 23, 24, 25, 28)
TYPES = ("float64-to-float8e5m2/saturate=0", "float16-to-float8e4m3fn/saturate=1",
         "float32-to-int8", "bfloat16-to-float32", "string-to-float32")  # fmt: skip


def key_of(case):
    spec = CATALOG.specs[case.spec]
    return rules_key(spec, case.inputs[0], case.outputs[0], SEARCH.between)


@pytest.mark.parametrize("question", TYPES)
def test_causes_say_the_same_in_versions_with_equal_rules(question):
    alike = {}
    for version in VERSIONS:
        case = case_of(f"onnx.Cast-{version}/{question}")
        alike.setdefault(key_of(case), []).append(case)
    assert len(alike) < len(VERSIONS)
    one, *_, other = max(alike.values(), key=len)
    for cause in SEARCH.causes:
        if not cause.version and applies(cause, one):
            assert _said(one, cause) == _said(other, cause), cause.name


def _said(case, cause):
    program = compile_wrong(CATALOG.specs[case.spec], case, [cause])
    points = points_of(case, vectors_of(case.id).inputs[0])
    made = readings_at(program, points) if program else []
    return [(r.codes.tolist(), r.patterns.tolist()) for r in made]


def test_another_version_has_another_key_where_a_row_differs():
    question = "float16-to-float8e4m3fn/saturate=0"
    one, other = (key_of(case_of(f"onnx.Cast-{version}/{question}")) for version in (21, 23))
    assert one != other


def test_a_version_that_answers_further_inputs_otherwise_is_searched_again():
    def answers(version, ask_right):
        vectors = vectors_of(f"onnx.Cast-{version}/float64-to-float8e5m2/saturate=1")
        wrong = converting(vectors.case, "through-float32")

        def ask(inputs):
            return wrong(inputs) if ask_right else np.zeros_like(wrong(inputs))

        found = diagnose(SEARCH, vectors, answering(vectors, wrong(vectors.inputs[0])), ask)
        assert found
        return found.fits

    assert ("through-float32",) in answers(24, True)
    assert ("through-float32",) in answers(25, True)
    assert ("through-float32",) not in answers(25, False)
