"""Split cases into units of work, and merge the results."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from typing import TypeVar

from convcheck.judge.result import FAILURES, VERDICTS, CaseResult, Group, Part, Tally
from convcheck.judge.tally import MAIN, finish, finish_whole, merge, promoted
from convcheck.records import replace
from convcheck.rules.model import Case, Level, op_and_version, version_key
from convcheck.semantics.expected import Decision
from convcheck.semantics.program import Program
from convcheck.streams import plural
from convcheck.vectors.corpus import Span
from convcheck.vectors.inputs import beyond_edge
from convcheck.vectors.model import Coverage

Rules = Callable[[Case], tuple[Program, Decision]]


@dataclass(frozen=True)
class Unit:
    """A case with its vectors, or a span of it. `codes`: those of its spans, or samples."""

    case: Case
    span: Span | None = None
    codes: int = 0
    sampled: bool = False
    #: Later versions of the operator in this run, in any shard, latest first. None: the case gets
    #: no large or many calls.
    later: tuple[Case, ...] | None = None

    @property
    def id(self) -> str:
        """The id of the unit."""
        return _name(self.case, self.span.first if self.span else None)

    @property
    def main(self) -> str | None:
        """The placement of vectors' tallies, if the case has spans."""
        if not self.codes:
            return None
        return "" if self.sampled else MAIN


def unit_ids(part: Part) -> list[str]:
    """Return the ids of all units of a part's case, in order."""
    return [_name(part.case), *(_name(part.case, first) for first in part.firsts)]


def _name(case: Case, first: int | None = None) -> str:
    return case.id if first is None else f"{case.id}#{first:x}"


def units(cases: Iterable[Case], spans: Callable[[Case], Sequence[Span]]) -> list[Unit]:
    """Return the units of cases, in order."""
    cases = list(cases)
    found, later = [], later_versions(cases)
    for case in cases:
        parts = spans(case)
        codes = sum(span.count for span in parts)
        sampled = any(span.seed is not None for span in parts)
        found += [Unit(case, span, codes, sampled, later[case.id]) for span in (None, *parts)]
    return found


def later_versions(cases: Iterable[Case]) -> dict[str, tuple[Case, ...]]:
    """Return the cases of later versions with the same vectors, by case id, latest first."""
    alike: dict[tuple[str, str], list[Case]] = {}
    cases = list(cases)
    numbers = {name: version_key(op_and_version(name)[1]) for name in {c.spec for c in cases}}
    for case in cases:
        alike.setdefault((case.op, case.question), []).append(case)
    found: dict[str, tuple[Case, ...]] = {}
    for versions in alike.values():
        versions.sort(key=lambda case: numbers[case.spec], reverse=True)
        found |= {case.id: tuple(versions[:i]) for i, case in enumerate(versions)}
    return found


def joined(parts: Sequence[Part]) -> Part:
    """Merge parts of a case, in any order."""
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
    """Return a unit's part. Finishes the tally of a whole case."""
    if isinstance(found, Tally):
        if found.whole is None:
            return Part(unit.case, unit.codes, unit.sampled, tally=found)
        found = finish_whole(unit.case, found)
    if unit.codes and found.verdict in FAILURES and not found.groups:
        return Part(unit.case, unit.codes, unit.sampled, lost=found)
    return Part(unit.case, unit.codes, unit.sampled, found)


def result_of(part: Part, rules: Rules) -> CaseResult:
    """Return the case's result as far as it is known."""
    tally = part.tally
    if tally is None or not tally.answered:
        return part.lost or part.vectors or CaseResult(part.case, "unsupported", 0, "partial", ())
    others = _declined(part, tally, rules(part.case)[1])
    # span inputs unaccounted for
    missing = part.codes - (sum(tally.asked.values()) - tally.vectors) - tally.declined
    coverage: Coverage = "partial"
    if part.complete and not (part.lost or part.vectors or tally.declined or missing):
        coverage = beyond_edge(part.case.outputs[0].format) if part.sampled else "exhaustive"
    result = finish(part.case, promoted(tally), coverage, others)
    error = part.lost.message if part.lost else ""
    if not part.lost and part.complete and missing and result.verdict not in FAILURES:
        share = f"{missing:,} of {plural(part.codes, 'input')}"
        error = f"{share} are unaccounted for: a damaged file or an internal error"
    lost = replace(result, verdict="error", message=error, diagnosis=None)
    return lost if error else result


def _declined(part: Part, tally: Tally, form: Decision) -> tuple[Group, ...]:
    """Return a refusal if only some inputs were declined."""
    accepted = part.case.refusal or (part.vectors and part.vectors.verdict != "unsupported")
    if accepted or not (tally.declined or part.vectors):
        return ()
    what = plural(tally.declined, "input") if tally.declined else "the case's vectors"
    said = f"declined {what}, and answered others of the case"
    return (Group(form, "refused", said, 1, 1, "", placement="bulk"),)


class Gathering:
    """Collects the parts of cases, in a run gated at a level."""

    def __init__(self, plan: Sequence[Unit], rules: Rules, level: Level = "disputed") -> None:
        self._rules, self._level = rules, level
        self._parts: dict[str, Part] = {}
        self._failing: set[str] = set()
        self._order = {unit.case.id: unit.case for unit in plan}

    def add(self, part: Part) -> None:
        """Add a part."""
        name = part.case.id
        before = self._parts.get(name)
        now = self._parts[name] = part if before is None else joined([before, part])
        if name in self._failing or not now.failing:
            return
        if result_of(now, self._rules).gates(self._level):
            self._failing.add(name)

    @property
    def failing(self) -> int:
        """The number of cases that fail the run."""
        return len(self._failing)

    def results(self) -> tuple[CaseResult, ...]:
        """Return the cases' results in order, as far as they are known."""
        return tuple(result_of(part, self._rules) for part in self._known())

    def parts(self, shard: bool) -> tuple[Part, ...]:
        """Return parts of incomplete cases, and in a shard of all cases with spans."""
        return tuple(p for p in self._known() if not p.complete or (shard and p.codes))

    def _known(self) -> list[Part]:
        return [self._parts[name] for name in self._order if name in self._parts]


T = TypeVar("T")
Alike = Callable[[T], str]  # key of a hand; '' for a hand of one


def hand_of(name: str) -> str:
    """Return the part of a case id before its attribute values."""
    return "/".join(name.split("/")[:2])


def deal(plan: Sequence[T], alike: Alike[T], of: int) -> list[list[T]]:
    """Return the parts of `of` shards, hand by hand, or one by one if that loses the order."""
    hands = list(_hands(plan, alike))
    dealt = [list(chain.from_iterable(hands[index::of])) for index in range(of)]
    if len(hands) >= of and _by_hands(dealt, alike) == list(plan):
        return dealt
    return [list(plan[index::of]) for index in range(of)]


def put_together(
    dealt: Sequence[Sequence[T]], alike: Alike[T], is_plan: Callable[[list[T]], bool]
) -> list[T] | None:
    """Merge all shards in the order that `is_plan` accepts, if any."""
    either = (_by_hands(dealt, alike), _one_by_one(dealt))
    return next(filter(is_plan, either), None)


def plan_digest(ids: Sequence[str]) -> str:
    """Return a 128-bit hash of the case ids of a plan."""
    return hashlib.sha256("\n".join(ids).encode()).hexdigest()[:32]


def _by_hands(dealt: Sequence[Sequence[T]], alike: Alike[T]) -> list[T]:
    hands = _one_by_one([list(_hands(part, alike)) for part in dealt])
    return list(chain.from_iterable(hands))


def _one_by_one(dealt: Sequence[Sequence[T]]) -> list[T]:
    return [one for turn in zip_longest(*dealt) for one in turn if one is not None]


def _hands(plan: Sequence[T], alike: Alike[T]) -> Iterator[list[T]]:
    hand: list[T] = []
    for one in plan:
        if hand and not (alike(one) and alike(one) == alike(hand[0])):
            yield hand
            hand = []
        hand.append(one)
    if hand:
        yield hand
