"""Answers -> the causes that give every one of them. It runs in the worker, next to the answers.

A cause is executed on every input of a case. It is told only if it gives all answers, the right
ones and the wrong ones; one that misses a single one is none. Where none does, two at a time are
tried, of those that come closest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import cast

import numpy as np

from convcheck.causes.apart import telling_inputs
from convcheck.judge.answers import CRASHED, NOT_ASKED, REFUSED, Answers, CallAnswers
from convcheck.judge.matching import Mask, matching
from convcheck.judge.refusals import is_accepted
from convcheck.judge.result import CaseDiagnosis, Names, Near
from convcheck.numerics.format import Bits, Codes
from convcheck.rules.causes import Cause
from convcheck.rules.load import Catalog
from convcheck.rules.model import Case, Spec
from convcheck.semantics import expected as pattern
from convcheck.semantics.evaluate import points_of
from convcheck.semantics.expected import Reading
from convcheck.semantics.vocabulary import Points
from convcheck.semantics.wrong import compile_wrong, readings_at
from convcheck.vectors.model import CallSet, Vectors, VectorSet

_CLOSEST = 3  # causes that are told of a case which nothing explains, and tried with every other
Ask = Callable[[Codes], Codes | None]  # answers to inputs; None where there are none
_Key = tuple[str | bytes, ...]
_Tried = tuple[Cause, Mask]  # a cause with the answers that it gives
_PAIRED = 6  # causes that are tried with others, and others that are tried with each


@dataclass
class Search:
    """The causes that are tried, and what was found of cases like the one at hand."""

    causes: tuple[Cause, ...]
    catalog: Catalog
    #: What was asked and answered, whatever the version -> what explained it.
    found: dict[_Key, tuple[Names, ...]] = field(default_factory=dict)

    def named(self, names: Names) -> tuple[Cause, ...]:
        """Return causes by their names."""
        by_name = {cause.name: cause for cause in self.causes}
        return tuple(by_name[name] for name in names)


def diagnose(
    search: Search, vectors: Vectors, answers: Answers | CallAnswers, ask: Ask | None = None
) -> CaseDiagnosis | None:
    """Return what explains the answers to a case that fails; None where no cause is tried. Causes
    that fit alike are told apart by what the backend answers to further inputs, where it may be
    asked.
    """
    if isinstance(vectors, CallSet):
        return None
    spec = search.catalog.specs[vectors.case.spec]
    trial = _Trial.of(spec, vectors, cast(Answers, answers))
    if trial is None:
        return None
    fits, near = _known(search, trial), cast(tuple[Near, ...], ())
    if not fits:
        tried = _tried(search, trial)
        more = _more(search, trial, _alone(tried), ask)
        fits = more.left(search, _alone(tried)) or more.left(search, _together(trial, tried))
        near = () if fits else _near(trial, tried)
    search.found[trial.key] = fits
    return CaseDiagnosis(len(trial.points.bits), int((~trial.right).sum()), fits, near)


@dataclass(frozen=True)
class _Trial:
    """What a cause is tried on: the answers to a case that a rule decides."""

    spec: Spec
    case: Case
    points: Points
    #: The answers at the points; of a refusal anything.
    got: Bits
    #: Which points were refused.
    refused: Mask
    #: Which answers are right, under the reading that comes closest.
    right: Mask

    @staticmethod
    def of(spec: Spec, vectors: VectorSet, answers: Answers) -> _Trial | None:
        """Return what there is to try: None where nothing is wrong, an input was deadly, or other
        placements were answered otherwise, which no conversion of values does.
        """
        case, expected = vectors.case, vectors.expected
        free = reduce(np.logical_or, (r.patterns == pattern.UNDEFINED for r in expected.readings))
        free |= is_accepted(case) & (answers.state == REFUSED)
        index = np.flatnonzero(~free & (answers.state != NOT_ASKED))
        state = answers.state[index]
        if (state == CRASHED).any() or not len(index) or answers.declined or answers.faults:
            return None
        if any(np.isin(other.index, index).any() for other in answers.elsewhere):
            return None
        points, got = points_of(case, vectors.inputs[0][index]), answers.got[index]
        refused = state == REFUSED
        right = _best(case, points, (got, refused), expected.take(index).readings)
        return None if right.all() else _Trial(spec, case, points, got, refused, right)

    @property
    def key(self) -> _Key:
        """What tells trials apart, but for the version of the operator."""
        arrays = (self.points.bits, self.got, self.refused, self.right)
        content = (repr(a.tolist()) if a.dtype.hasobject else a.tobytes() for a in arrays)
        return (self.case.op, self.case.name, *content)

    def given_by(self, causes: Sequence[Cause]) -> Mask | None:
        """Return which answers causes give together, None where they have no meaning here."""
        program = compile_wrong(self.spec, self.case, causes)
        if program is None:
            return None
        came = self.got, self.refused
        return _best(self.case, self.points, came, readings_at(program, self.points))

    def left(self, search: Search, fits: tuple[Names, ...]) -> tuple[Names, ...]:
        """Return those of some causes that give all answers."""
        return tuple(names for names in fits if self.explained_by(search.named(names)))

    def explained_by(self, causes: Sequence[Cause]) -> bool:
        """Return whether causes give all answers together."""
        given = self.given_by(causes)
        return given is not None and bool(given.all())


def _best(case: Case, points: Points, came: tuple[Bits, Mask], readings: Sequence[Reading]) -> Mask:
    """Return which answers are as expected, under the reading of which most are."""
    source, target = case.inputs[0].format, case.outputs[0].format
    got, refused = came
    masks = (
        np.where(
            refused,
            reading.patterns == pattern.REFUSED,
            matching(reading, got, target, source, points.bits)
            & (reading.patterns != pattern.UNDEFINED),
        )
        for reading in readings
    )
    return max(masks, key=np.count_nonzero)


def _known(search: Search, trial: _Trial) -> tuple[Names, ...]:
    """Return what explained the same question of another version, if it explains this one, too."""
    before = search.found.get(trial.key, ())
    fits = trial.left(search, before)
    return fits if len(fits) == len(before) else ()


def _tried(search: Search, trial: _Trial) -> list[_Tried]:
    """Return the causes that may be that of a case, with the answers that each gives."""
    applying = (cause for cause in search.causes if cause.applies_to(trial.case))
    tried = ((cause, trial.given_by((cause,))) for cause in applying)
    return [(cause, given) for cause, given in tried if given is not None]


def _alone(tried: Sequence[_Tried]) -> tuple[Names, ...]:
    """Return every cause that gives all answers by itself."""
    return tuple((cause.name,) for cause, given in tried if given.all())


def _promising(trial: _Trial, tried: Sequence[_Tried]) -> list[_Tried]:
    """Return the causes that give a wrong answer, those first that give the most of all."""
    some = [(cause, given) for cause, given in tried if (given & ~trial.right).any()]
    return sorted(some, key=lambda each: -np.count_nonzero(each[1]))


def _together(trial: _Trial, tried: Sequence[_Tried]) -> tuple[Names, ...]:
    """Return the first two causes that give all answers together.

    First those are tried of which each gives what the other does not; then, since one may change
    what the other does, the most promising ones with every other.
    """
    promising = _promising(trial, tried)
    for most, partners in ((_PAIRED, _PAIRED), (_CLOSEST, len(tried))):
        for first, given in promising[:most]:
            rest = sorted(tried, key=lambda each: -np.count_nonzero(each[1] & ~given))
            for other, _ in rest[:partners]:
                for pair in ((first, other), (other, first)):
                    if other is not first and trial.explained_by(pair):
                        return (tuple(cause.name for cause in pair),)
    return ()


def _more(search: Search, trial: _Trial, fits: tuple[Names, ...], ask: Ask | None) -> _Trial:
    """Return what a backend answers to inputs that tell apart what fits; without such inputs, or
    without an answer, the trial that it was.
    """
    programs = (compile_wrong(trial.spec, trial.case, search.named(names)) for names in fits)
    inputs = telling_inputs(trial.spec, trial.case, [each for each in programs if each])
    got = ask(inputs) if ask and len(inputs) else None
    if got is None:
        return trial
    none = np.zeros(len(inputs), bool)
    return _Trial(trial.spec, trial.case, points_of(trial.case, inputs), got, none, none)


def _near(trial: _Trial, tried: Sequence[_Tried]) -> tuple[Near, ...]:
    found = _promising(trial, tried)[:_CLOSEST]
    return tuple(Near(cause.name, int(np.count_nonzero(given))) for cause, given in found)
