"""Calls put to planted bugs of quantisation, and judged as in a run."""

from __future__ import annotations

import numpy as np
from planted.quantize_bugs import Way, answer

from convcheck.backends.protocol import Outputs
from convcheck.judge.answers import ANSWERED, CallAnswers
from convcheck.judge.calls import judge_calls
from convcheck.judge.result import FAILURES
from convcheck.numerics.codes import Bits
from convcheck.records import replace
from convcheck.vectors.model import CallSet


class Put:
    """Calls of a case, put to bugs. Many answer a call alike, which is judged once."""

    def __init__(self, calls: CallSet) -> None:
        self.calls = calls
        self.right = [answer(Way(), calls.case, call) for call in calls.calls]
        self.known: dict[tuple[int, bytes], bool] = {}

    def caught(self, way: Way, *, one_is_enough: bool = False) -> int:
        """How many calls are judged wrong, as a run judges."""
        count = 0
        for i, call in enumerate(self.calls.calls):
            count += self.failing(i, answer(way, self.calls.case, call))
            if count and one_is_enough:
                break
        return count

    def failing(self, i: int, codes: Bits) -> bool:
        if np.array_equal(codes, self.right[i]):
            return False
        key = i, codes.tobytes()
        if key not in self.known:
            self.known[key] = failing(self.calls, i, codes)
        return self.known[key]


def failing(calls: CallSet, i: int, codes: Bits) -> bool:
    """Whether an answer to a call is judged wrong."""
    one = replace(calls, calls=calls.calls[i : i + 1], expected=calls.expected[i : i + 1])
    output = calls.case.outputs[0]
    got = Outputs((codes.astype(output.format.storage),), (output.name,))
    answers = CallAnswers((got,), np.array([ANSWERED], np.uint8), {})
    return judge_calls(one, answers).verdict in FAILURES
