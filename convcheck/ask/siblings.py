"""Cases that differ in attribute values only, asked one after the other in one process.

A runtime may keep what it made for one and take it for another. Then a case gets the answers of
the one before, and is right in a process of its own.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from convcheck.judge.answers import ANSWERED, OTHERS, Answers, Elsewhere
from convcheck.rules.model import Case
from convcheck.vectors.model import VectorSet


class Siblings:
    """What a process answered last to cases that differ in attribute values only."""

    def __init__(self) -> None:
        self._key: object = None
        self._last: dict[object, tuple[VectorSet, Answers]] = {}
        #: The answers of the case that was added last, if they are those of one before.
        self.doubt: Elsewhere | None = None

    def add(self, vectors: VectorSet, answers: Answers) -> None:
        """Add a case with its answers."""
        case, self.doubt = vectors.case, None
        if not case.attributes:
            return
        if self._key != _without_attributes(case):
            self._key, self._last = _without_attributes(case), {}
        others = (other for values, other in self._last.items() if values != case.attributes)
        if any(_alike((vectors, answers), other) for other in others):
            index = np.flatnonzero(answers.state == ANSWERED)
            self.doubt = Elsewhere(OTHERS, index, answers.got[index])
        self._last[case.attributes] = vectors, answers


def _without_attributes(case: Case) -> object:
    return case.op, case.inputs, case.outputs


def _alike(one: tuple[VectorSet, Answers], other: tuple[VectorSet, Answers]) -> bool:
    """Return whether the same inputs were answered, and in the same way."""
    inputs = zip(one[0].inputs, other[0].inputs, strict=True)
    same = all(np.array_equal(mine, its) for mine, its in inputs)
    (_, mine), (_, its) = one, other
    return same and all(
        np.array_equal(a, b) for a, b in ((mine.state, its.state), (mine.got, its.got))
    )


def with_others(answers: Answers, before: Elsewhere) -> Answers:
    """Return answers with those that a process gave that was asked other attribute values before,
    where they differ.
    """
    index, got = before.index, before.got
    differs = (answers.state[index] == ANSWERED) & np.asarray(answers.got[index] != got, bool)
    if not differs.any():
        return answers
    found = replace(before, index=index[differs], got=got[differs])
    return replace(answers, elsewhere=(*answers.elsewhere, found))
