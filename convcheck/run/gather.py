"""Units of a plan, and their results put together to results of cases.

A unit is a case, or a part of one: of a case whose source is swept, its vectors in every
placement, and each of its spans.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from convcheck.run.result import FAILURES, VERDICTS, CaseResult, Group
from convcheck.run.tally import MAIN, Tally, finish, merge, promoted
from convcheck.semantics.expected import Decision
from convcheck.semantics.program import Program
from convcheck.spec.model import Case
from convcheck.vectors.inputs import beyond_edge
from convcheck.vectors.model import Coverage
from convcheck.vectors.span import PART, SAMPLED_PART, Span

Rules = Callable[[Case], tuple[Program, Decision]]


@dataclass(frozen=True)
class Unit:
    """A case by its vectors, or a span of it; and how many codes the case's spans have, or how
    many samples, where it is `sampled`.
    """

    case: Case
    span: Span | None = None
    codes: int = 0
    sampled: bool = False

    @property
    def id(self) -> str:
        """Name the unit."""
        return self.case.id if self.span is None else f"{self.case.id}#{self.span.first:x}"

    @property
    def main(self) -> str | None:
        """Say under which placement a tally has what all placements of the vectors share; None
        where there are no spans to put it together with.
        """
        if not self.codes:
            return None
        return "" if self.sampled else MAIN


def unit_ids(part: Part) -> list[str]:
    """Name all units of a part's case, in order."""
    firsts = range(0, part.codes, SAMPLED_PART if part.sampled else PART)
    return [part.case.id, *(f"{part.case.id}#{first:x}" for first in firsts)]


@dataclass(frozen=True)
class Part:
    """What there is of a case: a tally, or a result of its vectors that could not be tallied.

    `units` counts what was put together, of a case whose spans have so many `codes`, 0 for none.
    `lost` is what went wrong with a unit as a whole.
    """

    case: Case
    codes: int = 0
    sampled: bool = False
    vectors: CaseResult | None = None
    tally: Tally | None = None
    lost: CaseResult | None = None
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
        return found or self.lost is not None or (self.tally is not None and self.tally.failing)


def units(cases: Iterable[Case], spans: Callable[[Case], Sequence[Span]]) -> list[Unit]:
    """Give the units of cases, in order."""
    found = []
    for case in cases:
        parts = spans(case)
        codes = sum(span.count for span in parts)
        sampled = any(span.seed is not None for span in parts)
        found += [Unit(case, span, codes, sampled) for span in (None, *parts)]
    return found


def joined(parts: Sequence[Part]) -> Part:
    """Put parts of a case together, in any order."""
    tallies = [part.tally for part in parts if part.tally is not None]
    lost = [part.lost for part in parts if part.lost is not None]
    return replace(
        parts[0],
        vectors=next((part.vectors for part in parts if part.vectors is not None), None),
        tally=merge(tallies) if tallies else None,
        lost=min(lost, key=lambda r: (VERDICTS.index(r.verdict), r.message), default=None),
        units=sum(part.units for part in parts),
    )


def part_of(unit: Unit, found: CaseResult | Tally) -> Part:
    """Make a part of a unit's result."""
    part = Part(unit.case, unit.codes, unit.sampled)
    if isinstance(found, Tally):
        return replace(part, tally=found)
    if unit.codes and found.verdict in FAILURES and not found.groups:
        return replace(part, lost=found)
    return replace(part, vectors=found)


def result_of(part: Part, rules: Rules) -> CaseResult:
    """Give the case's result as far as it is known."""
    tally = part.tally
    if tally is None or not tally.answered:
        return part.lost or part.vectors or CaseResult(part.case, "unsupported", 0, "partial", ())
    program, form = rules(part.case)
    others = _declined(part, tally, form)
    coverage = _coverage(part, tally)
    result = finish(part.case, program.decisions, promoted(tally), coverage, others)
    if part.lost is not None:
        return replace(result, verdict="error", message=part.lost.message)
    return result


def _coverage(part: Part, tally: Tally) -> Coverage:
    asked = sum(tally.asked.values())
    if not part.complete or part.lost is not None or tally.declined or asked < part.codes:
        return "partial"
    target = part.case.outputs[0].format
    if part.sampled:
        return beyond_edge(target)
    return "exhaustive"


def _declined(part: Part, tally: Tally, form: Decision) -> tuple[Group, ...]:
    """What is declined of a case that is answered elsewhere is refused, and nobody's to refuse."""
    accepted = part.case.refusal or (part.vectors and part.vectors.verdict != "unsupported")
    if accepted or not (tally.declined or part.vectors):
        return ()
    what = f"{tally.declined:,} inputs" if tally.declined else "the case's vectors"
    said = f"declined {what}, and answered others of the case"
    return (Group(form, "refused", said, 1, 1, ""),)


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
