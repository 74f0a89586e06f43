"""Mutants of cases -> what each spec's vectors catch, and what they catch only just."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from convcheck.rules.causes import Cause
from convcheck.rules.model import Case


@dataclass(frozen=True)
class Mutant:
    """A cause planted in a case, where it can be observed."""

    #: The case.
    case: Case
    #: The cause.
    cause: Cause
    #: How many vectors catch it; of whole calls, how many calls.
    caught: int
    #: An input that shows it, in words, where no vector does.
    witness: str | None = None


@dataclass(frozen=True)
class Score:
    """How many wrong conversions the vectors of a spec catch."""

    #: The spec's id.
    spec: str
    #: How many of its cases were looked at.
    cases: int
    #: How many mutants can be observed.
    observable: int
    #: Those that no vector catches.
    missed: tuple[Mutant, ...]
    #: Of each cause the mutant that the fewest vectors catch, that of the fewest first.
    weakest: tuple[Mutant, ...]

    @property
    def caught(self) -> int:
        """How many mutants some vector catches."""
        return self.observable - len(self.missed)


def scores(planted: Iterable[tuple[Case, Sequence[Mutant]]], cases: Iterable[Case]) -> list[Score]:
    """Return the score of each spec that some cases are of, in the order of the cases."""
    of: dict[str, list[Mutant]] = {}
    counts: dict[str, int] = {}
    for case in cases:
        of[case.spec], counts[case.spec] = [], counts.get(case.spec, 0) + 1
    for case, found in planted:
        of[case.spec] += found
    return [_score(spec, counts[spec], found) for spec, found in of.items()]


def _score(spec: str, cases: int, found: Sequence[Mutant]) -> Score:
    least: dict[str, Mutant] = {}
    for mutant in sorted((m for m in found if m.caught), key=lambda m: m.caught):
        least.setdefault(mutant.cause.name, mutant)
    missed = tuple(mutant for mutant in found if not mutant.caught)
    return Score(spec, cases, len(found), missed, tuple(least.values()))
