"""The time that the calls of a case may take, all together."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from convcheck.judge.answers import NOT_ASKED, TELLING, Answers, CallAnswers, Fault, Index
from convcheck.records import replace

TIME_OUTS = 8  # that the calls of a case may take
NOTHING: Index = np.zeros(0, np.intp)


def time_is_spent(seconds: float, timeout: float) -> bool:
    """Return whether a case whose calls have taken so long has no time for another."""
    return seconds + timeout > TIME_OUTS * timeout


def spent_said(timeout: float) -> str:
    """Say that the calls of a case have taken the time that there is for them."""
    return f"gave up: a case may take {TIME_OUTS * timeout:g} s, {TIME_OUTS} times --timeout"


class CallNotes(Protocol):
    """Where a call is noted before it is made, and the time of all calls."""

    def begin(self, placement: str, index: Index) -> None:
        """Note a call that is about to be made."""
        ...

    def end(self) -> None:
        """Note that the call came back."""
        ...

    def clear(self) -> None:
        """Begin to count the time of calls anew."""
        ...

    def spent(self) -> float:
        """Return the seconds of all calls since then."""
        ...


class Budget:
    """The time of a case, and the call that is being made."""

    def __init__(self, notes: CallNotes, timeout: float) -> None:
        self.notes, self.timeout = notes, timeout
        self.start(0.0)

    def start(self, spent: float) -> None:
        """Begin with the calls of a case, which took so many seconds in earlier workers."""
        self.spent = spent
        #: The first call that there was no time for.
        self.unmade: tuple[str, Index] | None = None
        self.notes.clear()

    @property
    def is_spent(self) -> bool:
        """Whether there is no time for another call."""
        return time_is_spent(self.spent + self.notes.spent(), self.timeout)

    def begin(self, placement: str, index: Index) -> bool:
        """Note a call; return whether it is not to be made, since there is no time left."""
        if self.is_spent:
            self.unmade = self.unmade or (placement, index)
            return True
        self.notes.begin(placement, index)
        return False

    def begin_telling(self, placement: str, index: Index) -> bool:
        """Note a call that is made only to find out which causes fit."""
        return self.begin(TELLING, NOTHING)

    def in_time(self, answers: Answers | CallAnswers) -> Answers | CallAnswers:
        """Return answers with the fault that the time of the case was spent, if it was."""
        if self.unmade is None:
            return answers
        placement, index = self.unmade
        asked = f"{np.count_nonzero(answers.state != NOT_ASKED):,} of {len(answers.state):,}"
        said = f"{spent_said(self.timeout)}; {asked} were asked, the rest was not"
        first = int(index.reshape(-1)[0]) if index.size else 0
        fault = Fault("crashed", placement, said, first)
        return replace(answers, faults=(*answers.faults, fault))
