"""Causes are tried on the answers to some inputs of a case: which of them each one gives."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from convcheck.judge.answers import REFUSED, Answers
from convcheck.judge.matching import Mask, matching
from convcheck.numerics.format import Bits
from convcheck.rules.causes import Cause
from convcheck.rules.model import Case, Spec
from convcheck.semantics import expected as pattern
from convcheck.semantics.evaluate import points_of
from convcheck.semantics.expected import Reading
from convcheck.semantics.vocabulary import Points
from convcheck.semantics.wrong import compile_wrong, readings_at, what_decides
from convcheck.vectors.model import VectorSet

Key = tuple[object, ...]
Tried = tuple[Cause, Mask]  # a cause with the answers that it gives


@dataclass(frozen=True)
class Trial:
    """Some inputs of a case with what came of them."""

    spec: Spec
    case: Case
    points: Points
    #: The answers at the points; of a refusal anything.
    got: Bits
    #: Which points were refused.
    refused: Mask
    #: What is due at the points, under each reading.
    readings: Sequence[Reading]

    @staticmethod
    def of(spec: Spec, vectors: VectorSet, answers: Answers, index: NDArray[np.intp]) -> Trial:
        """Return what there is to try at some of the inputs."""
        return Trial(
            spec,
            vectors.case,
            points_of(vectors.case, vectors.inputs[0][index]),
            answers.got[index],
            answers.state[index] == REFUSED,
            vectors.expected.take(index).readings,
        )

    @property
    def key(self) -> Key:
        """What it has in common with a trial that the same causes fit."""
        arrays = (self.points.bits, self.got, self.refused)
        content = (repr(a.tolist()) if a.dtype.hasobject else a.tobytes() for a in arrays)
        case = self.case
        types = case.inputs[0].name, case.outputs[0].name
        return (case.op, *types, what_decides(self.spec, case), *content)

    @cached_property
    def right(self) -> Mask:
        """Which answers are right, under the reading that comes closest."""
        return self._best(self.readings)

    def as_due(self, reading: Reading) -> Mask:
        """Return which answers are as a reading says; where it leaves them open, none."""
        source, target = self.case.inputs[0].format, self.case.outputs[0].format
        told = matching(reading, self.got, target, source, self.points.bits)
        answered = told & (reading.patterns != pattern.UNDEFINED)
        return np.asarray(np.where(self.refused, reading.patterns == pattern.REFUSED, answered))

    def given_by(self, causes: Sequence[Cause]) -> Mask | None:
        """Return which answers causes give together, None where they have no meaning here."""
        program = compile_wrong(self.spec, self.case, causes)
        if program is None:
            return None
        return self._best([self._firm(each) for each in readings_at(program, self.points)])

    def _firm(self, reading: Reading) -> Reading:
        """Return what a cause says, but for what any text is: that explains no wrong answer."""
        loose = ~self.right & np.isin(reading.patterns, (pattern.PLAIN, pattern.PARSES))
        patterns = np.where(loose, np.uint8(pattern.UNDEFINED), reading.patterns)
        return Reading(reading.codes, patterns)

    def tried(self, causes: Iterable[Cause]) -> list[Tried]:
        """Return the causes that may be that of a case, with the answers that each gives."""
        applying = (cause for cause in causes if cause.applies_to(self.case))
        tried = ((cause, self.given_by((cause,))) for cause in applying)
        return [(cause, given) for cause, given in tried if given is not None]

    def _best(self, readings: Sequence[Reading]) -> Mask:
        """Return which answers are as expected, under the reading of which most are."""
        return max(map(self.as_due, readings), key=np.count_nonzero)
