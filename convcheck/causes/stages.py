"""The stages of the search for causes: each cause alone, two found together, then any two."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from itertools import islice

import numpy as np

from convcheck.causes.trial import Pair, Trial, Tried, Tries
from convcheck.judge.result import Names, Near
from convcheck.rules.causes import Cause
from convcheck.rules.model import Case
from convcheck.semantics.wrong import compile_wrong

CLOSEST = 3  # causes that are told of a case which nothing explains, and tried with every other
_PAIRS = 4  # pairs that are told apart
_COMPLEMENTS = 40  # pairs that are tried since one gives what the other does not


def _alone(tries: Tries, trials: Sequence[Trial]) -> tuple[Names, ...]:
    """Return the causes that give all answers of trials, each by itself."""
    first, *more = trials
    return tuple((cause.name,) for cause in tries.alone(first) if explained(more, (cause,)))


def _found_together(tries: Tries, trials: Sequence[Trial]) -> tuple[Names, ...]:
    """Return the pairs that give all answers of trials, of those that were found somewhere."""
    spec, case = trials[0].spec, trials[0].case
    few, fits = trials[0].few_wrong(), list[Names]()
    for pair in tries.pairs:
        program = compile_wrong(spec, case, pair) if _apply(pair, case) else None
        if program and all(trial.is_given_by(program) for trial in (few, *trials)):
            fits.append(tuple(cause.name for cause in pair))
    return tuple(fits)


def _apply(pair: Pair, case: Case) -> bool:
    """Return whether two causes apply to a case, whose attributes have other values than these."""
    given = dict(case.attributes)
    other = all(given.get(name, value) != value for cause in pair for name, value in cause.under)
    return other and all(cause.applies_to(case) for cause in pair)


def _together(tries: Tries, trials: Sequence[Trial]) -> tuple[Names, ...]:
    """Return the first few pairs of causes that give all answers together, of all trials.

    First those are tried that miss no answer both; then, since one may change what the other does,
    the most promising ones with every other. The plainer one comes first, unless they explain the
    answers only the other way round.
    """
    tried = tries.of(trials[0])
    few = trials[0].few_wrong()
    for pairs in (_complements(trials[0], tried), _promising_pairs(trials[0], tried)):
        orders = (each for pair in pairs for each in islice(_orders([few, *trials], pair), 1))
        if found := dict.fromkeys(islice(orders, _PAIRS)):
            return tuple(tuple(cause.name for cause in order) for order in found)
    return ()


def _promising(trial: Trial, tried: Sequence[Tried]) -> list[Tried]:
    """Return the causes that give a wrong answer, those first that give the most of all."""
    return sorted(_acting(trial, tried), key=lambda each: -np.count_nonzero(each[1]))


def _acting(trial: Trial, tried: Sequence[Tried]) -> list[Tried]:
    """Return the causes that give a wrong answer."""
    return [(cause, given) for cause, given in tried if (given & ~trial.right).any()]


def _orders(trials: Sequence[Trial], pair: Pair) -> Iterator[Pair]:
    """Yield the orders in which two causes give all answers together: one, if it is no matter which
    of them comes first.
    """
    spec, case = trials[0].spec, trials[0].case
    tried: set[Hashable] = set()
    for order in (pair, pair[::-1]):
        program = compile_wrong(spec, case, order)
        if program and program.meaning not in tried:
            if all(trial.is_given_by(program) for trial in trials):
                yield order
            tried.add(program.meaning)


def _complements(trial: Trial, tried: Sequence[Tried]) -> Iterator[Pair]:
    """Yield the first pairs of causes of which one gives what the other does not: either a wrong
    answer.
    """
    if some := _acting(trial, tried):
        missed = np.array([~given for _, given in some], np.float32)
        pairs = np.argwhere(np.triu(missed @ missed.T == 0, 1))
        yield from ((some[i][0], some[j][0]) for i, j in pairs[:_COMPLEMENTS].tolist())


def _promising_pairs(trial: Trial, tried: Sequence[Tried]) -> Iterator[Pair]:
    """Yield the most promising causes with every other, the plainer one first."""
    place = {cause: n for n, (cause, _) in enumerate(tried)}
    for first, given in _promising(trial, tried)[:CLOSEST]:
        rest = sorted(tried, key=lambda each: -np.count_nonzero(each[1] & ~given))
        for other, _ in rest:
            if other is not first:
                low, high = sorted((first, other), key=place.__getitem__)
                yield low, high


def explained(trials: Sequence[Trial], causes: Sequence[Cause]) -> bool:
    """Return whether causes give all answers of trials together."""
    made = ((trial, trial.said_by(causes)) for trial in trials)
    return all(said is not None and trial.are_as(said) for trial, said in made)


def coming_close(tries: Tries, trial: Trial) -> list[Near]:
    """Return the causes that give a wrong answer, each with how many it gives, the most first."""
    found = _promising(trial, tries.of(trial))
    return [Near(cause.name, int(np.count_nonzero(given))) for cause, given in found]


STAGES = (_alone, _found_together, _together)  # each is tried if none before it explains
