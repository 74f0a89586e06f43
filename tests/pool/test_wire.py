"""What a worker says is data: what is not of its type, or of another case, is no message."""

from __future__ import annotations

import json

import numpy as np
import pytest
from planted.identity import DECISION, case

from convcheck.backends.protocol import Outputs, Oversized
from convcheck.judge.answers import CallAnswers
from convcheck.judge.result import CaseResult, Example, Group
from convcheck.judge.tally import RIGHT, Key, PlacedExample, Tally, TallyEntry, Whole
from convcheck.pool.messages import Finished, Lost, codec_for
from convcheck.pool.wire import Codec

CASES = {case(1).id: case(1)}
CODEC = codec_for(None)
EXAMPLE = Example((0x80, "a\ud800"), "<nan>", None, "half of a pair: \ud800")
TALLY = Tally(
    {0: 1 << 40},
    {Key(0, 0, RIGHT): TallyEntry(3, 1 << 127, first=PlacedExample(2, float("inf"), EXAMPLE))},
    ((0, (1 << 64) - 1),),
    (Group(DECISION, "fail", "kind", 1, 2, "0" * 32, examples=(EXAMPLE,)),),
    decisions={0: DECISION},
    whole=Whole("edge", verdict="error"),
)
RESULT = CaseResult(case(1), "fail", 3, "edge", TALLY.faults, "words")


@pytest.mark.parametrize("message", [Finished(TALLY, False), Finished(RESULT, True)])
def test_a_message_comes_as_it_was(message: Finished) -> None:
    assert CODEC.decode(CODEC.encode(message), CASES) == message


def test_a_decision_that_comes_again_is_made_once() -> None:
    first, again = (CODEC.decode(CODEC.encode(Finished(TALLY, False)), CASES) for _ in range(2))
    assert isinstance(first, Finished)
    assert isinstance(again, Finished)
    assert isinstance(first.result, Tally)
    assert isinstance(again.result, Tally)
    assert first.result.decisions[0] is again.result.decisions[0]


def test_arrays_come_as_they_were() -> None:
    codec = Codec(CallAnswers)
    codes = np.arange(6, dtype=np.uint16).reshape(2, 3)
    got = (
        Outputs((codes,), ("float16",)),
        None,
        Outputs((np.array(["a", "b"], object),), ("string",)),
        Oversized(((1 << 40,),), ("a",)),
    )
    back = codec.decode(codec.encode(CallAnswers(got, np.zeros(4, np.uint8), {2: "x"})), {})
    first, none, texts, large = back.got
    assert isinstance(first, Outputs)
    assert isinstance(texts, Outputs)
    np.testing.assert_array_equal(first.arrays[0], [[0, 1, 2], [3, 4, 5]])
    assert (first.arrays[0].dtype, texts.arrays[0].tolist()) == (np.uint16, ["a", "b"])
    assert (none, large, back.messages) == (None, got[3], {2: "x"})


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"\x80\x04\x95",
        b"[" * 100_000,
        b'["Popen", ["true"]]',
        b'["Lost", "how", 1, true]',
        b'["Lost", {"how": 1}, true, true]',
        b'["Lost", "how", true]',
        CODEC.encode(Finished(RESULT, True)).replace(b"Identity-1", b"Identity-2"),
        CODEC.encode(Finished(RESULT, True)).replace(b'"fail"', b'"passed"'),
    ],
)
def test_what_is_no_message(text: bytes) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        CODEC.decode(text, CASES)


def test_an_array_of_objects_is_none() -> None:
    codec = Codec(CallAnswers)
    text = codec.encode(CallAnswers((), np.zeros(4, np.uint8), {}))
    plain = json.loads(text)
    plain[1][0] = "V"
    with pytest.raises(ValueError, match="array"):
        codec.decode(json.dumps(plain).encode(), {})


def test_it_is_as_small_as_it_can_be() -> None:
    assert CODEC.encode(Lost("how", True, False)) == b'["Lost","how",true,false]'
