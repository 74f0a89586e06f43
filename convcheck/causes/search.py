"""Answers -> the causes that give every one of them. It runs in the worker, next to the answers.

A cause is executed on every input of a case. It is told only if it gives all answers, the right
ones and the wrong ones; one that misses a single one is none.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import cast

import numpy as np

from convcheck.causes.apart import telling_inputs, unseen_inputs
from convcheck.causes.call_search import AskCalls, FoundOfCalls, diagnose_calls
from convcheck.causes.judged import LANES, judged_ones, with_elsewhere, without_tail
from convcheck.causes.stages import CLOSEST, STAGES, coming_close, explained
from convcheck.causes.trial import Key, Trial, Tries, comparable
from convcheck.judge.answers import Answers, CallAnswers
from convcheck.judge.result import CaseDiagnosis, Fit, Names, Near
from convcheck.numerics.codes import Bits
from convcheck.numerics.format import Format
from convcheck.rules.causes import Cause
from convcheck.rules.load import Catalog
from convcheck.semantics.evaluate import evaluate, points_of
from convcheck.semantics.wrong import compile_wrong
from convcheck.vectors.model import CallSet, Vectors, VectorSet

Ask = Callable[[Bits], Bits | None]  # answers to inputs; None where there are none
Asking = Ask | AskCalls


@dataclass(frozen=True)
class Found:
    """What explains the answers to a case before the backend is asked further."""

    #: What explains them.
    diagnosis: CaseDiagnosis
    #: Inputs that tell apart what fits, and others that it was not held against; none where nothing
    #: fits.
    inputs: Bits


@dataclass
class Search:
    """The causes that are tried, and what was found of cases like the one at hand."""

    causes: tuple[Cause, ...]
    catalog: Catalog
    #: Whether every cause that gives a wrong answer is listed, not only the closest ones.
    every: bool = False
    #: What was asked and answered, and what to further inputs where nothing explained that -> what
    #: explains it.
    found: dict[Key, Found] = field(default_factory=dict)
    #: The same with the answers to further inputs -> what still explains it.
    told: dict[Key, tuple[Names, ...]] = field(default_factory=dict)
    #: What was asked, and what gives all answers -> what to ask further.
    further: dict[Key, Bits] = field(default_factory=dict)
    #: What was asked and answered of whole calls -> what explains it.
    of_calls: FoundOfCalls = field(default_factory=dict)

    @cached_property
    def tries(self) -> Tries:
        """The causes, as they are tried."""
        return Tries(self.causes)

    @cached_property
    def formats(self) -> tuple[Format, ...]:
        """The formats of all types."""
        return tuple(dtype.format for dtype in self.catalog.types.types.values())

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
    vectors, answers, whole = with_elsewhere(vectors, cast(Answers, answers))
    trial = _trial(search, vectors, answers, whole=whole)
    if trial is None:
        return None
    ask = cast(Ask | None, ask)
    found = _searched(search, trial, _in_whole_vectors(ask) if ask and whole else ask)
    return replace(found, whole_vectors=whole)


def _in_whole_vectors(ask: Ask) -> Ask:
    """Return what asks inputs with others behind them, so that none stands in a tail."""

    def asked(inputs: Bits) -> Bits | None:
        got = ask(cast(Bits, np.resize(inputs, len(inputs) + LANES)))
        return None if got is None else got[: len(inputs)]

    return asked


def fits_of(
    search: Search, vectors: VectorSet, answers: Answers, ask: Ask | None = None
) -> tuple[Fit, ...] | None:
    """Return what gives all answers to the vectors of a case that is asked further codes, with the
    readings under which it does; None where no cause is tried.
    """
    found = diagnose(search, vectors, answers, ask)
    vectors, answers, _ = with_elsewhere(vectors, answers)
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


def _searched(search: Search, trial: Trial, ask: Ask | None) -> CaseDiagnosis:
    """Return what explains all answers, also those to what the backend is asked further: what tells
    apart what fits the vectors, and inputs that are none. Where none of it does, the search goes on
    with all that was answered.
    """
    trials, asked = [trial], tuple[Hashable, ...]()
    while True:
        key = *search.tries.key(trial), *asked
        if key not in search.found:
            search.found[key] = _found(search, trials)
        found = search.found[key]
        got = ask(found.inputs) if ask and len(found.inputs) else None
        if got is None:
            return found.diagnosis
        asked = *asked, comparable(got)
        key, more = (*key, comparable(got)), _answered(trial, found.inputs, got)
        if key not in search.told:
            fits = found.diagnosis.fits
            search.told[key] = tuple(n for n in fits if explained([more], search.named(n)))
        trials = [*trials, more]
        if left := search.told[key]:
            beside = sum(int(np.count_nonzero(~one.right)) for one in trials[1:])
            return replace(found.diagnosis, fits=left, beside=beside)


def _answered(trial: Trial, inputs: Bits, got: Bits) -> Trial:
    """Return the trial of answers to further inputs of the same case."""
    none = np.zeros(len(inputs), bool)
    due = evaluate(trial.spec, trial.case, inputs).readings
    return Trial(trial.spec, trial.case, points_of(trial.case, inputs), got, none, due)


def _found(search: Search, trials: Sequence[Trial]) -> Found:
    """Return what explains the answers of trials."""
    fits: tuple[Names, ...] = ()
    for stage in STAGES:
        if fits := stage(search.tries, trials):
            break
    wrong = int(np.count_nonzero(~trials[0].right))
    near: Sequence[Near] = ()
    if search.every or not fits:
        near = coming_close(search.tries, trials[0])[: None if search.every else CLOSEST]
    diagnosis = CaseDiagnosis(len(trials[0].right), wrong, fits, tuple(near))
    return Found(diagnosis, _further(search, trials[0], fits))


def _trial(search: Search, vectors: VectorSet, answers: Answers, *, whole: bool) -> Trial | None:
    """Return what a cause has to give: None where nothing is wrong, an input was deadly, or other
    placements were answered otherwise, which no conversion of values does.
    """
    index = judged_ones(vectors, answers)
    if index is None or not len(index):
        return None
    spec = search.catalog.specs[vectors.case.spec]
    trial = search.tries.trial(spec, vectors, answers, index)
    if whole:
        index = without_tail(index, trial.right)
        trial = search.tries.trial(spec, vectors, answers, index)
    return None if trial.right.all() else trial


def _further(search: Search, trial: Trial, fits: tuple[Names, ...]) -> Bits:
    """Return inputs that tell apart what fits, and some on which the plainest is tried anew."""
    made = (compile_wrong(trial.spec, trial.case, search.named(names)) for names in fits)
    programs = [program for program in made if program]
    if not programs:
        return trial.points.bits[:0]
    key = search.tries.inputs_key(trial), tuple(program.meaning for program in programs)
    if key not in search.further:
        telling = telling_inputs(trial.spec, trial.case, programs)
        seen, types = trial.points.bits, search.formats
        unseen = unseen_inputs(trial.spec, trial.case, programs[0], seen, types)
        search.further[key] = np.unique(np.concatenate([telling, unseen]))
    return search.further[key]
