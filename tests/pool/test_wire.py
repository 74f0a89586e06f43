import msgspec
import numpy as np
import pytest
from planted.asking import DECISION
from planted.identity import case

from convcheck.backends.protocol import Outputs, Oversized
from convcheck.judge.answers import Answers, Elsewhere
from convcheck.judge.result import (
    RIGHT,
    CaseResult,
    Example,
    Group,
    Key,
    PlacedExample,
    Tally,
    TallyEntry,
    Whole,
)
from convcheck.pool.messages import Finished, Lost, Message, decode, encode
from convcheck.records import replace

CASES = {case(1).id: case(1)}
TYPES = {t.name: t for t in (*case(1).inputs, *case(1).outputs)}
EXAMPLE = Example((0x80, "0x80"), "<nan>", None, "its words")
ENTRY = TallyEntry(3, f"{1 << 127:032x}", first=PlacedExample(2, float("inf"), EXAMPLE))
TALLY = Tally(
    {0: 1 << 40},
    ((Key(0, 0, RIGHT), ENTRY),),
    ((0, (1 << 64) - 1),),
    (Group(DECISION, "fail", "kind", 1, 2, "0" * 32, examples=(EXAMPLE,)),),
    decisions={0: DECISION},
    whole=Whole("edge", verdict="error"),
)
RESULT = CaseResult(case(1), "fail", 3, "edge", TALLY.faults, "words")
FINISHED = encode(Finished(RESULT, True))


def read(text):
    return decode(text, Message, TYPES, CASES)


@pytest.mark.parametrize("message", [Finished(TALLY, False), Finished(RESULT, True)])
def test_a_message_comes_as_it_was(message):
    assert read(encode(message)) == message


def sent(answers, doubt=None):
    back = read(encode(Finished(replace(RESULT, answers=answers), True, doubt=doubt)))
    return back.result.answers, back.doubt


def test_arrays_come_as_they_were():
    codes = np.arange(6, dtype=np.uint16).reshape(2, 3)
    got = (
        Outputs((codes,), ("float16",)),
        None,
        Outputs((np.array(["a", "b"], object),), ("string",)),
        Oversized(((1 << 40,),), ("a",)),
    )
    back, _ = sent(Answers(np.array(got, object), np.zeros(4, np.uint8), {2: "x"}))
    first, none, texts, large = back.got
    np.testing.assert_array_equal(first.arrays[0], [[0, 1, 2], [3, 4, 5]])
    assert (first.arrays[0].dtype, texts.arrays[0].tolist()) == (np.uint16, ["a", "b"])
    assert (none, large, back.messages) == (None, got[3], {2: "x"})


def test_answers_to_elements_come_as_they_were():
    codes, state = np.arange(3, dtype=np.uint16), np.zeros(3, np.uint8)
    there = Elsewhere("alone", np.array([1]), codes[:1])
    answers = Answers(codes, state, {1: "x"}, elsewhere=(there,), with_others=frozenset([2]))
    found, doubt = sent(answers, there)
    np.testing.assert_array_equal(found.got, codes)
    assert (found.messages, found.with_others) == ({1: "x"}, frozenset([2]))
    for one in (found.elsewhere[0], doubt):
        assert (one.placement, one.index.tolist(), one.got.tolist()) == ("alone", [1], [0])


def packed(**fields):
    return msgspec.msgpack.encode(fields)


@pytest.mark.parametrize("text", [
    b"",
    b"\x80\x04\x95",
    b"\x91" * 100_000,
    packed(type="Popen", args=["true"]),
    packed(type="Lost", how="how", timed_out=1, printed=True),
    packed(type="Lost", how={"how": 1}, timed_out=True, printed=True),
    packed(type="Lost", how="how", timed_out=True),
    FINISHED.replace(b"Identity-1", b"Identity-2"),
    FINISHED.replace(b"\xa4fail", b"\xa4done"),
])  # fmt: skip
def test_what_is_no_message(text):
    with pytest.raises(ValueError, match=r"\w"):
        read(text)


def test_an_array_of_objects_is_none():
    there = Elsewhere("alone", np.array([1]), np.zeros(1, np.uint8))
    plain = msgspec.msgpack.decode(encode(Finished(RESULT, True, doubt=there)))
    plain["doubt"]["got"][0] = "V"
    with pytest.raises(ValueError, match="array"):
        read(msgspec.msgpack.encode(plain))


def test_a_loss_comes_as_it_was():
    assert read(encode(Lost("how", True, False))) == Lost("how", True, False)
