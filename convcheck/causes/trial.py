"""Causes are tried on the answers to some inputs of a case: which of them each one gives."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convcheck.judge.answers import REFUSED, Answers
from convcheck.judge.matching import Mask, matching
from convcheck.numerics.format import Bits, Text
from convcheck.rules.causes import Cause
from convcheck.rules.model import Case, Spec
from convcheck.semantics import expected as pattern
from convcheck.semantics.evaluate import points_of
from convcheck.semantics.expected import Reading
from convcheck.semantics.vocabulary import Points
from convcheck.semantics.wrong import compile_wrong, readings_at, what_decides
from convcheck.vectors.model import VectorSet

Key = tuple[Hashable, ...]
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
        said = self.said_by(causes)
        return None if said is None else self.given(said)

    def said_by(self, causes: Sequence[Cause]) -> list[Reading] | None:
        """Return what causes make of the points together, None where they have no meaning here."""
        program = compile_wrong(self.spec, self.case, causes)
        return None if program is None else readings_at(program, self.points)

    def given(self, said: Sequence[Reading]) -> Mask:
        """Return which answers are as causes say."""
        return self._best([self._firm(each) for each in said])

    def _firm(self, reading: Reading) -> Reading:
        """Return what a cause says, but for what any text is: that explains no wrong answer."""
        if not isinstance(self.points.target, Text):
            return reading
        loose = ~self.right & np.isin(reading.patterns, (pattern.PLAIN, pattern.PARSES))
        patterns = np.where(loose, np.uint8(pattern.UNDEFINED), reading.patterns)
        return Reading(reading.codes, patterns)

    def _best(self, readings: Sequence[Reading]) -> Mask:
        """Return which answers are as expected, under the reading of which most are."""
        return max(map(self.as_due, readings), key=np.count_nonzero)


class Tries:
    """Causes that are tried on one trial after the other. What they make of the same inputs is
    worked out once, for trials that follow one another.
    """

    def __init__(self, causes: Sequence[Cause]) -> None:
        """Take causes, the plainest first."""
        self.causes = tuple(causes)
        self._inputs: Key = ()
        self._points: tuple[Key, Points] | None = None
        self._said: list[tuple[Cause, list[Reading]]] = []

    def shared(self, trial: Trial) -> Trial:
        """Return a trial with the points of the last one, if it has the same inputs: what words
        say of them is known.
        """
        points = trial.points
        key = points.source, points.target, _content(points.bits)
        if self._points is None or self._points[0] != key:
            self._points = key, points
        return replace(trial, points=self._points[1])

    def key(self, trial: Trial) -> Key:
        """Return what a trial has in common with those that the same causes fit."""
        arrays = (trial.got, trial.refused, trial.right)
        return (*self._key(trial), *map(_content, arrays))

    def of(self, trial: Trial) -> list[Tried]:
        """Return the causes that may be that of a case, with the answers that each gives."""
        key = self._key(trial)
        if self._inputs != key:
            applying = (cause for cause in self.causes if cause.applies_to(trial.case))
            said = ((cause, trial.said_by((cause,))) for cause in applying)
            self._said = [(cause, each) for cause, each in said if each is not None]
            self._inputs = key
        return [(cause, trial.given(said)) for cause, said in self._said]

    def _key(self, trial: Trial) -> Key:
        """Return what a trial has in common with those of whose inputs causes make the same."""
        source, target = trial.case.inputs[0].name, trial.case.outputs[0].name
        decides = what_decides(trial.spec, trial.case, self.causes)
        return source, target, decides, _content(trial.points.bits)


def _content(array: NDArray[Any]) -> Hashable:
    return tuple(array.tolist()) if array.dtype.hasobject else array.tobytes()
