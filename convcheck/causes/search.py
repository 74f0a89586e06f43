"""Answers -> the causes that give every one of them. It runs in the worker, next to the answers.

A cause is executed on every input of a case. It is told only if it gives all answers, the right
ones and the wrong ones; one that misses a single one is none.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, product
from typing import cast

import numpy as np

from convcheck.causes.apart import telling_inputs, unseen_inputs
from convcheck.causes.call_search import AskCalls, diagnose_calls
from convcheck.causes.judged import LANES, judged_ones, with_elsewhere, without_tail
from convcheck.causes.trial import Trial, Tried, applies, fitting, tried
from convcheck.judge.answers import Answers, CallAnswers
from convcheck.judge.result import CaseDiagnosis, Fit, Names, Near
from convcheck.numerics.codes import Bits
from convcheck.numerics.format import Format
from convcheck.records import replace
from convcheck.rules.causes import Cause, found_together
from convcheck.rules.load import Catalog
from convcheck.rules.model import Case
from convcheck.semantics.wrong import compile_wrong
from convcheck.vectors.model import CallSet, Vectors, VectorSet

Ask = Callable[[Bits], Bits | None]  # answers to inputs; None where there are none
Asking = Ask | AskCalls
Pair = tuple[Cause, Cause]
CLOSEST = 3  # causes that are told of a case which nothing explains, and tried with every other
_PAIRS = 4  # pairs that are told apart
_COMPLEMENTS = 40  # pairs that are tried since one gives what the other does not


@dataclass(frozen=True)
class Search:
    """The causes that are tried, the plainest first."""

    causes: tuple[Cause, ...]
    catalog: Catalog
    #: Whether every cause that gives a wrong answer is listed, not only the closest ones.
    every: bool = False

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

    @cached_property
    def pairs(self) -> tuple[Pair, ...]:
        """The causes that were found together, and those found alone with those that have an
        attribute ignored.
        """
        common = [cause for cause in self.causes if cause.common]
        ignoring = [cause for cause in self.causes if cause.under and not cause.rules]
        return tuple(dict.fromkeys([*found_together(self.causes), *product(common, ignoring)]))


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
        return diagnose_calls(search.causes, search.catalog, vectors, calls, more)
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
    vectors, answers, whole = with_elsewhere(vectors, answers)
    trial = _trial(search, vectors, answers, whole=whole)
    if found is None or trial is None:
        return None
    said = ((names, trial.said_by(search.named(names)) or ()) for names in found.fits)
    return tuple(
        Fit(names, number, whole)
        for names, readings in said
        for number, reading in enumerate(readings)
        if trial.as_due(reading).all()
    )


def _searched(search: Search, trial: Trial, ask: Ask | None) -> CaseDiagnosis:
    """Return what explains all answers, also those to what the backend is asked further: what tells
    apart what fits the vectors, and inputs that are none. Where none of it does, the search goes on
    with all that was answered.
    """
    trials = [trial]
    while True:
        found = _found(search, trials)
        inputs = _further(search, trial, found.fits)
        got = ask(inputs) if ask and len(inputs) else None
        if got is None:
            return found
        more = trial.answered(inputs, got)
        trials.append(more)
        if left := tuple(n for n in found.fits if _explains([more], search.named(n))):
            beside = sum(int(np.count_nonzero(~one.right)) for one in trials[1:])
            return replace(found, fits=left, beside=beside)


def _found(search: Search, trials: Sequence[Trial]) -> CaseDiagnosis:
    """Return what explains the answers of trials: a cause that was found somewhere, else two that
    were found together, else any cause, else any two.
    """
    first = trials[0]
    asked = [first.few_wrong(), *trials]
    fits = fitting(
        [cause for cause in search.causes if applies(cause, first.case)],
        (pair for pair in search.pairs if _apply(pair, first.case)),
        lambda some: _explains(asked, some),
    )
    near: list[Near] = []
    if search.every or not fits:
        every = list(tried(first, search.causes))
        fits = fits or _together(asked, every)
        near = [] if fits and not search.every else coming_close(first, every)
    names = tuple(tuple(cause.name for cause in each) for each in fits)
    told = tuple(near[: None if search.every else CLOSEST])
    return CaseDiagnosis(len(first.right), int(np.count_nonzero(~first.right)), names, told)


def _explains(trials: Sequence[Trial], causes: Sequence[Cause]) -> bool:
    """Return whether causes give all answers together: most are refuted by the first trial."""
    program = compile_wrong(trials[0].spec, trials[0].case, causes)
    return program is not None and all(trial.is_given_by(program) for trial in trials)


def _apply(pair: Pair, case: Case) -> bool:
    """Return whether two causes apply to a case, whose attributes have other values than these."""
    given = dict(case.attributes)
    other = all(given.get(name, value) != value for cause in pair for name, value in cause.under)
    return other and all(applies(cause, case) for cause in pair)


def _together(trials: Sequence[Trial], every: Sequence[Tried]) -> list[Sequence[Cause]]:
    """Return the first few pairs of causes that give all answers together, of all trials.

    First those are tried that miss no answer both; then, since one may change what the other does,
    the most promising ones with every other. The plainer one comes first, unless they explain the
    answers only the other way round.
    """
    whole = trials[1]
    for pairs in (_complements(whole, every), _promising_pairs(whole, every)):
        orders = (each for pair in pairs for each in islice(_orders(trials, pair), 1))
        if found := dict.fromkeys(islice(orders, _PAIRS)):
            return list(found)
    return []


def _promising(trial: Trial, every: Sequence[Tried]) -> list[Tried]:
    """Return the causes that give a wrong answer, those first that give the most of all."""
    return sorted(_acting(trial, every), key=lambda each: -np.count_nonzero(each[1]))


def _acting(trial: Trial, every: Sequence[Tried]) -> list[Tried]:
    """Return the causes that give a wrong answer."""
    return [(cause, given) for cause, given in every if (given & ~trial.right).any()]


def _orders(trials: Sequence[Trial], pair: Pair) -> Iterator[Pair]:
    """Yield the orders in which two causes give all answers together: one, if it is no matter which
    of them comes first.
    """
    seen: set[Hashable] = set()
    for order in (pair, pair[::-1]):
        program = compile_wrong(trials[0].spec, trials[0].case, order)
        if program and program.meaning not in seen:
            if all(trial.is_given_by(program) for trial in trials):
                yield order
            seen.add(program.meaning)


def _complements(trial: Trial, every: Sequence[Tried]) -> Iterator[Pair]:
    """Yield the first pairs of causes of which one gives what the other does not: either a wrong
    answer.
    """
    if some := _acting(trial, every):
        missed = np.array([~given for _, given in some], np.float32)
        pairs = np.argwhere(np.triu(missed @ missed.T == 0, 1))
        yield from ((some[i][0], some[j][0]) for i, j in pairs[:_COMPLEMENTS].tolist())


def _promising_pairs(trial: Trial, every: Sequence[Tried]) -> Iterator[Pair]:
    """Yield the most promising causes with every other, the plainer one first."""
    place = {cause: n for n, (cause, _) in enumerate(every)}
    for first, given in _promising(trial, every)[:CLOSEST]:
        rest = sorted(every, key=lambda each: -np.count_nonzero(each[1] & ~given))
        for other, _ in rest:
            if other is not first:
                low, high = sorted((first, other), key=place.__getitem__)
                yield low, high


def coming_close(trial: Trial, every: Sequence[Tried]) -> list[Near]:
    """Return the causes that give a wrong answer, each with how many it gives, the most first."""
    found = _promising(trial, every)
    return [Near(cause.name, int(np.count_nonzero(given))) for cause, given in found]


def _trial(search: Search, vectors: VectorSet, answers: Answers, *, whole: bool) -> Trial | None:
    """Return what a cause has to give: None where nothing is wrong, an input was deadly, or other
    placements were answered otherwise, which no conversion of values does.
    """
    index = judged_ones(vectors, answers)
    if index is None or not len(index):
        return None
    spec = search.catalog.specs[vectors.case.spec]
    trial = Trial.of(spec, vectors, answers, index)
    if whole:
        trial = Trial.of(spec, vectors, answers, without_tail(index, trial.right))
    return None if trial.right.all() else trial


def _further(search: Search, trial: Trial, fits: tuple[Names, ...]) -> Bits:
    """Return inputs that tell apart what fits, and some on which the plainest is tried anew."""
    made = (compile_wrong(trial.spec, trial.case, search.named(names)) for names in fits)
    programs = [program for program in made if program]
    if not programs:
        return trial.points.bits[:0]
    telling = telling_inputs(trial.spec, trial.case, programs)
    seen, types = trial.points.bits, search.formats
    unseen = unseen_inputs(trial.spec, trial.case, programs[0], seen, types)
    return np.unique(np.concatenate([telling, unseen]))
