"""Units of a plan, and their results put together to results of cases.

A unit is a case, or a part of one: of a case whose source is swept, its vectors in every
placement, and each of its spans.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from convcheck.run.answers import PLACEMENTS
from convcheck.run.result import FAILURES, CaseResult
from convcheck.run.tally import Tally, finish, merge
from convcheck.semantics.expected import Decision
from convcheck.semantics.program import Program
from convcheck.spec.model import Case
from convcheck.vectors.model import Coverage
from convcheck.vectors.span import PART, Span

Rules = Callable[[Case], tuple[Program, Decision]]
_EVERYWHERE = PLACEMENTS[:3]  # not of one placement: what the sweep finds too


@dataclass(frozen=True)
class Unit:
    """A case by its vectors, or a span of it; and how many codes the case's spans have."""

    case: Case
    span: Span | None = None
    codes: int = 0

    @property
    def id(self) -> str:
        """Name the unit."""
        return self.case.id if self.span is None else f"{self.case.id}#{self.span.first:x}"


def unit_ids(part: Part) -> list[str]:
    """Name all units of a part's case, in order."""
    firsts = range(0, part.codes, PART)
    return [part.case.id, *(f"{part.case.id}#{first:x}" for first in firsts)]


@dataclass(frozen=True)
class Part:
    """What there is of a case: the result of its vectors, and a tally of its spans, if any.

    `units` counts what was put together, of a case whose spans have so many `codes`, 0 for none.
    """

    case: Case
    codes: int = 0
    vectors: CaseResult | None = None
    tally: Tally | None = None
    units: int = 1
    decisions: tuple[Decision, ...] = ()  # those of the tally

    @property
    def complete(self) -> bool:
        """Tell whether every unit of the case is there."""
        return self.units == len(unit_ids(self))

    @property
    def failing(self) -> bool:
        """Tell whether a failure was found already."""
        found = self.vectors is not None and self.vectors.verdict in FAILURES
        return found or (self.tally is not None and self.tally.failing)


def units(cases: Iterable[Case], spans: Callable[[Case], Sequence[Span]]) -> list[Unit]:
    """Give the units of cases, in order."""
    found = []
    for case in cases:
        parts = spans(case)
        codes = sum(span.count for span in parts)
        found += [Unit(case, None, codes), *(Unit(case, span, codes) for span in parts)]
    return found


def joined(parts: Sequence[Part]) -> Part:
    """Put parts of a case together, in any order."""
    tallies = [part.tally for part in parts if part.tally is not None]
    vectors = [part.vectors for part in parts if part.vectors is not None]
    gravest = min(vectors, key=lambda v: v.verdict != "error", default=None)
    return Part(
        parts[0].case, parts[0].codes, gravest,
        merge(tallies) if tallies else None, sum(part.units for part in parts),
    )  # fmt: skip


def part_of(unit: Unit, found: CaseResult | Tally) -> Part:
    """Make a part of a unit's result."""
    if isinstance(found, CaseResult):  # in the place of a tally, it says what went wrong
        return Part(unit.case, unit.codes, found)
    return Part(unit.case, unit.codes, None, found)


def result_of(part: Part, rules: Rules) -> CaseResult:
    """Give the case's result as far as it is known."""
    nothing = part.tally is None or not (part.tally.asked or part.tally.faults)
    if part.vectors is not None and (nothing or part.vectors.verdict in ("error", "unsupported")):
        return part.vectors
    if part.tally is None or nothing:
        return CaseResult(part.case, "unsupported", 0, "partial", ())
    program, _ = rules(part.case)
    others = part.vectors.groups if part.vectors else ()
    placed = tuple(group for group in others if group.placement not in _EVERYWHERE)
    covered = sum(last + 1 - first for first, last in part.tally.covered)
    coverage: Coverage = "exhaustive" if covered == part.codes else "partial"
    return finish(part.case, program.decisions, part.tally, coverage, placed)


class Gathering:
    """The parts of cases as they come."""

    def __init__(self, plan: Sequence[Unit], rules: Rules) -> None:
        self._rules = rules
        self._parts: dict[str, Part] = {}
        self._failing: set[str] = set()
        self._order = {unit.case.id: unit.case for unit in plan}

    def add(self, part: Part) -> bool:
        """Add a part; tell whether it was the last of its case."""
        before = self._parts.get(part.case.id)
        now = part if before is None else joined([before, part])
        self._parts[part.case.id] = now
        if part.failing:
            self._failing.add(part.case.id)
        return now.complete

    @property
    def failing(self) -> int:
        """Count the cases in which a failure was found."""
        return len(self._failing)

    def results(self) -> tuple[CaseResult, ...]:
        """Give the results of cases in order, as far as they are known."""
        return tuple(result_of(part, self._rules) for part in self._known())

    def parts(self) -> tuple[Part, ...]:
        """Give, in order, what there is of cases that have not all of theirs."""
        left = (part for part in self._known() if not part.complete)
        return tuple(replace(p, decisions=self._rules(p.case)[0].decisions) for p in left)

    def _known(self) -> list[Part]:
        return [self._parts[name] for name in self._order if name in self._parts]
