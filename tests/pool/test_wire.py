import msgspec
import numpy as np
import pytest
from planted.asking import DECISION
from planted.identity import case

from convcheck.judge.answers import Elsewhere
from convcheck.judge.result import (
    CaseResult,
    Example,
    Group,
)
from convcheck.pool.messages import Finished, Message, decode, encode

CASES = {case(1).id: case(1)}
TYPES = {t.name: t for t in (*case(1).inputs, *case(1).outputs)}
EXAMPLE = Example((0x80, "0x80"), "<nan>", None, "its words")
GROUP = Group(DECISION, "fail", "kind", 1, 2, "0" * 32, examples=(EXAMPLE,))
RESULT = CaseResult(case(1), "fail", 3, "edge", (GROUP,), "words")
FINISHED = encode(Finished(RESULT, True))


def read(text):
    return decode(text, Message, TYPES, CASES)


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
