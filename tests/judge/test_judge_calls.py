import numpy as np
import pytest
from catalogue import CATALOG
from planted.asking import Log, Scripted, echo

from convcheck.ask.elements import ask_calls
from convcheck.backends.protocol import Declined, Outputs, Oversized, Refused
from convcheck.errors import Place
from convcheck.judge.answers import ANSWERED, CRASHED, EVERYWHERE, Answers, Avoid, Fault
from convcheck.judge.calls import BETWEEN, judge
from convcheck.records import replace
from convcheck.rules.model import Case
from convcheck.semantics.expected import (
    ANY_NAN,
    EXACT,
    REFUSED,
    UNDEFINED,
    CallReading,
    Decision,
    ExpectedCall,
    ExpectedOutput,
)
from convcheck.vectors.model import CallSet

TYPES = CATALOG.types.types
F16, I32 = TYPES["float16"], TYPES["int32"]
HERE = Place("spec.yaml", 1)
RULE = Decision("rule", "row", "disputed", "It says so.", "Text, 1", HERE)
FORM = replace(RULE, rule="output")
ONE, TWO, HALF = 0x3C00, 0x4000, 0x3800


def codes(*words, dtype=F16):
    return np.array(words, dtype.format.storage)


def due(*words, dtype=F16, patterns=None):
    said = np.array(patterns or [EXACT] * len(words), np.uint8)
    return ExpectedOutput(dtype, (len(words),), codes(*words, dtype=dtype), said)


def reading(*outputs, name=""):
    return CallReading(name, outputs)


def calls_of(*readings, between=False, outputs=1):
    case = Case("x.Op-1", "x.Op", 1, (F16,), (F16,) * outputs, (), ranks=(0,))
    expected = ExpectedCall(0, readings, between)
    return CallSet(case, ((codes(ONE)[0],),), (expected,), (RULE,), "edge", FORM)


def answers(calls, *got):
    return Answers(np.array(got, object), np.full(len(calls), ANSWERED, np.uint8), {})


def outputs(*arrays, types=("float16",)):
    return Outputs(arrays, types)


def judged(calls, got):
    [group] = judge(calls, answers(calls, got)).groups
    return group


def test_one_reading_of_several_is_tolerated_as_a_whole():
    calls = calls_of(reading(due(ONE, TWO), name="a"), reading(due(TWO, ONE), name="b"))
    group = judged(calls, outputs(codes(TWO, ONE)))
    assert (group.verdict, group.reading) == ("tolerated", "b")
    mixed = judged(calls, outputs(codes(ONE, ONE)))
    assert mixed.verdict == "fail", "an element of each reading is no reading"


@pytest.mark.parametrize(("got", "kind", "where"), [
    (outputs(codes(ONE)), "one element too few", (0, -1)),
    (outputs(codes(ONE, TWO, TWO)), "one element too many", (0, -1)),
    (outputs(codes(ONE, TWO, TWO, TWO)), "too many elements", (0, -1)),
    (outputs(codes()), "empty; elements were expected", (0, -1)),
    (outputs(codes(ONE, TWO).reshape(1, 2)), "wrong shape", (0, -1)),
    (outputs(codes(ONE, TWO), types=("int32",)), "int32 instead of float16", (0, -1)),
    (outputs(codes(ONE, HALF)), "too small in magnitude", (0, 1)),
    (outputs(codes(ONE, TWO + 1)), "one ulp too large in magnitude", (0, 1)),
    (outputs(codes(TWO, HALF)), "wrong elements of several kinds", (0, 0)),
    (outputs(codes(1, 2, dtype=I32)), "codes as uint32", (0, 0)),
    (outputs(codes(1), codes(2), types=("float16",) * 2), "2 outputs instead of 1", None),
    (Oversized(((1 << 30,),), ("float16",)), "too many elements", (0, -1)),
])  # fmt: skip
def test_what_is_wrong(got, kind, where):
    group = judged(calls_of(reading(due(ONE, TWO))), got)
    assert (group.verdict, group.kind) == ("fail", kind)
    [example] = group.examples
    assert example.difference == where


def test_the_closest_reading_is_shown():
    """Length counts first: 1, 2, 1 is nearer to 1, 1, 1 than to 1, 2."""
    short, long = reading(due(ONE, TWO), name="short"), reading(due(ONE, ONE, ONE), name="long")
    [example] = judged(calls_of(short, long), outputs(codes(ONE, TWO, ONE))).examples
    assert (example.reading, example.difference, example.wrong) == ("long", (0, 1), 1)


def test_inputs_are_shown_about_what_meets_the_wrong_element():
    """In blocks of 3, element 40 of [2, 7, 3] is in [1, 6, 1], and meets [1, 2, 1]: element 16."""
    scales = np.arange(1, 19, dtype=F16.format.storage).reshape(2, 3, 3)
    data = np.full((2, 7, 3), ONE, F16.format.storage)
    expected = ExpectedOutput(F16, data.shape, data.ravel(), np.zeros(42, np.uint8))
    case = Case("x.Op-1", "x.Op", 1, (F16, F16), (F16,), (), ranks=(3, 3))
    one = (ExpectedCall(0, (reading(expected),)),)
    calls = CallSet(case, ((data, scales),), one, (RULE,), "edge", FORM, along=(1, 3))
    wrong = data.copy()
    wrong[1, 6, 1] = TWO
    [example] = judged(calls, outputs(wrong)).examples
    assert example.difference == (0, 40)
    assert example.arguments == (ONE, 17)
    first, second = example.inputs
    assert (first.first, second.first) == (37, 13)
    assert second.words == (14, 15, 16, 17, 18)


def test_between_readings_is_tolerated_where_the_rule_says_so():
    low, high = reading(due(ONE, ONE), name="low"), reading(due(ONE, ONE + 4), name="high")
    for step, verdict in ((2, "tolerated"), (5, "tolerated"), (-1, "tolerated"), (6, "fail")):
        got = outputs(codes(ONE, ONE + step))
        group = judged(calls_of(low, high, between=True), got)
        assert group.verdict == verdict
        assert group.reading == (BETWEEN if verdict == "tolerated" else "")
        assert judged(calls_of(low, high), got).verdict == "fail"


def test_the_first_element_outside_all_readings_is_shown():
    """The first of them lies between two readings."""
    readings = [reading(due(ONE, ONE), name="low"), reading(due(ONE + 4, ONE), name="high")]
    group = judged(calls_of(*readings, between=True), outputs(codes(ONE + 2, TWO)))
    [example] = group.examples
    assert (group.verdict, example.difference) == ("fail", (0, 1))


def test_between_needs_the_length_of_a_reading():
    low, high = reading(due(ONE), name="low"), reading(due(ONE, ONE, ONE), name="high")
    group = judged(calls_of(low, high, between=True), outputs(codes(ONE, ONE)))
    assert group.verdict == "fail"


def test_an_undefined_element_matches_and_an_undefined_call_is_recorded():
    part = calls_of(reading(due(ONE, TWO, patterns=[EXACT, UNDEFINED])))
    assert judged(part, outputs(codes(ONE, HALF))).verdict == "pass"
    assert judged(part, outputs(codes(HALF, HALF))).verdict == "fail"
    for free in (
        calls_of(reading(due(ONE, patterns=[UNDEFINED]))),
        calls_of(CallReading("", pattern=UNDEFINED)),
    ):
        assert judged(free, outputs(codes(HALF))).verdict == "undefined"


def test_any_nan():
    calls = calls_of(reading(due(ONE, 0x7E00, patterns=[EXACT, ANY_NAN])))
    assert judged(calls, outputs(codes(ONE, 0xFE01))).verdict == "pass"
    assert judged(calls, outputs(codes(ONE, 0x7C00))).kind == "infinity instead of NaN"


def asked(calls, answer, avoid=None):
    return ask_calls(Scripted(lambda case, inputs: answer), calls, Log(), {}, avoid)


def run(calls, answer):
    found = asked(calls, answer)
    result = judge(calls, found)
    return [(result.verdict, ""), *((g.verdict, g.kind) for g in result.groups)]


REFUSES = CallReading("refuse", pattern=REFUSED)


@pytest.mark.parametrize(("readings", "answer", "verdict"), [
    ((reading(due(ONE)),), Refused("no"), "refused"),
    ((REFUSES,), Refused("no"), "pass"),
    ((REFUSES,), Declined("no"), "pass"),
    ((REFUSES,), Declined("no kernel", missing=True), "unsupported"),
    ((REFUSES,), outputs(codes(ONE)), "fail"),
    ((reading(due(ONE), name="accept"), REFUSES), Refused("no"), "tolerated"),
    ((reading(due(ONE), name="accept"), REFUSES), outputs(codes(ONE)), "tolerated"),
    ((reading(due(ONE)),), Declined("cannot be built"), "unsupported"),
    ((CallReading("", pattern=UNDEFINED),), Refused("no"), "undefined"),
])  # fmt: skip
def test_refusals(readings, answer, verdict):
    assert run(calls_of(*readings), answer)[0][0] == verdict


def test_a_refusal_that_one_reading_wants_is_shown_next_to_the_first():
    calls = calls_of(reading(due(ONE), name="accept"), replace(REFUSES, name="refuse"))
    refused = Answers(np.array([None], object), np.array([1], np.uint8), {0: "no"})
    [group] = judge(calls, refused).groups
    [example] = group.examples
    assert (group.verdict, group.reading, example.reading) == ("tolerated", "refuse", "accept")


def test_groups_of_calls_are_in_the_order_of_their_first_calls():
    one = calls_of(reading(due(ONE)))
    calls = replace(one, calls=one.calls * 4, expected=one.expected * 4)
    got = [outputs(codes(word)) for word in (TWO, ONE, HALF, TWO)]
    groups = judge(calls, answers(calls, *got)).groups
    assert [(g.verdict, g.count, g.of) for g in groups] == [
        ("fail", 2, 4), ("pass", 1, 4), ("fail", 1, 4)
    ]  # fmt: skip


def test_where_the_type_is_the_answer_a_model_turned_down_is_a_refusal():
    calls = calls_of(reading(due(ONE)), outputs=0)
    assert run(calls, Declined("cannot be promoted"))[0][0] == "refused"
    assert run(calls, Declined("no such type", missing=True))[0][0] == "unsupported"


def test_a_crash_and_a_strange_answer_fail():
    calls = calls_of(CallReading("", pattern=UNDEFINED))
    state = np.full(1, CRASHED, np.uint8)
    crashed = judge(calls, Answers(np.array([None], object), state, {0: "died of SIGFPE"}))
    [group] = crashed.groups
    assert (crashed.verdict, group.kind) == ("crashed", "died of SIGFPE")
    [example] = group.examples
    assert example.inputs[0].words == (ONE,), "the input that does it is shown"
    signed = outputs(np.array([90], np.int32))
    found = asked(calls, signed)
    assert judge(calls, found).verdict == "fail"
    given_up = Avoid(placements=EVERYWHERE, faults=(Fault("crashed", "bulk", "died", 0),))
    found = asked(calls, outputs(codes(ONE)), given_up)
    assert judge(calls, found).verdict == "crashed"


def test_a_huge_answer_is_not_asked_for(monkeypatch):
    monkeypatch.setenv("CONVCHECK_MAX_ELEMENTS", "2")
    calls, log = calls_of(reading(due(ONE, ONE, ONE))), Log()
    result = judge(calls, ask_calls(Scripted(echo), calls, log, {}))
    assert not log.calls
    assert (result.verdict, result.checked, result.left_out) == ("unsupported", 0, 1)
    assert result.message.startswith("1 call was not asked: an answer of more elements")
