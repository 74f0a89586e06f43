"""Causes are tried on the answers to some inputs of a case: which of them each one gives."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convcheck.judge.answers import REFUSED, Answers
from convcheck.judge.matching import Mask, matching
from convcheck.numerics.codes import Bits
from convcheck.numerics.format import Text
from convcheck.rules.causes import Cause
from convcheck.rules.model import Case, Spec
from convcheck.semantics import expected as pattern
from convcheck.semantics.ahead import said_of_all
from convcheck.semantics.evaluate import points_of
from convcheck.semantics.expected import Reading
from convcheck.semantics.program import Program
from convcheck.semantics.screen import Screen
from convcheck.semantics.vocabulary import Points
from convcheck.semantics.wrong import (
    Needs,
    acted_on_in,
    compile_wrong,
    needs_of,
    readings_at,
    right_program,
    way_through,
    what_decides,
)
from convcheck.vectors.model import VectorSet

Key = tuple[Hashable, ...]
Tried = tuple[Cause, Mask]  # a cause with the answers that it gives
PointsOf = Callable[[Case, Bits], Points]
Some = Callable[[Cause], bool]  # which causes are meant
Pair = tuple[Cause, Cause]
_PROBES = 6  # wrong answers that a cause has to give before it is tried on all


def is_any(cause: Cause) -> bool:
    """Return True: any cause is meant."""
    return True


def found_together(causes: Sequence[Cause]) -> tuple[Pair, ...]:
    """Return the pairs of some causes that were found together."""
    known = {cause.name: cause for cause in causes}
    pairs = ((one, known.get(name)) for one in causes for name in one.found_with)
    return tuple((one, other) for one, other in pairs if other)


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
    def of(
        spec: Spec,
        vectors: VectorSet,
        answers: Answers,
        index: NDArray[np.intp],
        points: PointsOf = points_of,
    ) -> Trial:
        """Return what there is to try at some of the inputs, which become `points`."""
        return Trial(
            spec,
            vectors.case,
            points(vectors.case, vectors.inputs[0][index]),
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

    def anew(self, index: NDArray[np.intp]) -> Trial:
        """Return the trial of some of the points, of which it is not known what words say."""
        points = points_of(self.case, self.points.bits[index])
        return replace(self.at(index), points=points)

    def few_wrong(self) -> Trial:
        """Return the trial of some of the wrong answers, spread over all of them; of texts, whose
        spelling is judged all together, the whole trial.
        """
        if isinstance(self.points.target, Text):
            return self
        return self.at(_few(np.flatnonzero(self.never_right)))

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


@dataclass(frozen=True)
class _Inputs:
    """Inputs of cases, and what causes make of them."""

    points: Points
    #: A cause with what decides of all that it needs -> what it says; None: it has no meaning.
    said: dict[Key, list[Reading] | None]
    #: The same with answers -> whether it gives all of them.
    fitting: dict[Key, bool]


class Tries:
    """Causes that are tried on one trial after the other. What they make of the same inputs is
    worked out once, for trials of the same types that follow one another.
    """

    def __init__(self, causes: Sequence[Cause]) -> None:
        """Take causes, the plainest first."""
        self.causes = tuple(cause for cause in causes if not (cause.call or cause.chain))
        self._applying: dict[Key, tuple[tuple[Cause, ...], Needs]] = {}
        self._types: Key = ()
        self._decided: tuple[Case | None, dict[Some, Hashable]] = (None, {})
        self._inputs: dict[Hashable, _Inputs] = {}

    @cached_property
    def pairs(self) -> tuple[Pair, ...]:
        """The causes that were found together, and those found alone with those that have an
        attribute ignored.
        """
        common = [cause for cause in self.causes if cause.common]
        ignoring = [cause for cause in self.causes if cause.under and not cause.rules]
        return tuple(dict.fromkeys([*found_together(self.causes), *product(common, ignoring)]))

    def trial(
        self, spec: Spec, vectors: VectorSet, answers: Answers, index: NDArray[np.intp]
    ) -> Trial:
        """Return a trial with the points of one before, if it has the same inputs: what words say
        of them is known.
        """
        return Trial.of(spec, vectors, answers, index, self._points)

    def _points(self, case: Case, bits: Bits) -> Points:
        return self._inputs_of(case, bits).points

    def alone(self, trial: Trial) -> list[Cause]:
        """Return the causes that give all answers, each by itself. Most are refuted by a few wrong
        answers, or by one that they leave as it is.
        """
        known = self._inputs_of(trial.case, trial.points.bits).fitting
        answered = tuple(map(comparable, (trial.got, trial.refused, trial.right)))
        decides = self._decides_of(trial)
        keys = {c: (c, decides(c), answered) for c in self._causes_of(trial.case)}
        new = [cause for cause, key in keys.items() if key not in known]
        wrong = np.flatnonzero(trial.never_right)
        probe, left = trial.few_wrong(), set(_left(trial, wrong, new))
        for cause in new:
            program = compile_wrong(trial.spec, trial.case, (cause,)) if cause in left else None
            known[keys[cause]] = program is not None and _fits(trial, probe, program)
        return [cause for cause, key in keys.items() if known[key]]

    def key(self, trial: Trial) -> Key:
        """Return what a trial has in common with those that the same causes fit."""
        arrays = (trial.points.bits, trial.got, trial.refused, trial.right)
        decides = self._decides(trial, is_any)
        return (*_types_of(trial.case), decides, *map(comparable, arrays))

    def inputs_key(self, trial: Trial) -> Key:
        """Return what trials of the same inputs have in common, by the same rules."""
        right = right_program(trial.spec, trial.case).meaning
        return (*_types_of(trial.case), right, comparable(trial.points.bits))

    def of(self, trial: Trial) -> list[Tried]:
        """Return the causes that have a meaning, each with the answers that it gives."""
        found = self._of_each(trial)
        return [(cause, trial.given(said)) for cause, said in found if said is not None]

    def _of_each(self, trial: Trial) -> Iterator[tuple[Cause, list[Reading] | None]]:
        """Yield causes that apply, each with what it makes of the points, None where it has no
        meaning.
        """
        said = self._inputs_of(trial.case, trial.points.bits).said
        decides = self._decides_of(trial)
        for cause in self._causes_of(trial.case):
            key = cause, decides(cause)
            if key not in said:
                said[key] = trial.said_by((cause,))
            yield cause, said[key]

    def _decides(self, trial: Trial, some: Some) -> Hashable:
        """Return what is equal for trials of which each of some causes makes the same. Of a case it
        is asked several times in a row.
        """
        if self._decided[0] is not trial.case:
            self._decided = trial.case, {}
        known = self._decided[1]
        if some not in known:
            needs = self._applying_to(trial.case, some)[1]
            known[some] = what_decides(trial.spec, trial.case, needs)
        return known[some]

    def _decides_of(self, trial: Trial) -> Callable[[Cause], Hashable]:
        """Return what gives the same of a cause: of most it is no matter what the rules say under
        other values of attributes, and in other versions.
        """
        here = self._decides(trial, is_plain)
        return lambda c: here if is_plain(c) else self._decides(trial, is_any)

    def _causes_of(self, case: Case) -> tuple[Cause, ...]:
        """Return the causes that apply to the types of a case."""
        return self._applying_to(case, is_any)[0]

    def _applying_to(self, case: Case, some: Some) -> tuple[tuple[Cause, ...], Needs]:
        key = *_types_of(case), some
        if key not in self._applying:
            causes = tuple(c for c in filter(some, self.causes) if c.applies_to(case))
            self._applying[key] = causes, needs_of(causes)
        return self._applying[key]

    def _inputs_of(self, case: Case, bits: Bits) -> _Inputs:
        """Return what is known of inputs; those of other types are forgotten."""
        types = _types_of(case)
        if self._types != types:
            self._types, self._inputs = types, {}
        content = comparable(bits)
        if content not in self._inputs:
            self._inputs[content] = _Inputs(points_of(case, bits), {}, {})
        return self._inputs[content]


def _few(wrong: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return some of the wrong answers, spread over all of them."""
    places = np.linspace(0, len(wrong) - 1, min(_PROBES, len(wrong)))
    return wrong[np.unique(places.astype(np.intp))]


def _left(trial: Trial, wrong: NDArray[np.intp], causes: Sequence[Cause]) -> list[Cause]:
    """Return the causes that may give some wrong answers: those are refuted first of which this
    costs little, and where numbers only go through something else, all are worked out together.
    """
    if isinstance(trial.points.target, Text):
        return list(causes)
    all_wrong, few = trial.anew(wrong), trial.anew(_few(wrong))
    screen = Screen(all_wrong.points, all_wrong.as_due)
    left = [cause for cause in causes if screen.may_give(cause, trial.spec)]
    found = {cause: way_through(cause, trial.spec, trial.case) for cause in left}
    ways = {cause: way for cause, way in found.items() if way}
    said = zip(ways, said_of_all(ways.values(), few.points), strict=True)
    given = {cause for cause, each in said if few.are_as(each)}
    return [c for c in left if (c in given if c in ways else _may_act(trial, c, wrong))]


def _may_act(trial: Trial, cause: Cause, wrong: NDArray[np.intp]) -> bool:
    """Return whether a cause may act on all of some wrong answers."""
    acts = acted_on_in(cause, trial.spec, trial.case, trial.points)
    return acts is None or bool(acts[wrong].all())


def _fits(trial: Trial, probe: Trial, program: Program) -> bool:
    """Return whether a program gives all answers, first asked those of a probe."""
    return probe.is_given_by(program) and trial.is_given_by(program)


def _types_of(case: Case) -> Key:
    return case.inputs[0].name, case.outputs[0].name


def comparable(array: NDArray[Any]) -> Hashable:
    """Return what is equal for arrays of one type that have the same elements."""
    return tuple(array.tolist()) if array.dtype.hasobject else array.tobytes()
