"""Combine the surveys of several backends, and describe them with few laws."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import cast

import numpy as np

from convcheck.causes.gather import cover
from convcheck.judge.answers import ANSWERED
from convcheck.judge.result import (
    Answered,
    CallExample,
    CaseResult,
    RunResult,
    Sample,
    Shown,
    Surveyed,
)
from convcheck.plan.runner import Turn
from convcheck.rules.model import Case
from convcheck.semantics.expected import Decision

SOME = "some"  # the kind of input if a backend answers a row in part
REFUSES, CRASHES, UNSUPPORTED, MALFORMED = "refuses", "crashes", "unsupported", "malformed answers"
_MOST = 4  # laws per kind of input that are combined

Told = tuple[tuple[str, str], ...]  # (kind of input or '' for all, law or '') pairs
Telling = list[tuple[Told, list[Case]]]


@dataclass(frozen=True)
class AnswerDifference:
    """A case with different answers from the backends.

    `answers` has an entry per backend, None if untested; it is empty for a difference outside the
    sample. `inputs` counts differences in the sample.
    """

    case: Case
    answers: tuple[Shown | None, ...]
    inputs: int

    @property
    def clear(self) -> tuple[bool, bool]:
        """Sort key: whether two backends answered, whether one did."""
        answered = [a for a in self.answers if a is not None and a.got is not None]
        return len(answered) > 1, bool(answered)


@dataclass(frozen=True)
class SurveyRow:
    """A row of a spec with each backend's behaviour in each case."""

    decision: Decision
    #: By case, with an entry for each backend that was tested, else None.
    answers: Mapping[Case, Sequence[Surveyed | None]]

    def of(self, backend: int) -> dict[Case, Surveyed]:
        """Return one backend's results by case."""
        return {case: one for case, here in self.answers.items() if (one := here[backend])}

    @property
    def compared(self) -> int:
        """The number of cases that at least two backends answered."""
        return sum(len(_answered(here)) > 1 for here in self.answers.values())

    @cached_property
    def differences(self) -> tuple[AnswerDifference, ...]:
        """The cases with different answers."""
        made = []
        for case, here in self.answers.items():
            answered = _answered(here)
            if len({one.digest for one in answered}) > 1:
                found = _unlike([one.sample for one in answered])
                samples = [one.sample if one is not None and one.digest else None for one in here]
                shown = [None if s is None else s[found[0]] for s in samples] if found else []
                made.append(AnswerDifference(case, tuple(shown), len(found)))
        return tuple(made)


def _answered(here: Sequence[Surveyed | None]) -> list[Surveyed]:
    return [one for one in here if one is not None and one.digest]


@dataclass(frozen=True)
class Survey:
    """The surveys of several backends, side by side."""

    columns: tuple[Turn, ...]

    @cached_property
    def rows(self) -> tuple[SurveyRow, ...]:
        """The rows that at least one backend answered."""
        return collect([column.run.cases if column.run else () for column in self.columns])

    @property
    def runs(self) -> list[RunResult]:
        """The runs of the backends that started."""
        return [column.run for column in self.columns if column.run]

    @property
    def notes(self) -> list[str]:
        """Notes of the runs, and cases that could not be surveyed."""
        said = {note for run in self.runs for note in run.notes}
        for column in self.columns:
            for lost in column.run.cases if column.run else ():
                if lost.verdict != "undefined":
                    about = f"{lost.case.id} could not be surveyed, {lost.verdict}"
                    said.add(f"{column.address}: {about}: {lost.message}")
        return sorted(said)

    @property
    def interrupted(self) -> bool:
        """Whether a run was interrupted."""
        return any(run.interrupted for run in self.runs)


def _unlike(samples: Sequence[Sample]) -> list[int]:
    arrays = [s for s in samples if isinstance(s, Answered)]
    if len(arrays) < len(samples):
        lists = [cast(tuple[CallExample, ...], s) for s in samples]
        same = range(min(map(len, lists), default=0))
        found = [i for i in same if len({s[i].got for s in lists}) > 1]
        return sorted(found, key=lambda i: any(s[i].got is None for s in lists))
    if not arrays or len({len(s) for s in arrays}) > 1:
        return []
    first, differ = arrays[0], np.zeros(len(arrays[0]), bool)
    silent = np.zeros(len(first), bool)
    for other in arrays:
        quiet = other.state != ANSWERED
        differ |= (other.state != first.state) | (~quiet & np.asarray(other.got != first.got, bool))
        silent |= quiet
    return [*np.flatnonzero(differ & ~silent).tolist(), *np.flatnonzero(differ & silent).tolist()]


def collect(results: Sequence[Sequence[CaseResult]]) -> tuple[SurveyRow, ...]:
    """Combine the results of several backends by row, without rows that no backend answered.

    A row that several versions of an operator share counts once.
    """
    rows: dict[tuple[str, ...], dict[Case, list[Surveyed | None]]] = {}
    first: dict[tuple[str, ...], Decision] = {}
    for backend, cases in enumerate(results):
        for result in cases:
            for found in result.rows:
                by = found.decision
                key = (result.case.op, by.rule, by.row, by.level, by.cite)
                first.setdefault(key, by)
                here = rows.setdefault(key, {}).setdefault(result.case, [None] * len(results))
                here[backend] = found
    return tuple(
        SurveyRow(first[key], found)
        for key, found in rows.items()
        if any(one and one.asked and not one.unsupported for here in found.values() for one in here)
    )


def tell(found: Sequence[Mapping[Case, Surveyed]]) -> list[Telling]:
    """Describe each backend's behaviour with few laws, the law of most cases first.

    Backends share descriptions, unless one needs fewer laws by itself.
    """
    ways = {(b, c): _tellings(one) for b, cases in enumerate(found) for c, one in cases.items()}

    def rank(told: Told, count: int) -> tuple[int, int]:
        laws = [law for _, law in told]
        answerless = [[REFUSES], [UNSUPPORTED]]
        group = 2 + answerless.index(laws) if laws in answerless else int(not all(laws))
        return group, -count

    shared = list(cover(ways, rank))
    told = []
    for backend, _ in enumerate(found):
        mine = {key: each for key, each in ways.items() if key[0] == backend}
        alone = list(cover(mine, rank))
        among = [(telling, [key for key in keys if key[0] == backend]) for telling, keys in shared]
        among = [(telling, keys) for telling, keys in among if keys]
        best = alone if len(alone) < len(among) else among
        told.append([(telling, [case for _, case in keys]) for telling, keys in best])
    return told


def _tellings(one: Surveyed) -> tuple[Told, ...]:
    if one.unsupported:
        return ((("", UNSUPPORTED),),)
    if not one.asked:
        return ((("", MALFORMED),),)
    silent = tuple(word for word, n in ((REFUSES, one.refused), (CRASHES, one.crashed)) if n)
    if not one.fits:
        return (tuple(("" if len(silent) == 1 else SOME, word) for word in silent),)
    most = _MOST if len(one.fits) > 1 else None
    ways = product(*([(kind, law) for law in laws[:most] or ("",)] for kind, laws in one.fits))
    before = tuple((SOME, word) for word in silent)
    return tuple((*before, *way) for way in ways)
