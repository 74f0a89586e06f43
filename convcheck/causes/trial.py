"""Causes are tried on the answers to some inputs of a case: which of them each one gives."""

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

Tried = tuple[Cause, Mask]  # a cause with the answers that it gives
_PROBES = 6  # wrong answers that a cause has to give before it is tried on all


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

    @staticmethod
    def answered(spec: Spec, case: Case, inputs: Bits, got: Bits) -> Trial:
        """Return the trial of answers to further inputs."""
        refused, due = np.zeros(len(inputs), bool), evaluate(spec, case, inputs).readings
        return Trial(spec, case, points_of(case, inputs), got, refused, due)

    @cached_property
    def right(self) -> Mask:
        """Which answers are right, under the reading that comes closest."""
        return max(map(self.as_due, self.readings), key=np.count_nonzero)

    def as_due(self, reading: Reading) -> Mask:
        """Return which answers are as a reading says; where it leaves them open, none."""
        source, target = self.case.inputs[0].format, self.case.outputs[0].format
        told = matching(reading, self.got, target, source, self.points.bits)
        answered = told & (reading.patterns != pattern.UNDEFINED)
        return np.asarray(np.where(self.refused, reading.patterns == pattern.REFUSED, answered))

    @cached_property
    def never_right(self) -> Mask:
        """Which answers are right under no reading."""
        return np.asarray(~np.logical_or.reduce([self.as_due(each) for each in self.readings]))

    def at(self, index: NDArray[np.intp]) -> Trial:
        """Return the trial of some of the points."""
        readings = [Reading(each.codes[index], each.patterns[index]) for each in self.readings]
        points = self.points.at(index)
        return Trial(self.spec, self.case, points, self.got[index], self.refused[index], readings)

    @property
    def few(self) -> Trial:
        """The trial of some of the wrong answers, spread over all of them; of texts, whose
        spelling is judged all together, the whole trial.
        """
        if isinstance(self.points.target, Text):
            return self
        wrong = np.flatnonzero(self.never_right)
        places = np.linspace(0, len(wrong) - 1, min(_PROBES, len(wrong)))
        return self.at(wrong[np.unique(places.astype(np.intp))])

    def said_by(self, causes: Sequence[Cause]) -> list[Reading] | None:
        """Return what causes make of the points together, None where they have no meaning here."""
        program = compile_wrong(self.spec, self.case, causes)
        return None if program is None else readings_at(program, self.points)

    @property
    def types(self) -> tuple[DType, DType]:
        """The types by which a cause applies or does not."""
        return self.case.inputs[0], self.case.outputs[0]

    def applies(self, causes: Sequence[Cause]) -> bool:
        """Return whether causes are of elements and for the types of the case; of two, whether the
        attributes that they ignore have other values there.
        """
        given = dict(self.case.attributes) if causes[1:] else {}
        set_ = [pair for cause in causes for pair in cause.under] if causes[1:] else []
        other = all(given.get(name, value) != value for name, value in set_)
        return other and all(applies(cause, self.case) for cause in causes)

    def explains(self, causes: Sequence[Cause]) -> bool:
        """Return whether causes give all answers together, under one reading."""
        said = self.said_by(causes)
        return said is not None and any(bool(self._given(each).all()) for each in said)

    def given_by(self, causes: Sequence[Cause]) -> Mask | None:
        """Return which answers causes give together, None where they have no meaning here."""
        said = self.said_by(causes)
        return None if said is None else self.given(said)

    @property
    def sample(self) -> Trial:
        """What each cause is tried on, where none explains all."""
        return self

    @cached_property
    def sizes(self) -> NDArray[np.intp]:
        """How many answers each entry of a mask is of."""
        return np.ones(len(self.got), np.intp)

    @property
    def wrong(self) -> int:
        """How many answers are wrong."""
        return int(np.count_nonzero(~self.right))

    @property
    def beside(self) -> int:
        """How many are, of further inputs."""
        return self.wrong

    def given(self, said: Sequence[Reading]) -> Mask:
        """Return which answers are as causes say."""
        return max(map(self._given, said), key=np.count_nonzero)

    def _given(self, reading: Reading) -> Mask:
        """Return which answers are as a cause says. A right one does not contradict a cause that
        leaves it open: under another value of an attribute, a text may say nothing of an input.
        """
        right = self.right & (reading.patterns == pattern.UNDEFINED)
        return np.asarray(right | self.as_due(self._firm(reading)))

    def _firm(self, reading: Reading) -> Reading:
        """Return what a cause says, but for what any text is: that explains no wrong answer."""
        if not isinstance(self.points.target, Text):
            return reading
        loose = ~self.right & np.isin(reading.patterns, (pattern.PLAIN, pattern.PARSES))
        patterns = np.where(loose, np.uint8(pattern.UNDEFINED), reading.patterns)
        return Reading(reading.codes, patterns)


def tried(trial: Trial, causes: Iterable[Cause]) -> Iterator[Tried]:
    """Yield the causes that have a meaning for a case, each with the answers that it gives."""
    for cause in causes:
        if applies(cause, trial.case) and (said := trial.said_by((cause,))) is not None:
            yield cause, trial.given(said)


def applies(cause: Cause, case: Case) -> bool:
    """Return whether a cause is one of elements, and of the types of a case."""
    return not (cause.call or cause.chain) and cause.applies_to(case)
