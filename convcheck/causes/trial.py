"""Try causes on the answers to inputs of a case."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from convcheck.judge.answers import REFUSED, Answers
from convcheck.judge.matching import Mask, matching
from convcheck.numerics.codes import Bits
from convcheck.numerics.format import Text
from convcheck.rules.causes import Cause
from convcheck.rules.model import Case, DType, Spec
from convcheck.semantics import expected as pattern
from convcheck.semantics.answers_at import points_of
from convcheck.semantics.evaluate import evaluate
from convcheck.semantics.expected import Reading
from convcheck.semantics.vocabulary import Points
from convcheck.semantics.wrong import compile_wrong, readings_at
from convcheck.vectors.model import VectorSet

Tried = tuple[Cause, Mask]  # a cause and a mask of the answers that it explains
_PROBES = 6  # wrong answers to explain before all are tried


@dataclass(frozen=True)
class Trial:
    """Inputs of a case with their answers."""

    spec: Spec
    case: Case
    points: Points
    #: the answers; arbitrary for a refusal
    got: Bits
    #: mask of refused points
    refused: Mask
    #: the expectation under each reading
    readings: Sequence[Reading]

    @staticmethod
    def of(spec: Spec, vectors: VectorSet, answers: Answers, index: NDArray[np.intp]) -> Trial:
        """Return the trial of some inputs."""
        return Trial(
            spec,
            vectors.case,
            points_of(vectors.case, vectors.inputs[0][index]),
            answers.got[index],
            answers.state[index] == REFUSED,
            vectors.expected.take(index).readings,
        )

    @staticmethod
    def answered(spec: Spec, case: Case, inputs: Bits, got: Bits) -> Trial:
        """Return the trial of further inputs."""
        refused, due = np.zeros(len(inputs), bool), evaluate(spec, case, inputs).readings
        return Trial(spec, case, points_of(case, inputs), got, refused, due)

    @cached_property
    def right(self) -> Mask:
        """Mask of right answers under the closest reading."""
        return max(map(self.as_due, self.readings), key=np.count_nonzero)

    def as_due(self, reading: Reading) -> Mask:
        """Return a mask of answers that a reading defines and matches."""
        source, target = self.case.inputs[0].format, self.case.outputs[0].format
        told = matching(reading, self.got, target, source, self.points.bits)
        answered = told & (reading.patterns != pattern.UNDEFINED)
        return np.asarray(np.where(self.refused, reading.patterns == pattern.REFUSED, answered))

    @cached_property
    def never_right(self) -> Mask:
        """Mask of answers that are wrong under every reading."""
        return np.asarray(~np.logical_or.reduce([self.as_due(each) for each in self.readings]))

    def at(self, index: NDArray[np.intp]) -> Trial:
        """Return the trial of some points."""
        readings = [Reading(each.codes[index], each.patterns[index]) for each in self.readings]
        points = self.points.at(index)
        return Trial(self.spec, self.case, points, self.got[index], self.refused[index], readings)

    @property
    def few(self) -> Trial:
        """A trial of a few wrong answers, evenly spread; everything for texts."""
        if isinstance(self.points.target, Text):
            return self
        wrong = np.flatnonzero(self.never_right)
        places = np.linspace(0, len(wrong) - 1, min(_PROBES, len(wrong)))
        return self.at(wrong[np.unique(places.astype(np.intp))])

    def said_by(self, causes: Sequence[Cause]) -> list[Reading] | None:
        """Return the readings of a program with causes, None if they do not apply."""
        program = compile_wrong(self.spec, self.case, causes)
        return None if program is None else readings_at(program, self.points)

    @property
    def types(self) -> tuple[DType, DType]:
        """The types by which a cause applies or does not."""
        return self.case.inputs[0], self.case.outputs[0]

    def applies(self, causes: Sequence[Cause]) -> bool:
        """Return whether causes apply to the case.

        If several, the attributes that they ignore must have other values.
        """
        given = dict(self.case.attributes) if causes[1:] else {}
        set_ = [pair for cause in causes for pair in cause.under] if causes[1:] else []
        other = all(given.get(name, value) != value for name, value in set_)
        return other and all(applies(cause, self.case) for cause in causes)

    def explains(self, causes: Sequence[Cause]) -> bool:
        """Return whether causes together explain all answers under one reading."""
        said = self.said_by(causes)
        return said is not None and any(bool(self._given(each).all()) for each in said)

    def given_by(self, causes: Sequence[Cause]) -> Mask | None:
        """Return a mask of explained answers, None if the causes do not apply."""
        said = self.said_by(causes)
        return None if said is None else self.given(said)

    @property
    def sample(self) -> Trial:
        """The answers to try each cause on."""
        return self

    @cached_property
    def sizes(self) -> NDArray[np.intp]:
        """One element each."""
        return np.ones(len(self.got), np.intp)

    @property
    def wrong(self) -> int:
        """The number of wrong answers."""
        return int(np.count_nonzero(~self.right))

    @property
    def beside(self) -> int:
        """The same, for hold-out inputs."""
        return self.wrong

    def given(self, said: Sequence[Reading]) -> Mask:
        """Return a mask of explained answers under the best reading."""
        return max(map(self._given, said), key=np.count_nonzero)

    def _given(self, reading: Reading) -> Mask:
        """Return a mask of explained answers.

        A right answer does not refute a cause that leaves it undefined, as with another attribute
        value.
        """
        right = self.right & (reading.patterns == pattern.UNDEFINED)
        return np.asarray(right | self.as_due(self._firm(reading)))

    def _firm(self, reading: Reading) -> Reading:
        """Return a reading without loose text patterns, which explain no wrong answer."""
        if not isinstance(self.points.target, Text):
            return reading
        loose = ~self.right & np.isin(reading.patterns, (pattern.PLAIN, pattern.PARSES))
        patterns = np.where(loose, np.uint8(pattern.UNDEFINED), reading.patterns)
        return Reading(reading.codes, patterns)


def tried(trial: Trial, causes: Iterable[Cause]) -> Iterator[Tried]:
    """Yield applicable causes with a mask of the answers they explain."""
    for cause in causes:
        if applies(cause, trial.case) and (said := trial.said_by((cause,))) is not None:
            yield cause, trial.given(said)


def applies(cause: Cause, case: Case) -> bool:
    """Return whether an elementwise cause applies to a case."""
    return not (cause.call or cause.chain) and cause.applies_to(case)
