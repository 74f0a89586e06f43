"""Detect answers that belong to a case with other attribute values.

A runtime that caches a kernel may reuse it for other attribute values. The case then gets the
answers of the one before, and is right in a new process.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from convcheck.judge.answers import ANSWERED, OTHERS, REFUSED, Answers, Elsewhere, Index
from convcheck.records import replace
from convcheck.rules.model import Attributes
from convcheck.semantics.expected import Reading
from convcheck.vectors.model import VectorSet


class Siblings:
    """The answers of a process to consecutive cases of the same types."""

    def __init__(self) -> None:
        self._types: object = None
        self._last: dict[tuple[str, Attributes], tuple[VectorSet, Answers]] = {}
        #: The answers of the last case if they equal those of an earlier one with other attribute
        #: values and other expected results.
        self.doubt: Elsewhere | None = None

    def add(self, vectors: VectorSet, answers: Answers) -> None:
        """Add a case with its answers."""
        case, self.doubt = vectors.case, None
        if self._types != (case.inputs[0], case.outputs):
            self._types, self._last = (case.inputs[0], case.outputs), {}
        others = (
            other
            for (op, values), other in self._last.items()
            if op == case.op and case.attributes and values and values != case.attributes
        )
        if any(_is_taken_for((vectors, answers), other) for other in others):
            index = np.flatnonzero(answers.state == ANSWERED)
            self.doubt = Elsewhere(OTHERS, index, answers.got[index])
        self._last.pop((case.op, case.attributes), None)  # to move it to the end
        self._last[case.op, case.attributes] = vectors, answers

    def refused(self, vectors: VectorSet) -> Index:
        """Return the elements that the previous case refused, if its inputs were the same."""
        if self._last and self._types == (vectors.case.inputs[0], vectors.case.outputs):
            asked, answers = next(reversed(self._last.values()))
            if all(map(np.array_equal, asked.inputs, vectors.inputs)):
                index: Index = (answers.state == REFUSED).nonzero()[0]
                return index
        return np.zeros(0, np.intp)


def _is_taken_for(one: tuple[VectorSet, Answers], other: tuple[VectorSet, Answers]) -> bool:
    """Return whether equal inputs got equal answers although the expected results differ."""
    (asked, mine), (before, its) = one, other
    inputs = zip(asked.inputs, before.inputs, strict=True)
    answered = (mine.state, its.state), (mine.got, its.got)
    same = all(np.array_equal(a, b) for a, b in (*inputs, *answered))
    return same and not _is_same_due(asked.expected.readings, before.expected.readings)


def _is_same_due(one: Sequence[Reading], other: Sequence[Reading]) -> bool:
    return len(one) == len(other) and all(
        np.array_equal(a.codes, b.codes) and np.array_equal(a.patterns, b.patterns)
        for a, b in zip(one, other, strict=True)
    )


def is_as_before(answers: Answers, before: Elsewhere) -> bool:
    """Return whether answers equal `before` in every placement, with all other elements refused."""
    answered = answers.state == ANSWERED
    if answers.elsewhere or not (answered | (answers.state == REFUSED)).all():
        return False
    index = np.flatnonzero(answered)
    return np.array_equal(index, before.index) and np.array_equal(answers.got[index], before.got)


def with_others(answers: Answers, before: Elsewhere) -> Answers:
    """Return answers with those of `before` that differ."""
    index, got = before.index, before.got
    differs = (answers.state[index] == ANSWERED) & np.asarray(answers.got[index] != got, bool)
    if not differs.any():
        return answers
    found = replace(before, index=index[differs], got=got[differs])
    return replace(answers, elsewhere=(*answers.elsewhere, found))
