"""Score specs by the mutants that their vectors catch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from convcheck.rules.causes import Cause
from convcheck.rules.model import Case


@dataclass(frozen=True)
class Mutant:
    """A cause planted in a case, where it is observable."""

    case: Case
    cause: Cause
    #: the number of vectors, or of calls, that catch it
    caught: int
    #: an input that shows it, if no vector does
    witness: str | None = None

    @property
    def says(self) -> str:
        """What the cause does otherwise than the rules."""
        return self.cause.says


@dataclass(frozen=True)
class Score:
    """How many mutants the vectors of a spec catch."""

    spec: str
    cases: int
    #: the number of observable mutants
    observable: int
    #: mutants that no vector catches
    missed: tuple[Mutant, ...]
    #: for each cause the mutant with the fewest catches, sorted
    weakest: tuple[Mutant, ...]

    @property
    def caught(self) -> int:
        """The number of mutants that a vector catches."""
        return self.observable - len(self.missed)


def scores(planted: Iterable[tuple[Case, Sequence[Mutant]]], cases: Iterable[Case]) -> list[Score]:
    """Return the score of each spec, in the order of the cases."""
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
