"""Wrong conversions of values planted in promotions, conversion by conversion.

What becomes of a value depends on its type and on the common one alone. So a wrong conversion is
executed once on each value that some case asks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import cast

import numpy as np
from numpy.typing import NDArray

from convcheck.causes.score import Mutant
from convcheck.errors import SpecError
from convcheck.judge.matching import matching
from convcheck.judge.words import shown
from convcheck.numerics.codec import decode
from convcheck.numerics.codes import Codes
from convcheck.rules.causes import Cause
from convcheck.rules.model import Case, DType, Spec
from convcheck.semantics.body.matrix import conversion
from convcheck.semantics.expected import EXACT, REFUSED, UNDEFINED
from convcheck.semantics.program import Program, alike
from convcheck.semantics.vocabulary import Points
from convcheck.semantics.wrong import compile_edited, readings_at
from convcheck.vectors.body.matrix import values_asked
from convcheck.vectors.model import CallSet


class _Wrong:
    """Which values of a type causes get wrong on the way to another one."""

    def __init__(self, spec: Spec, source: DType, target: DType, causes: Sequence[Cause]) -> None:
        """Take causes that are no more than wrong conversions."""
        self.right = conversion(spec, source, target)
        self.programs: list[Program] = []
        #: The causes that change something, each with the number of its program.
        self.of: dict[Cause, int] = {}
        known: dict[object, int] = {}
        for cause in causes:
            program = _planted(spec, source, target, cause)
            if program is None or alike(program, self.right.program):
                continue
            if program.meaning not in known:
                known[program.meaning] = len(self.programs)
                self.programs.append(program)
            self.of[cause] = known[program.meaning]
        self.codes = np.zeros(0, source.format.storage)
        self.wrong = np.zeros((len(self.programs), 0), bool)

    def at(self, codes: Codes) -> NDArray[np.bool_]:
        """Return which codes of shape (n,) each program gets wrong, of shape (programs, n)."""
        new = np.setdiff1d(codes, self.codes)
        if len(new):
            self.codes = np.concatenate([self.codes, new])
            self.wrong = np.concatenate([self.wrong, self._executed(new)], axis=1)
            order = np.argsort(self.codes)
            self.codes, self.wrong = self.codes[order], self.wrong[:, order]
        return self.wrong[:, np.searchsorted(self.codes, codes)]

    def _executed(self, codes: Codes) -> NDArray[np.bool_]:
        """Return the same, worked out."""
        source, target = self.right.source.format, self.right.target.format
        points = Points(source, target, codes, decode(source, codes), _kept={})
        due = self.right.run(codes).readings[0]
        found = [np.zeros((0, len(codes)), bool)]
        for program in self.programs:
            given = readings_at(program, points)[0]
            wrong = ~matching(due, given.codes, target, source, codes)
            wrong |= given.patterns == REFUSED
            wrong &= (given.patterns != UNDEFINED) & (due.patterns != UNDEFINED)
            found.append(wrong[None])
        return np.concatenate(found)


def _planted(spec: Spec, source: DType, target: DType, cause: Cause) -> Program | None:
    """Return a conversion with a cause, None where that has no meaning for it."""
    if cause.converts(source, target):
        with suppress(SpecError):
            return compile_edited(spec, source, target, (cause,))
    return None


def _judged(calls: CallSet, place: int) -> NDArray[np.bool_]:
    """Return which elements of an output are due in calls, end to end."""
    dues = (expected.readings[0].outputs[place] for expected in calls.expected)
    return np.asarray(np.concatenate([due.patterns for due in dues]) != UNDEFINED)


class ValueMutants:
    """What the calls of promotions catch of wrong conversions of values: of all cases together that
    convert the same types, since one conversion does it in all of them.
    """

    def __init__(self, spec: Spec, causes: Sequence[Cause]) -> None:
        """Take causes that are no more than wrong conversions."""
        self.spec, self.causes = spec, tuple(causes)
        self._known: dict[tuple[DType, DType], _Wrong] = {}
        self._first: dict[_Wrong, Case] = {}
        self._caught: dict[_Wrong, NDArray[np.intp]] = {}

    def count(self, calls: CallSet) -> None:
        """Count which calls of a case catch which causes."""
        due = calls.expected[0].readings[0]
        if due.pattern != EXACT or len(calls) == 1:  # refused, or its type alone is asked
            return
        for place, source in enumerate(calls.case.inputs):
            wrong = self._wrong(source, due.outputs[place].dtype)
            self._first.setdefault(wrong, calls.case)
            asked = [call[place].reshape(-1) for call in calls.calls]
            known = wrong.at(cast(Codes, np.concatenate(asked))) & _judged(calls, place)
            ends = np.cumsum([0, *map(len, asked)])
            parts = (known[:, a:b].any(axis=1) for a, b in pairwise(ends.tolist()))
            self._caught[wrong] = self._caught.get(wrong, 0) + np.sum([*parts], axis=0)

    def found(self, seed: int, *, further: bool) -> Iterator[Mutant]:
        """Yield the causes that can be observed in a conversion, in the first case that has it;
        `further`: those that no call catches are looked at in the values of the boundary tier.
        """
        for wrong, counts in self._caught.items():
            case, right = self._first[wrong], wrong.right
            more = values_asked(right, "boundary", seed) if further else wrong.codes[:0]
            beyond = wrong.at(more)
            for cause, number in wrong.of.items():
                if counts[number]:
                    yield Mutant(case, cause, int(counts[number]))
                elif beyond[number].any():
                    witness = int(more[beyond[number].argmax()])
                    yield Mutant(case, cause, 0, shown(right.source.format, witness))

    def _wrong(self, source: DType, target: DType) -> _Wrong:
        if (source, target) not in self._known:
            self._known[source, target] = _Wrong(self.spec, source, target, self.causes)
        return self._known[source, target]
