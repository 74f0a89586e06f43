"""Whole calls put to planted bugs, and judged as in a run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from convcheck.backends.protocol import Answer, Outputs, Refused
from convcheck.judge.answers import ANSWERED, REFUSED, CallAnswers
from convcheck.judge.case import judge
from convcheck.judge.result import FAILURES
from convcheck.numerics.codes import Bits
from convcheck.records import replace
from convcheck.vectors.model import CallSet


class Put:
    """Calls of a case, with right answers. Many bugs answer a call alike, which is judged once."""

    def __init__(self, calls: CallSet, right: Sequence[Bits]) -> None:
        self.calls, self.right = calls, right
        self.known: dict[tuple[int, bytes], bool] = {}

    def catch(self, answers: Iterable[Bits]) -> bool:
        """Whether some call is judged wrong, of the codes that a bug answers to each."""
        return any(self.failing(i, codes) for i, codes in enumerate(answers))

    def failing(self, i: int, codes: Bits) -> bool:
        """Whether the answer to a call is judged wrong."""
        if np.array_equal(codes, self.right[i]):
            return False
        key = i, codes.tobytes()
        if key not in self.known:
            self.known[key] = failing(self.calls, i, codes)
        return self.known[key]


def failing(calls: CallSet, i: int, codes: Bits) -> bool:
    """Whether the codes of the one output of a call are judged wrong."""
    output = calls.case.outputs[0]
    array = np.asarray(codes, output.format.storage)
    return accused(calls, i, Outputs((array,), (output.name,)))


def accused(calls: CallSet, i: int, answer: Answer) -> bool:
    """Whether an answer to a call is judged wrong."""
    one = replace(calls, calls=calls.calls[i : i + 1], expected=calls.expected[i : i + 1])
    refused = isinstance(answer, Refused)
    state = np.array([REFUSED if refused else ANSWERED], np.uint8)
    got = (answer if isinstance(answer, Outputs) else None,)
    answers = CallAnswers(got, state, {0: "no"} if refused else {})
    return judge(one, answers).verdict in FAILURES
