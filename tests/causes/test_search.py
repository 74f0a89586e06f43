from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from catalogue import CATALOG
from planted.causes import OF_VALUES as CAUSES
from planted.causes import TO_INTEGER, WIDE, case_of, decides, may_show, vectors_of
from planted.causes import caused as answered

from convcheck.causes.catalogue import causes_in
from convcheck.causes.gather import causes_named, gathered
from convcheck.causes.search import Search, diagnose
from convcheck.causes.trial import Trial, judged_ones, tried
from convcheck.judge.answers import ANSWERED, CRASHED, Answers, Elsewhere, Fault
from convcheck.judge.calls import judge
from convcheck.judge.result import CaseDiagnosis
from convcheck.records import replace
from convcheck.rules.causes import CauseFile
from convcheck.semantics.answers_at import points_of
from convcheck.semantics.compile import compile_wrong, readings_at
from convcheck.semantics.expected import EXACT, UNDEFINED
from convcheck.semantics.expected import REFUSED as TO_REFUSE
from convcheck.semantics.vocabulary import CASES
from convcheck.survey.survey import Known

OPEN = (
    *(f"onnx.Cast-1/{types}" for types in ("float32-to-float4e2m1", "complex64-to-bool")),
    *(
        f"onnx.Cast-9/{types}"
        for types in ("string-to-bool", "bool-to-string", "string-to-float16")
    ),
)


def told(vectors, answers, **others):
    search = Search(tuple({**CAUSES, **others}.values()), CATALOG)
    return diagnose(search, vectors, answers) or CaseDiagnosis(0, 0)


def result(vectors, answers):
    return replace(judge(vectors, answers), diagnosis=told(vectors, answers))


def given(name, cause, inputs):
    case = case_of(name)
    program = compile_wrong(CATALOG.specs[case.spec], case, (CAUSES[cause],))
    assert program is not None
    codes = np.array(inputs, case.inputs[0].format.storage)
    return readings_at(program, points_of(case, codes))[0]


def test_a_cause_that_is_there_twice_counts_once():
    case = vectors_of(WIDE).case
    for name in ("through-float32", "inf-saturates"):
        once, twice = (
            compile_wrong(CATALOG.specs[case.spec], case, (CAUSES[name],) * n) for n in (1, 2)
        )
        assert once
        assert twice
        assert once.meaning == twice.meaning


VERSION = """\
causes:
  - name: as-version-13
    says: answers as version 13 of the operator says
    version: "13"
"""


def test_an_earlier_version_is_a_cause_where_its_rules_say_something_else():
    [as_13] = causes_in([CauseFile("own.yaml", VERSION)], CATALOG.types)
    spec = CATALOG.specs["onnx.Cast-24"]
    for name in ("float32-to-float16", "float32-to-float8e4m3fn/saturate=0", "int4-to-int8"):
        case = case_of(f"onnx.Cast-24/{name}")
        assert compile_wrong(spec, case, (as_13,)) is None  # the same rules, or none of the types
    case = case_of("onnx.Cast-24/float32-to-float8e4m3fn/saturate=0")
    assert compile_wrong(spec, case, (CAUSES["as-version-21"],))  # NaN may lose its sign
    assert compile_wrong(spec, case, (CAUSES["as-version-23"],)) is None
    old = case_of("onnx.Cast-19/float32-to-float8e4m3fn/saturate=0")
    later = CAUSES["as-version-21"]
    assert compile_wrong(CATALOG.specs["onnx.Cast-19"], old, (later,)) is None  # extends none


@pytest.mark.parametrize("name", list(CAUSES))
def test_each_cause_is_found_in_the_answers_that_it_gives(name):
    cause = CAUSES[name]
    for case in may_show(name):
        if not decides(case, cause):
            continue
        vectors = vectors_of(case)
        # marked as found elsewhere: such causes are tried first, and hide equivalent ones
        found = told(vectors, answered(vectors, cause), **{name: replace(cause, common=True)})
        if found.wrong:
            assert (name,) in found.fits
            assert found.wrong < found.answers
            return
    assert cause.says in surveyed(cause), f"nothing asked here shows {name}"


def surveyed(cause):
    found = set()
    for vectors in map(vectors_of, OPEN):
        spec = CATALOG.specs[vectors.case.spec]
        if cause.applies_to(vectors.case) and compile_wrong(spec, vectors.case, (cause,)):
            answers = answered(vectors, cause)
            index = np.flatnonzero(vectors.expected.readings[0].patterns == UNDEFINED)
            trial = Trial.of(spec, vectors, answers, index)
            fits, _ = Known(CATALOG, tuple(CAUSES.values())).of(trial)
            found |= {law for _, laws in fits for law in laws}
    return found


def test_two_causes_are_found_together_where_none_alone_fits():
    vectors = vectors_of(WIDE)
    both = CAUSES["through-float32"], CAUSES["carry-is-nan"]
    found = told(vectors, answered(vectors, *both))
    assert found.fits == (tuple(cause.name for cause in both),)


@pytest.mark.parametrize(("case", "cause", "inputs"), [
    # by the intermediate type's rules: -1 is 2^32 - 1 as uint32, not undefined
    ("openvino.Convert-1/uint64-to-uint64", "through-int32-wrap", {2**31: 2**64 - 2**31}),
    ("openvino.Convert-1/float32-to-uint32", "through-int32-least", {0x4F7FFFFF: 2**31}),
    ("openvino.Convert-1/float64-to-float64", "through-float32", {2**52: 0}),
    ("openvino.Convert-1/float32-to-float64", "through-float32-clamped",
     {0x7F800000: 0x47EFFFFFE0000000}),
    # only odd + more than half rounds up; a NaN overflows into the sign
    ("onnx.Cast-21/float32-to-bfloat16", "adds-half-of-the-last-bit-to-nan",
     {0x3F80FFFF: 0x3F80, 0x3F818000: 0x3F82, 0x3F817FFF: 0x3F81, 0x7FFFFFFF: 0x8000,
      0x7F800001: 0x7F80, 0xFFFFFFFF: 0}),
    ("openvino.Convert-1/bfloat16-to-float8e5m2", "cuts-nan", {0x7F81: 0x7C, 0x7FA0: 0x7D}),
    ("onnx.Cast-24/float32-to-float8e8m0/saturate=0/round_mode=up", "rounds-the-exponent-field",
     {0x400000: 1, 0x800000: 1, 0x800001: 2, 0: 0}),
    # the table applies after the intermediate type
    ("onnx.Cast-21/int64-to-bool", "through-int32-least-is-false",
     {2**31: 0, 2**32: 0, 2**31 + 1: 1}),
    ("openvino.Convert-1/int8-to-uint64", "through-uint64-then-int32-clamp",
     {0xFF: 2**31 - 1, 5: 5}),
])  # fmt: skip
def test_what_a_cause_gives_by_hand(case, cause, inputs):
    assert given(case, cause, list(inputs)).codes.tolist() == list(inputs.values())


def test_a_cause_that_misses_a_single_answer_is_none():
    vectors = vectors_of(WIDE)
    answers = answered(vectors, CAUSES["through-float32"])
    due = vectors.expected.readings[0]
    [same, *_] = np.flatnonzero((answers.got == due.codes) & (due.patterns == EXACT))
    answers.got[same] ^= 1
    found = told(vectors, answers)
    assert found.fits == ()
    assert (found.near[0].name, found.near[0].count) == ("through-float32", found.answers - 1)


def test_what_is_undefined_refutes_nothing_and_what_kills_is_not_explained():
    vectors = vectors_of("onnx.Cast-21/float64-to-int8")
    answers = answered(vectors, CAUSES["rounds-away"])
    free = vectors.expected.readings[0].patterns != EXACT
    answers.got[free] ^= 1
    assert ("rounds-away",) in told(vectors, answers).fits
    state = answers.state.copy()
    state[~free] = CRASHED
    assert told(vectors, replace(answers, state=state)).fits == ()


def test_what_depends_on_the_placement_is_no_conversion():
    vectors = vectors_of(WIDE)
    answers = answered(vectors, CAUSES["through-float32"])
    judged = np.flatnonzero(vectors.expected.readings[0].patterns == EXACT)[:1]
    elsewhere = (Elsewhere("odd tail", judged, answers.got[judged] ^ 1),)
    assert told(vectors, replace(answers, elsewhere=elsewhere)).fits == ()
    fault = Fault("wrong shape", "4-D", "the shape is (1,)", 0)
    assert told(vectors, replace(answers, faults=(fault,))).fits == ()
    assert told(vectors, answers).fits == (("through-float32",),)


def test_what_a_few_wrong_answers_refute_gives_not_all_answers():
    search, some = Search(tuple(CAUSES.values()), CATALOG), 0
    for case, name in (
        (WIDE, "through-float32"), (WIDE, "inf-saturates"), (WIDE, "truncates"),
        (TO_INTEGER, "ties-away"), ("onnx.Cast-25/float16-to-int4", "ties-away"),
        ("onnx.Cast-21/float32-to-float8e4m3fn/saturate=0", "through-float16"),
        ("onnx.Cast-21/string-to-float16", "through-float32"),
    ):  # fmt: skip
        vectors = vectors_of(case)
        answers = answered(vectors, CAUSES[name])
        index = judged_ones(vectors, answers)
        assert index is not None
        trial = Trial.of(CATALOG.specs[vectors.case.spec], vectors, answers, index)
        due = [cause for cause, right in tried(trial, search.causes) if right.all()]
        if any(cause.common for cause in due):
            due = [cause for cause in due if cause.common or cause.under or cause.version]
        found = diagnose(search, vectors, answers)
        assert found
        assert found.fits == tuple((cause.name,) for cause in due) or not due
        some += bool(due)
    assert some > 4


def test_what_any_text_is_explains_no_wrong_text():
    """Any text fits a float whose text is loosely defined. For an integer it is wrong."""
    vectors = vectors_of("onnx.Cast-21/int64-to-string")
    texts = np.array([f"{-int(code)}1" for code in vectors.inputs[0].view(np.int64)], object)
    found = told(vectors, Answers(texts, np.full(len(texts), ANSWERED, np.uint8), {}))
    assert (found.wrong > 30, found.fits) == (True, ())


def test_few_causes_explain_a_run_and_what_none_tells_apart_stands_beside():
    one, other = vectors_of(WIDE), vectors_of("onnx.Cast-21/float64-to-float16")
    cause = CAUSES["through-float32"]
    results = [result(vectors, answered(vectors, cause)) for vectors in (one, other)]
    catalogue = tuple(CAUSES.values())
    found = gathered(results, causes_named(results, catalogue))
    [explained] = found.explanations
    assert [(told.name, told.says) for told in explained.causes] == [(cause.name, cause.says)]
    assert (len(explained.cases), found.unexplained) == (2, ())
    assert explained.answers == sum(told.answers for r in results if (told := r.diagnosis))
    spoiled = answered(other, cause)
    spoiled.got[:] = 1
    results[1] = result(other, spoiled)
    found = gathered(results, causes_named(results, catalogue))
    assert [case.case.id for case in found.unexplained] == [other.case.id]


@pytest.mark.parametrize(("case", "cause", "text", "code"), [
    # a tie of float32 in float64, and above it as a text; seen in onnxruntime 1.31.1
    ("onnx.Cast-21/string-to-float16", "strtod-through-float32", "1.0004883408546447754",
     0x3C00),
    ("onnx.Cast-24/string-to-float8e8m0/saturate=1/round_mode=up", "strtod-through-float32",
     "1.0000000596046447754", 0x7F),
    ("onnx.Cast-24/string-to-float8e8m0/saturate=1/round_mode=up",
     "through-float64-then-float32", "1.0000000596046447754", 0x7F),
    # glibc: 2^1024 - 2^970 overflows, 2^-1074 is exact, 2^-1022 - 2^-1076 rounds to a normal
    ("onnx.Cast-21/string-to-float64", "refuses-as-strtod", "1.7976931348623158e308",
     0x7FEFFFFFFFFFFFFF),
    ("onnx.Cast-21/string-to-float64", "refuses-as-strtod", "1.7976931348623159e308", None),
    ("onnx.Cast-21/string-to-float64", "refuses-as-strtod", "1e-310", None),
    ("onnx.Cast-21/string-to-float64", "refuses-as-strtod", "2.2250738585072014e-308",
     0x10000000000000),
    ("onnx.Cast-21/string-to-float64", "refuses-as-strtod", "0e-999", 0),
])  # fmt: skip
def test_what_strtod_reads_and_refuses(case, cause, text, code):
    found = given(case, cause, [text])
    assert (None if found.patterns[0] == TO_REFUSE else found.codes[0]) == code


@pytest.mark.parametrize(("number", "refused"), [
    (Fraction(1, 2**1074), False), (Fraction(3, 2**1074), False), (Fraction(1, 2**1023), False),
    (Fraction(3, 2**1075), True), (Fraction(1, 2**1076), True),
    (Fraction(1, 2**1022) - Fraction(1, 2**1075), True),
    (Fraction(1, 2**1022) - Fraction(1, 2**1076), False),
    (Fraction(2**1024 - 2**970), True), (Fraction(2**1024 - 2**970 - 1), False),
])  # fmt: skip
def test_strtod_sets_erange_of_overflow_and_subnormals(number, refused):
    found = case_of("onnx.Cast-21/string-to-float64")
    with localcontext(prec=2000):
        text = format(Decimal(number.numerator) / Decimal(number.denominator), "f")
    points = points_of(found, np.array([text], object))
    assert CASES["ERANGE"](points, "nearest-even").tolist() == [refused]
