"""Answers -> the causes that give every one of them. It runs in the worker, next to the answers.

A cause is executed on every input of a case. It is told only if it gives all answers, the right
ones and the wrong ones; one that misses a single one is none. Where none does, two at a time are
tried, of those that come closest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from itertools import islice
from typing import cast

import numpy as np
from numpy.typing import NDArray

from convcheck.causes.apart import telling_inputs, unseen_inputs
from convcheck.causes.call_search import AskCalls, FoundOfCalls, diagnose_calls
from convcheck.causes.trial import Key, Trial, Tried, Tries, comparable
from convcheck.judge.answers import (
    ANSWERED,
    CRASHED,
    NOT_ASKED,
    REFUSED,
    Answers,
    CallAnswers,
    Elsewhere,
)
from convcheck.judge.matching import matching
from convcheck.judge.refusals import is_accepted
from convcheck.judge.result import CaseDiagnosis, Fit, Names, Near
from convcheck.numerics.codes import Bits
from convcheck.rules.causes import Cause
from convcheck.rules.load import Catalog
from convcheck.rules.model import Spec
from convcheck.semantics.evaluate import evaluate, points_of
from convcheck.semantics.expected import UNDEFINED
from convcheck.semantics.wrong import compile_wrong
from convcheck.vectors.model import CallSet, Vectors, VectorSet

CLOSEST = 3  # causes that are told of a case which nothing explains, and tried with every other
Ask = Callable[[Bits], Bits | None]  # answers to inputs; None where there are none
Asking = Ask | AskCalls
_PAIRS = 4  # pairs that are told apart
_PAIRED = 6  # causes that are tried with others, and others that are tried with each


@dataclass(frozen=True)
class Found:
    """What explains the answers to a case before the backend is asked further."""

    #: What explains them.
    diagnosis: CaseDiagnosis
    #: Inputs that tell apart what fits, and some that it was not held against; none where nothing
    #: fits.
    inputs: Bits


@dataclass
class Search:
    """The causes that are tried, and what was found of cases like the one at hand."""

    causes: tuple[Cause, ...]
    catalog: Catalog
    #: Whether all that gives a wrong answer is told, and not what comes closest alone.
    every: bool = False
    #: What was asked and answered -> what explains it.
    found: dict[Key, Found] = field(default_factory=dict)
    #: The same with the answers to further inputs -> what explains it then.
    told: dict[Key, CaseDiagnosis] = field(default_factory=dict)
    #: What was asked, and what gives all answers -> what to ask further.
    further: dict[Key, Bits] = field(default_factory=dict)
    #: What was asked and answered of whole calls -> what explains it.
    of_calls: FoundOfCalls = field(default_factory=dict)

    @cached_property
    def tries(self) -> Tries:
        """The causes, as they are tried."""
        return Tries(self.causes)

    @cached_property
    def _by_name(self) -> dict[str, Cause]:
        return {cause.name: cause for cause in self.causes}

    def named(self, names: Names) -> tuple[Cause, ...]:
        """Return causes by their names."""
        return tuple(self._by_name[name] for name in names)


def diagnose(
    search: Search, vectors: Vectors, answers: Answers | CallAnswers, ask: Asking | None = None
) -> CaseDiagnosis | None:
    """Return what explains the answers to a case that fails; None where no cause is tried. Causes
    that fit alike are told apart by what the backend answers to further inputs, where it may be
    asked: of whole calls further calls.
    """
    if isinstance(vectors, CallSet):
        calls = cast(CallAnswers, answers)
        more = cast(AskCalls | None, ask)
        return diagnose_calls(search.causes, search.catalog, vectors, calls, search.of_calls, more)
    spec = search.catalog.specs[vectors.case.spec]
    trial = _trial(search, spec, *with_elsewhere(vectors, cast(Answers, answers)))
    if trial is None:
        return None
    key = search.tries.key(trial)
    if key not in search.found:
        search.found[key] = _found(search, trial)
    return _asked_further(search, trial, key, cast(Ask | None, ask))


def fits_of(
    search: Search, vectors: VectorSet, answers: Answers, ask: Ask | None = None
) -> tuple[Fit, ...] | None:
    """Return what gives all answers to the vectors of a case that is asked further codes, with the
    readings under which it does; None where no cause is tried.
    """
    found = diagnose(search, vectors, answers, ask)
    vectors, answers = with_elsewhere(vectors, answers)
    index = judged_ones(vectors, answers)
    if found is None or index is None:
        return None
    trial = Trial.of(search.catalog.specs[vectors.case.spec], vectors, answers, index)
    said = ((names, trial.said_by(search.named(names)) or ()) for names in found.fits)
    return tuple(
        Fit(names, number)
        for names, readings in said
        for number, reading in enumerate(readings)
        if trial.as_due(reading).all()
    )


def _found(search: Search, trial: Trial) -> Found:
    """Return what explains the answers of a trial: one cause, or if none does, two."""
    fits: tuple[Names, ...] = tuple((cause.name,) for cause in search.tries.alone(trial))
    alone, near = fits, tuple[Near, ...]()
    if search.every or not alone:
        tried = search.tries.of(trial)
        fits = alone or _together(trial, tried)
        near = _near(search, trial, tried, fits)
    wrong = int(np.count_nonzero(~trial.right))
    diagnosis = CaseDiagnosis(len(trial.right), wrong, fits, near)
    return Found(diagnosis, _further(search, trial, fits))


def _asked_further(search: Search, trial: Trial, key: Key, ask: Ask | None) -> CaseDiagnosis:
    """Return what still fits after the backend was asked what tells apart, and what else it is said
    to answer.
    """
    found = search.found[key]
    got = ask(found.inputs) if ask and len(found.inputs) else None
    if got is None:
        return found.diagnosis
    answered = *key, comparable(got)
    if answered not in search.told:
        search.told[answered] = _held_to(search, trial, found, got)
    return search.told[answered]


def _held_to(search: Search, trial: Trial, found: Found, got: Bits) -> CaseDiagnosis:
    """Return what still fits, given the answers to further inputs. If no cause does, two that fit
    together are looked for.
    """
    inputs, told = found.inputs, found.diagnosis
    none = np.zeros(len(inputs), bool)
    due = evaluate(trial.spec, trial.case, inputs).readings
    more = Trial(trial.spec, trial.case, points_of(trial.case, inputs), got, none, due)
    if left := _left(search, more, told.fits):
        return replace(told, fits=left)
    tried = search.tries.of(trial)
    fits = _together(trial, tried, more) if told.fits else ()
    return replace(told, fits=fits, near=_near(search, trial, tried, fits))


def _trial(search: Search, spec: Spec, vectors: VectorSet, answers: Answers) -> Trial | None:
    """Return what a cause has to give: None where nothing is wrong, an input was deadly, or other
    placements were answered otherwise, which no conversion of values does.
    """
    index = judged_ones(vectors, answers)
    if index is None or not len(index):
        return None
    trial = search.tries.trial(spec, vectors, answers, index)
    return None if trial.right.all() else trial


def with_elsewhere(vectors: VectorSet, answers: Answers) -> tuple[VectorSet, Answers]:
    """Return vectors and answers with those of other placements behind them, as far as these are
    right: two answers are right of a NaN, and a cause has to give both.
    """
    kept = [other for other in answers.elsewhere if _is_right(vectors, other)]
    if not kept:
        return vectors, answers
    index = np.concatenate([np.arange(len(answers.got)), *(other.index for other in kept)])
    taken = tuple(bits[index] for bits in vectors.inputs)
    got = np.concatenate([answers.got, *(other.got for other in kept)])
    left = tuple(other for other in answers.elsewhere if other not in kept)
    state = np.concatenate([answers.state, np.full(len(got) - len(answers.got), ANSWERED)])
    more = replace(answers, got=got, state=state.astype(np.uint8), elsewhere=left)
    return replace(vectors, inputs=taken, expected=vectors.expected.take(index)), more


def _is_right(vectors: VectorSet, other: Elsewhere) -> bool:
    """Return whether another placement answered something else that is right, under one reading."""
    case, bits = vectors.case, vectors.inputs[0][other.index]
    ends = case.outputs[0].format, case.inputs[0].format
    due = vectors.expected.take(other.index).readings
    return any(bool(matching(each, other.got, *ends, bits).all()) for each in due)


def judged_ones(vectors: VectorSet, answers: Answers) -> NDArray[np.intp] | None:
    """Return the elements whose answers a rule decides; None where it is no conversion's doing."""
    readings = vectors.expected.readings
    free = reduce(np.logical_or, (r.patterns == UNDEFINED for r in readings))
    free |= is_accepted(vectors.case) & (answers.state == REFUSED)
    index = np.flatnonzero(~free & (answers.state != NOT_ASKED))
    elsewhere = any(np.isin(other.index, index).any() for other in answers.elsewhere)
    crashed = bool((answers.state[index] == CRASHED).any())
    return None if answers.declined or answers.faults or elsewhere or crashed else index


def _explained(trial: Trial, causes: Sequence[Cause]) -> bool:
    """Return whether causes give all answers together."""
    said = trial.said_by(causes)
    return said is not None and trial.are_as(said)


def _left(search: Search, trial: Trial, fits: tuple[Names, ...]) -> tuple[Names, ...]:
    """Return those of some causes that give all answers."""
    return tuple(names for names in fits if _explained(trial, search.named(names)))


def _promising(trial: Trial, tried: Sequence[Tried]) -> list[Tried]:
    """Return the causes that give a wrong answer, those first that give the most of all."""
    some = [(cause, given) for cause, given in tried if (given & ~trial.right).any()]
    return sorted(some, key=lambda each: -np.count_nonzero(each[1]))


def _together(trial: Trial, tried: Sequence[Tried], *more: Trial) -> tuple[Names, ...]:
    """Return the first few pairs of causes that give all answers together, of all trials.

    First those are tried of which each gives what the other does not; then, since one may change
    what the other does, the most promising ones with every other. The plainer one comes first,
    unless they explain the answers only the other way round.
    """
    for most, partners in ((_PAIRED, _PAIRED), (CLOSEST, len(tried))):
        found = dict.fromkeys(islice(_pairs((trial, *more), tried, most, partners), _PAIRS))
        if found:
            return tuple(found)
    return ()


def _pairs(
    trials: Sequence[Trial], tried: Sequence[Tried], most: int, partners: int
) -> Iterator[Names]:
    """Yield pairs that give all answers: each of the most promising causes with so many others."""
    place = {cause: n for n, (cause, _) in enumerate(tried)}
    for first, given in _promising(trials[0], tried)[:most]:
        rest = sorted(tried, key=lambda each: -np.count_nonzero(each[1] & ~given))
        for other, _ in rest[:partners]:
            if other is not first:
                pair = sorted((first, other), key=place.__getitem__)
                both = (pair, pair[::-1])
                orders = (order for order in both if all(_explained(t, order) for t in trials))
                yield from (tuple(cause.name for cause in order) for order in islice(orders, 1))


def _further(search: Search, trial: Trial, fits: tuple[Names, ...]) -> Bits:
    """Return inputs that tell apart what fits, and some on which the plainest is tried anew."""
    made = (compile_wrong(trial.spec, trial.case, search.named(names)) for names in fits)
    programs = [program for program in made if program]
    if not programs:
        return trial.points.bits[:0]
    key = search.tries.inputs_key(trial), tuple(program.meaning for program in programs)
    if key not in search.further:
        telling = telling_inputs(trial.spec, trial.case, programs)
        unseen = unseen_inputs(trial.spec, trial.case, programs[0], trial.points.bits)
        search.further[key] = np.unique(np.concatenate([telling, unseen]))
    return search.further[key]


def _near(
    search: Search, trial: Trial, tried: Sequence[Tried], fits: tuple[Names, ...]
) -> tuple[Near, ...]:
    """Return what comes closest, where that is to be told."""
    most = None if search.every else 0 if fits else CLOSEST
    found = _promising(trial, tried)[:most]
    return tuple(Near(cause.name, int(np.count_nonzero(given))) for cause, given in found)
