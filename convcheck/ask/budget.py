"""The time limit for all calls of a case."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from convcheck.judge.answers import NOT_ASKED, TELLING, Answers, Fault, Index
from convcheck.records import replace

TIME_OUTS = 8  # time limit of a case, in time-outs
NOTHING: Index = np.zeros(0, np.intp)


def time_is_spent(seconds: float, timeout: float) -> bool:
    """Return whether a case has no time for another call after `seconds` of calls."""
    return seconds + timeout > TIME_OUTS * timeout


def spent_said(timeout: float) -> str:
    """Return the message for a case that reached its time limit."""
    return f"case aborted after {TIME_OUTS * timeout:g} s ({TIME_OUTS} times --timeout)"


class CallNotes(Protocol):
    """Records each call before it is made, and the time of all calls."""

    def begin(self, placement: str, index: Index) -> None:
        """Record a call that is about to be made."""
        ...

    def end(self) -> None:
        """Record that the call returned."""
        ...

    def clear(self) -> None:
        """Reset the time."""
        ...

    def spent(self) -> float:
        """Return the seconds of all calls since the reset."""
        ...


class Budget:
    """The time left for a case, and the call in progress."""

    def __init__(self, notes: CallNotes, timeout: float) -> None:
        self.notes, self.timeout = notes, timeout
        self.start(0.0)

    def start(self, spent: float) -> None:
        """Begin a case whose calls took `spent` seconds in earlier workers."""
        self.spent = spent
        #: The first call that was skipped for lack of time.
        self.unmade: tuple[str, Index] | None = None
        self.notes.clear()

    @property
    def is_spent(self) -> bool:
        """Whether the time limit is reached."""
        return time_is_spent(self.spent + self.notes.spent(), self.timeout)

    def begin(self, placement: str, index: Index) -> bool:
        """Record a call. Return True if it must not be made for lack of time."""
        if self.is_spent:
            self.unmade = self.unmade or (placement, index)
            return True
        self.notes.begin(placement, index)
        return False

    def begin_telling(self, placement: str, index: Index) -> bool:
        """Record a call that only discriminates between causes."""
        return self.begin(TELLING, NOTHING)

    def in_time(self, answers: Answers) -> Answers:
        """Return answers, with a fault if the case ran out of time."""
        if self.unmade is None:
            return answers
        placement, index = self.unmade
        asked = f"{np.count_nonzero(answers.state != NOT_ASKED):,} of {len(answers.state):,}"
        said = f"{spent_said(self.timeout)}; {asked} were tested"
        first = int(index.reshape(-1)[0]) if index.size else 0
        fault = Fault("crashed", placement, said, first)
        return replace(answers, faults=(*answers.faults, fault))
