import numpy as np
import pytest
from catalogue import CATALOG

from convcheck.backends.protocol import Declined
from convcheck.judge.answers import ANSWERED, CRASHED, NOT_ASKED, REFUSED, Answers, Elsewhere, Fault
from convcheck.judge.calls import judge
from convcheck.judge.matching import kinds_of
from convcheck.records import replace
from convcheck.rules.cases import make_case
from convcheck.semantics.expected import EXACT
from convcheck.semantics.expected import REFUSED as EXPECT_REFUSAL
from convcheck.vectors.generate import vector_set


def case_of(source, target, version=21, **attributes):
    spec, types = CATALOG.specs[f"onnx.Cast-{version}"], CATALOG.types.types
    given = tuple(attributes.items())
    return make_case(spec, types[source], types[target], given)


def vectors_of(source, target, version=21, **attributes):
    case = case_of(source, target, version, **attributes)
    return vector_set(CATALOG.specs[case.spec], case, "edge")


def right(vectors, reading=0):
    readings = vectors.expected.readings
    codes = readings[min(reading, len(readings) - 1)].codes.copy()
    return Answers(codes, np.full(len(vectors), ANSWERED, np.uint8), {})


def changed(answers, index, code):
    got = answers.got.copy()
    got[index] = code
    return replace(answers, got=got)


def wrong_groups(result):
    return [g for g in result.groups if g.verdict in ("fail", "refused", "crashed")]


def at(vectors, code):
    return int(np.flatnonzero(vectors.inputs[0] == code)[0])


def test_right_answers_pass():
    vectors = vectors_of("float32", "float8e4m3fn", saturate=0)
    result = judge(vectors, right(vectors))
    assert result.verdict == "pass"
    assert result.checked == len(vectors)
    assert sum(g.count for g in result.groups) == len(vectors)


def test_one_wrong_bit_fails_with_its_row_and_kind():
    vectors = vectors_of("float32", "float16")
    index = at(vectors, 0x3F800000)
    [group] = wrong_groups(judge(vectors, changed(right(vectors), index, 0x3C01)))
    assert group.decision.name == "float-to-float / else"
    assert group.kind == "one ulp too large in magnitude"
    assert (group.count, group.ranges) == (1, ((0x3F800000, 0x3F800000),))
    [example] = group.examples
    assert (example.inputs, example.expected, example.got) == ((0x3F800000,), 0x3C00, 0x3C01)


KINDS = {
    "zero instead of a number": (0x3F800000, 0x0000),
    "half the value": (0x3F800000, 0x3800),
    "twice the value": (0x3F800000, 0x4000),
    "wrong sign": (0x3F800000, 0xBC00),
    "NaN instead of a number": (0x3F800000, 0x7E00),
    "infinity instead of a finite number": (0x3F800000, 0x7C00),
    "zero with the wrong sign": (0x80000000, 0x0000),
    "max instead of infinity": (0x7F800000, 0x7BFF),
    "a number instead of NaN": (0x7FC00000, 0x3C00),
    "infinity instead of NaN": (0x7FC00000, 0x7C00),
    "wrong sign and value": (0x3F800000, 0xC400),
    "too small in magnitude": (0x3F800000, 0x3B00),
}


@pytest.mark.parametrize("kind", KINDS)
def test_kinds_of_wrongness(kind):
    vectors = vectors_of("float32", "float16")
    code, got = KINDS[kind]
    [group] = wrong_groups(judge(vectors, changed(right(vectors), at(vectors, code), got)))
    assert group.kind == kind


INTEGER_KINDS = (
    ("int8", 127, -128, "the lowest value instead of the largest"),
    ("int8", -128, 127, "the largest value instead of the lowest"),
    ("uint8", 255, 0, "the lowest value instead of the largest"),
    ("uint4", 15, 0, "the lowest value instead of the largest"),
    ("uint64", 0, 2**64 - 1, "the largest value instead of the lowest"),
    ("int64", 2**63 - 1, -(2**63), "the lowest value instead of the largest"),
    ("int2", 1, -2, "the lowest value instead of the largest"),
    ("int8", -1, 0, "off by one, too large"),
    ("int8", 126, 127, "off by one, too large"),
    ("int8", -127, -128, "off by one, too small"),
    ("uint64", 1, 0, "off by one, too small"),
    ("int8", 5, -128, "the lowest value instead of another"),
    ("int8", 5, 0, "zero instead of another value"),
    ("uint8", 5, 255, "the largest value instead of another"),
    ("int8", 5, 7, "another value"),
)


@pytest.mark.parametrize(("name", "due", "got", "kind"), INTEGER_KINDS)
def test_kinds_compare_values_not_codes(name, due, got, kind):
    fmt = CATALOG.types.types[name].format
    codes = [np.array([value & fmt.mask], fmt.storage) for value in (due, got)]
    assert kinds_of(fmt, codes[0], np.array([EXACT], np.uint8), codes[1]).tolist() == [kind]


@pytest.mark.parametrize("nan", [0x7E00, 0x7C01, 0xFFFF])
def test_any_nan_is_right_where_nan_is_due(nan):
    vectors = vectors_of("float32", "float16")
    assert judge(vectors, changed(right(vectors), at(vectors, 0x7FC00000), nan)).verdict == "pass"


def test_a_nan_whose_sign_is_due():
    vectors = vectors_of("float32", "float8e4m3fn", version=23, saturate=0)
    result = judge(vectors, changed(right(vectors), at(vectors, 0xFFC00000), 0x7F))
    [group] = wrong_groups(result)
    assert (group.kind, group.decision.level) == ("NaN with the wrong sign", "implied")


def test_a_reading_holds_for_the_case_as_a_whole():
    vectors = vectors_of("float32", "int4")
    for reading, name in ((0, "nearest-even"), (1, "toward-zero")):
        result = judge(vectors, right(vectors, reading))
        assert result.verdict == "tolerated"
        assert {g.reading for g in result.groups if g.verdict == "tolerated"} == {name}
    codes = [r.codes for r in vectors.expected.readings]
    differ = np.flatnonzero(codes[0] != codes[1])
    mixed = changed(right(vectors, 0), int(differ[0]), int(codes[1][differ[0]]))
    result = judge(vectors, mixed)
    [group] = wrong_groups(result)
    assert (result.verdict, group.count, group.reading) == ("fail", 1, "nearest-even")


def test_readings_that_agree_everywhere_asked_are_a_pass():
    vectors = vectors_of("float8e4m3fn", "float8e4m3fn", saturate=1)
    assert judge(vectors, right(vectors)).verdict == "pass"


def test_what_other_placements_answer_chooses_no_reading():
    """All vectors are in the first placement. If it does not decide, the first reading holds."""
    vectors = vectors_of("float32", "int4")
    codes = [r.codes for r in vectors.expected.readings]
    differ = np.flatnonzero(codes[0] != codes[1])
    state = np.full(len(vectors), ANSWERED, np.uint8)
    state[differ] = NOT_ASKED
    other = Elsewhere("alone", differ[:1], codes[1][differ[:1]])
    result = judge(vectors, replace(right(vectors), state=state, elsewhere=(other,)))
    [group] = wrong_groups(result)
    assert (group.placement, group.reading, group.count) == ("alone", "nearest-even", 1)
    assert not [g for g in result.groups if g.verdict == "tolerated"]


def test_undefined_is_recorded_and_never_judged():
    vectors = vectors_of("float32", "int8")
    index = at(vectors, 0x7F800000)
    for code in (0, 0x7F, 0x80):
        result = judge(vectors, changed(right(vectors), index, code))
        assert result.verdict == "pass"
    free = [g for g in result.groups if g.verdict == "undefined"]
    assert free
    assert all(g.examples for g in free)
    assert all(g.decision.level == "undefined" for g in free)


def with_state(vectors, index, state, message):
    answers = right(vectors)
    answers.state[index] = state
    return replace(answers, messages={index: message})


def test_refused_and_crashed_values():
    vectors = vectors_of("float32", "float16")
    index = at(vectors, 0x3F800000)
    [group] = wrong_groups(judge(vectors, with_state(vectors, index, REFUSED, "no")))
    assert (group.verdict, group.examples[0].got, group.examples[0].message) == (
        "refused",
        None,
        "no",
    )
    [group] = wrong_groups(judge(vectors, with_state(vectors, index, CRASHED, "died of SIGFPE")))
    assert (group.verdict, group.kind) == ("crashed", "died of SIGFPE")


def test_a_refusal_of_the_undefined_is_undefined_but_a_crash_is_not():
    vectors = vectors_of("float32", "int8")
    index = at(vectors, 0x7F800000)
    assert judge(vectors, with_state(vectors, index, REFUSED, "no")).verdict == "pass"
    assert judge(vectors, with_state(vectors, index, CRASHED, "SIGFPE")).verdict == "crashed"


def test_an_expected_refusal():
    case = case_of("float32", "float8e8m0", 24, saturate=1, round_mode="up")
    made = vector_set(CATALOG.specs[case.spec], case, "edge")
    due = made.expected.readings[0]
    refusals = replace(due, patterns=np.full_like(due.patterns, EXPECT_REFUSAL))
    expected = replace(made.expected, rows=made.expected.rows * 0, readings=(refusals,))
    vectors = replace(made, expected=expected)
    refused = replace(right(vectors), state=np.full(len(vectors), REFUSED, np.uint8))
    assert judge(vectors, refused).verdict == "pass"
    [group] = wrong_groups(judge(vectors, right(vectors)))
    assert group.kind == "an answer instead of a refusal"
    turned_down = replace(right(vectors), declined=Declined("unknown round_mode"))
    assert judge(vectors, turned_down).verdict == "pass"
    accepted = replace(vectors, case=replace(case, refusal=True))
    result = judge(accepted, turned_down)
    assert (result.verdict, {g.verdict for g in result.groups}) == ("pass", {"undefined"})
    no_kernel = replace(right(vectors), declined=Declined("no kernel", missing=True))
    assert judge(vectors, no_kernel).verdict == "unsupported"


def test_declined_is_unsupported_with_the_words():
    vectors = vectors_of("float32", "float16")
    result = judge(vectors, replace(right(vectors), declined=Declined("no such kernel", True)))
    assert (result.verdict, result.message, result.checked) == ("unsupported", "no such kernel", 0)


def test_another_placement_that_answers_differently():
    vectors = vectors_of("float32", "float16")
    index = np.array([at(vectors, 0x3F800000)])
    other = Elsewhere("odd tail", index, np.array([0x3C01], np.uint16))
    [group] = wrong_groups(judge(vectors, replace(right(vectors), elsewhere=(other,))))
    assert (group.placement, group.count) == ("odd tail", 1)
    nan = Elsewhere("alone", np.array([at(vectors, 0x7FC00000)]), np.array([0xFE00], np.uint16))
    assert judge(vectors, replace(right(vectors), elsewhere=(nan,))).verdict == "pass"


def test_a_malformed_answer_fails_on_the_sentence_about_shape():
    vectors = vectors_of("float32", "float16")
    fault = Fault("wrong shape", "4-D", "(4,), not (1, 2, 2, 1)", 0)
    [group] = wrong_groups(judge(vectors, replace(right(vectors), faults=(fault,))))
    assert group.decision.level == "normative"
    assert "same shape as input" in group.decision.cite


def test_what_was_not_asked_is_not_counted():
    vectors = vectors_of("float32", "float16")
    answers = right(vectors)
    answers.state[5:] = NOT_ASKED
    assert judge(vectors, answers).checked == 5


@pytest.mark.parametrize(("text", "verdict"), [
    ("1.1", "tolerated"),
    ("1e0", "tolerated"),
    ("0.9", "tolerated"),
    ("0.1", "tolerated"),
    ("-1", "tolerated"),
    ("1e5", "tolerated"),
    ("zero", "fail"),
    ("", "fail"),
    ("NaN", "fail"),
])  # fmt: skip
def test_printed_numbers(text, verdict):
    vectors = vectors_of("float64", "string")
    answers = right(vectors)
    answers.got[at(vectors, 0x3FF0000000000000)] = text
    assert judge(vectors, answers).verdict == verdict


def test_printed_integers_have_to_read_back():
    vectors = vectors_of("int8", "string")
    assert judge(vectors, right(vectors)).verdict == "pass"
    answers = right(vectors)
    answers.got[at(vectors, 100)] = "99"
    assert judge(vectors, answers).verdict == "fail"


def test_many_ranges_keep_both_ends():
    vectors = vectors_of("float16", "int8")
    exact = np.flatnonzero(vectors.expected.readings[0].patterns == 0)[::2]
    answers = right(vectors)
    answers.got[exact] ^= 1
    groups = wrong_groups(judge(vectors, answers))
    assert sum(g.count for g in groups) == len(exact)
    for group in groups:
        assert len(group.ranges) <= 8
        assert group.more_ranges >= 0
