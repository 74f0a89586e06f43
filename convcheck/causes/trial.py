"""Causes are tried on the answers to some inputs of a case: which of them each one gives."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from convcheck.judge.answers import REFUSED, Answers
from convcheck.judge.matching import Mask, matching
from convcheck.numerics.codes import Bits
from convcheck.numerics.format import Text
from convcheck.rules.causes import Cause
from convcheck.rules.model import Case, Spec
from convcheck.semantics import expected as pattern
from convcheck.semantics.answers_at import points_of
from convcheck.semantics.evaluate import evaluate
from convcheck.semantics.expected import Reading
from convcheck.semantics.program import Program
from convcheck.semantics.vocabulary import Points
from convcheck.semantics.wrong import compile_wrong, readings_at
from convcheck.vectors.model import VectorSet

Tried = tuple[Cause, Mask]  # a cause with the answers that it gives
_PROBES = 6  # wrong answers that a cause has to give before it is tried on all


def is_plain(cause: Cause) -> bool:
    """Return whether it is no matter to a cause what the rules say under other values of attributes
    and in other versions.
    """
    return not (cause.under or cause.version)


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

    def answered(self, inputs: Bits, got: Bits) -> Trial:
        """Return the trial of answers to further inputs of the same case."""
        refused, due = np.zeros(len(inputs), bool), evaluate(self.spec, self.case, inputs).readings
        return Trial(self.spec, self.case, points_of(self.case, inputs), got, refused, due)

    def few_wrong(self) -> Trial:
        """Return the trial of some of the wrong answers, spread over all of them; of texts, whose
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

    def is_given_by(self, program: Program) -> bool:
        """Return whether all answers are as a program says."""
        return self.are_as(readings_at(program, self.points))

    def are_as(self, said: Sequence[Reading]) -> bool:
        """Return whether all answers are as causes say, under one reading: most are refuted by a
        code that was not answered.
        """
        return any(bool(self._given(each).all()) for each in said if not self._misses(each))

    def _misses(self, reading: Reading) -> bool:
        """Return whether a reading says a code where another one was answered."""
        differs = (reading.codes != self.got) & (reading.patterns == pattern.EXACT)
        return bool(np.count_nonzero(differs))

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


def fitting(
    causes: Sequence[Cause],
    pairs: Iterable[tuple[Cause, Cause]],
    explains: Callable[[Sequence[Cause]], bool],
) -> list[Sequence[Cause]]:
    """Return what explains all answers: causes that were found somewhere, with those of an
    attribute or a version that explain them, too; else pairs that were found together, unless one
    of the two explains them alone; else any other cause.
    """
    found = [cause for cause in causes if cause.common and explains((cause,))]
    rest = [cause for cause in causes if not cause.common]
    if found:
        rest = [cause for cause in rest if cause.under or cause.version]
    else:
        fits = [pair for pair in pairs if explains(pair)]
        if fits := [pair for pair in fits if not any(explains((one,)) for one in pair)]:
            return list(fits)
    both = {*found, *(cause for cause in rest if explains((cause,)))}
    return [(cause,) for cause in causes if cause in both]


def tried(trial: Trial, causes: Iterable[Cause]) -> Iterator[Tried]:
    """Yield the causes that have a meaning for a case, each with the answers that it gives."""
    for cause in causes:
        if applies(cause, trial.case) and (said := trial.said_by((cause,))) is not None:
            yield cause, trial.given(said)


def applies(cause: Cause, case: Case) -> bool:
    """Return whether a cause is one of elements, and of the types of a case."""
    return not (cause.call or cause.chain) and cause.applies_to(case)
