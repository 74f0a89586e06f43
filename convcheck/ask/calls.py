"""Send whole calls to a backend, one after the other."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import numpy as np

from convcheck.ask.elements import Note, inputs_at
from convcheck.backends.protocol import (
    Answer,
    Backend,
    Declined,
    Outputs,
    Oversized,
    Raised,
    Refused,
    max_elements,
)
from convcheck.judge.answers import (
    ANSWERED,
    CRASHED,
    LOST,
    NOT_ASKED,
    REFUSED,
    Answers,
    Avoid,
    Fault,
)
from convcheck.judge.matching import codes_complaint
from convcheck.semantics.expected import ExpectedCall
from convcheck.vectors.model import CallSet


def ask_calls(
    backend: Backend,
    calls: CallSet,
    note: Note,
    skip: Mapping[int, str],
    avoid: Avoid | None = None,
) -> Answers:
    """Make every call except those to skip and those with too large an answer.

    `note` is called with the call's index first; if it returns True, no time is left and the call
    is not made.
    """
    asking = _Asking(calls, skip, avoid or Avoid())
    if "bulk" in asking.avoid.placements:  # every call is made in bulk
        return asking.answers()
    declined = backend.support(calls.case)
    if declined is None:
        declined = asking.everything(backend, note)
    return asking.answers(declined)


class _Asking:
    def __init__(self, calls: CallSet, skip: Mapping[int, str], avoid: Avoid) -> None:
        self.calls, self.avoid = calls, avoid
        self.got = np.full(len(calls), None)
        self.state = np.full(len(calls), NOT_ASKED, np.uint8)
        self.messages = dict(skip)
        self.state[list(skip)] = CRASHED
        self.faults: dict[str, Fault] = {}
        self.limit, self.left_out = max_elements(), 0
        self.died = bool(skip or avoid.faults)

    def answers(self, declined: Declined | None = None) -> Answers:
        faults = (*self.avoid.faults, *self.faults.values())
        declined = None if self.died else declined  # a crash counts even so
        return Answers(
            self.got,
            self.state,
            self.messages,
            faults,
            declined=declined,
            left_out=self.left_out,
        )

    def everything(self, backend: Backend, note: Note) -> Declined | None:
        answered = False
        for i in np.flatnonzero(self.state == NOT_ASKED):
            if largest(self.calls.expected[i]) > self.limit:
                self.left_out += 1
                continue
            index = np.array([i], np.intp)
            if note("bulk", index):
                break
            answer = backend.answer(self.calls.case, inputs_at(self.calls, index))
            if isinstance(answer, Declined) and not answered:
                return answer
            answered = True
            self._record(int(i), answer)
        return None

    def _record(self, i: int, answer: Answer) -> None:
        if isinstance(answer, Refused | Declined):
            self.state[i] = LOST if isinstance(answer, Raised) else REFUSED
            self.messages[i] = answer.message
        elif isinstance(answer, Oversized):
            self.state[i], self.got[i] = ANSWERED, answer
        elif message := codes_complaint(answer):
            self.faults.setdefault(message, Fault("wrong type", "bulk", message, i))
        else:
            self.state[i], self.got[i] = ANSWERED, self._sized(i, answer)

    def _sized(self, i: int, answer: Outputs) -> Outputs | Oversized:
        """Drop outputs that an adapter should not have fetched."""
        if max((a.size for a in answer.arrays), default=0) <= max(
            self.limit, largest(self.calls.expected[i])
        ):
            return answer
        return Oversized(tuple(a.shape for a in answer.arrays), tuple(answer.types))


def largest(expected: ExpectedCall) -> int:
    """Return the number of elements of the largest expected output."""
    outputs = (due for reading in expected.readings for due in reading.outputs)
    return max((prod(due.shape) for due in outputs), default=0)
