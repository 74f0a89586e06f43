"""Diagnoses of cases -> the few causes of a run.

Mostly several causes give all answers of a case. Told are as few as explain every case that can be
explained: first the cause of most cases, then that of most others, and so on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from convcheck.causes.model import CaseDiagnosis, Names, diagnosis_of
from convcheck.judge.result import FAILURES, CaseResult
from convcheck.rules.causes import Cause


@dataclass(frozen=True)
class Explanation:
    """A cause, or two together, with the cases that it explains."""

    #: The causes that are at work together, mostly one.
    causes: tuple[Cause, ...]
    #: In the order of the plan.
    cases: tuple[CaseDiagnosis, ...]
    #: What gives all answers of all of these cases as well: no input that was asked tells them
    #: apart.
    others: tuple[tuple[Cause, ...], ...]

    @property
    def answers(self) -> int:
        """How many answers it gives: all that a rule decides, in all of its cases."""
        return sum(case.answers for case in self.cases)

    @property
    def wrong(self) -> int:
        """How many of these answers are wrong."""
        return sum(case.wrong for case in self.cases)


@dataclass(frozen=True)
class Diagnosis:
    """What the causes of a run are."""

    #: That of most cases first.
    explanations: tuple[Explanation, ...]
    #: The cases that fail and that nothing explains.
    unexplained: tuple[CaseDiagnosis, ...]
    #: How many cases were judged.
    judged: int

    @property
    def failing(self) -> int:
        """How many cases fail."""
        return self.explained + len(self.unexplained)

    @property
    def explained(self) -> int:
        """How many of the cases that fail are explained."""
        return sum(len(one.cases) for one in self.explanations)


def gathered(results: Sequence[CaseResult], causes: Sequence[Cause]) -> Diagnosis:
    """Return the causes of a run, given what is told of each of its cases; of one that its backend
    did not survive there is only the result.
    """
    by_name = {cause.name: cause for cause in causes}
    order = {name: place for place, name in enumerate(by_name)}
    failing = [diagnosis_of(result) for result in results if result.verdict in FAILURES]
    left = {result.case.id: result for result in failing if result.fits}
    found: list[Explanation] = []
    while left:
        names = _most(left, order)
        mine = [result for result in left.values() if names in result.fits]
        others = [fit for fit in mine[0].fits if fit != names and all(fit in m.fits for m in mine)]
        found.append(
            Explanation(
                tuple(by_name[name] for name in names),
                tuple(mine),
                tuple(tuple(by_name[name] for name in fit) for fit in others),
            )
        )
        left = {key: result for key, result in left.items() if names not in result.fits}
    judged = sum(result.verdict not in ("unsupported", "undefined") for result in results)
    unexplained = tuple(result for result in failing if not result.fits)
    return Diagnosis(tuple(found), unexplained, judged)


def _most(left: Mapping[str, CaseDiagnosis], order: Mapping[str, int]) -> Names:
    """Return what explains most cases; of several the plainest: the fewest, then the first."""
    counts: dict[Names, int] = {}
    for result in left.values():
        for names in result.fits:
            counts[names] = counts.get(names, 0) + 1
    return min(counts, key=lambda names: (-counts[names], len(names), [order[n] for n in names]))
