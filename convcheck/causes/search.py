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
from convcheck.causes.trial import Key, Trial, Tried
from convcheck.judge.answers import CRASHED, NOT_ASKED, REFUSED, Answers, CallAnswers
from convcheck.judge.refusals import is_accepted
from convcheck.judge.result import CaseDiagnosis, Names, Near
from convcheck.numerics.format import Codes
from convcheck.rules.causes import Cause
from convcheck.rules.load import Catalog
from convcheck.rules.model import Spec
from convcheck.semantics.evaluate import evaluate, points_of
from convcheck.semantics.expected import UNDEFINED
from convcheck.semantics.wrong import compile_wrong
from convcheck.vectors.model import CallSet, Vectors, VectorSet

_CLOSEST = 3  # causes that are told of a case which nothing explains, and tried with every other
Ask = Callable[[Codes], Codes | None]  # answers to inputs; None where there are none
_PAIRED = 6  # causes that are tried with others, and others that are tried with each


@dataclass
class Search:
    """The causes that are tried, and what was found of cases like the one at hand."""

    causes: tuple[Cause, ...]
    catalog: Catalog
    #: What was asked and answered -> what explains it.
    found: dict[Key, CaseDiagnosis] = field(default_factory=dict)

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
    trial = _trial(spec, vectors, cast(Answers, answers))
    if trial is None:
        return None
    if trial.key not in search.found:
        search.found[trial.key] = _diagnosed(search, trial, ask)
    return search.found[trial.key]


def _diagnosed(search: Search, trial: Trial, ask: Ask | None) -> CaseDiagnosis:
    tried = trial.tried(search.causes)
    alone = _alone(tried)
    more = _more(search, trial, alone, ask)
    fits = _left(search, more, alone) or _left(search, more, _together(trial, tried))
    near = () if fits else _near(trial, tried)
    return CaseDiagnosis(len(trial.points.bits), int((~trial.right).sum()), fits, near)


def _trial(spec: Spec, vectors: VectorSet, answers: Answers) -> Trial | None:
    """Return what a cause has to give: None where nothing is wrong, an input was deadly, or other
    placements were answered otherwise, which no conversion of values does.
    """
    readings = vectors.expected.readings
    free = reduce(np.logical_or, (r.patterns == UNDEFINED for r in readings))
    free |= is_accepted(vectors.case) & (answers.state == REFUSED)
    index = np.flatnonzero(~free & (answers.state != NOT_ASKED))
    if not len(index) or answers.declined or answers.faults:
        return None
    elsewhere = any(np.isin(other.index, index).any() for other in answers.elsewhere)
    if elsewhere or (answers.state[index] == CRASHED).any():
        return None
    trial = Trial.of(spec, vectors, answers, index)
    return None if trial.right.all() else trial


def _explained(trial: Trial, causes: Sequence[Cause]) -> bool:
    """Return whether causes give all answers together."""
    given = trial.given_by(causes)
    return given is not None and bool(given.all())


def _left(search: Search, trial: Trial, fits: tuple[Names, ...]) -> tuple[Names, ...]:
    """Return those of some causes that give all answers."""
    return tuple(names for names in fits if _explained(trial, search.named(names)))


def _alone(tried: Sequence[Tried]) -> tuple[Names, ...]:
    """Return every cause that gives all answers by itself."""
    return tuple((cause.name,) for cause, given in tried if given.all())


def _promising(trial: Trial, tried: Sequence[Tried]) -> list[Tried]:
    """Return the causes that give a wrong answer, those first that give the most of all."""
    some = [(cause, given) for cause, given in tried if (given & ~trial.right).any()]
    return sorted(some, key=lambda each: -np.count_nonzero(each[1]))


def _together(trial: Trial, tried: Sequence[Tried]) -> tuple[Names, ...]:
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
                    if other is not first and _explained(trial, pair):
                        return (tuple(cause.name for cause in pair),)
    return ()


def _more(search: Search, trial: Trial, fits: tuple[Names, ...], ask: Ask | None) -> Trial:
    """Return what a backend answers to inputs that tell apart what fits; without such inputs, or
    without an answer, the trial that it was.
    """
    programs = (compile_wrong(trial.spec, trial.case, search.named(names)) for names in fits)
    inputs = telling_inputs(trial.spec, trial.case, [each for each in programs if each])
    got = ask(inputs) if ask and len(inputs) else None
    if got is None:
        return trial
    none = np.zeros(len(inputs), bool)
    due = evaluate(trial.spec, trial.case, inputs).readings
    return Trial(trial.spec, trial.case, points_of(trial.case, inputs), got, none, due)


def _near(trial: Trial, tried: Sequence[Tried]) -> tuple[Near, ...]:
    found = _promising(trial, tried)[:_CLOSEST]
    return tuple(Near(cause.name, int(np.count_nonzero(given))) for cause, given in found)
