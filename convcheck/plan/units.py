"""Split cases into units of work, and merge the results."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from typing import TypeVar

from convcheck.causes.gather import names_told
from convcheck.errors import UsageError
from convcheck.judge.result import (
    FAILURES,
    VERDICTS,
    CaseResult,
    Group,
    Part,
    RunResult,
    Shard,
    Tally,
)
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


Named = Sequence[tuple[str, RunResult]]  # (file name, shard)
# What all shards of one run share.
_COMMON: tuple[tuple[str, Callable[[RunResult], object]], ...] = (
    ("number of shards", lambda r: _shard_of(r).of),
    ("plan", lambda r: _shard_of(r).plan),
    ("corpus", lambda r: r.corpora),
    ("backend", lambda r: (r.backend.name, r.backend.version)),
    ("tier", lambda r: r.tier),
    ("gate", lambda r: r.level),
    ("--consistency", lambda r: r.consistency),
    ("kind", lambda r: r.survey),
)
_HINT = "merge the shards of one run: same selection, specs, tier and backend"


def merge_shards(parts: Named, rules: Rules) -> RunResult:
    """Merge the shards of a run. Raises UsageError unless they are all and complete."""
    for name, result in parts:
        if result.shard is None:
            hint = "`convcheck run --shard 1/4 -o FILE.jsonl` makes one"
            raise UsageError(f"{name} is a whole run, not a shard of one", hint=hint)
        if result.ended_early:
            hint = "run it again without --fail-fast and --maxfail"
            raise UsageError(f"{name} was ended early: its shard is incomplete", hint=hint)
        if result.interrupted:
            hint = "run it again with --resume, or from the start"
            raise UsageError(f"{name} was interrupted: its shard is incomplete", hint=hint)
    _check_alike(parts)
    shards = _in_order(parts)
    found = _in_plan_order(shards)
    if found is None:
        hint = "was one ended by --fail-fast? run it again without"
        raise UsageError("the shards lack cases of their plan", hint=hint)
    cases = tuple(result_of(part, rules) for part in found)
    told = names_told(cases)
    every = {cause.name: cause for shard in shards for cause in shard.causes}
    causes = [cause for name, cause in every.items() if name in told]
    notes = dict.fromkeys(note for shard in shards for note in shard.notes)
    if (environments := len({str(shard.environment) for shard in shards})) > 1:
        notes[f"the shards ran in {environments} different environments"] = None
    return replace(
        shards[0], cases=cases, parts=(), notes=tuple(notes), shard=None,
        restarts=sum(shard.restarts for shard in shards),
        causes=tuple(sorted(causes, key=lambda cause: cause.order)),
    )  # fmt: skip


def _in_plan_order(shards: Sequence[RunResult]) -> list[Part] | None:
    dealt = []
    for shard in shards:
        known = {part.case.id: part for part in shard.parts}
        parts = (known.get(one.case.id, Part(one.case, vectors=one)) for one in shard.cases)
        dealt.append([part for part in parts for _ in range(part.units)])
    plan = _shard_of(shards[0]).plan

    def is_plan(units: list[Part]) -> bool:
        found = {part.case.id: part for part in units}
        return plan_digest([name for part in found.values() for name in unit_ids(part)]) == plan

    ordered = put_together(dealt, lambda part: "" if part.codes else hand_of(part.case.id), is_plan)
    found: dict[str, dict[int, Part]] = {}
    for part in ordered or ():
        found.setdefault(part.case.id, {})[id(part)] = part
    for name, its in found.items():
        if len({(part.codes, part.sampled) for part in its.values()}) > 1:
            raise UsageError(f"the shards split {name} differently")
    whole = [joined(list(its.values())) for its in found.values()]
    return whole if ordered is not None and all(part.complete for part in whole) else None


def _check_alike(parts: Named) -> None:
    (first, one), *others = parts
    mine = dict(_shard_of(one).options)
    for name, other in others:
        its = dict(_shard_of(other).options)
        differing = [o for o in dict.fromkeys((*mine, *its)) if mine.get(o) != its.get(o)]
        if differing:
            here, there = (", ".join(_given(o, of) for o in differing) for of in (mine, its))
            raise UsageError(f"{first} was run with {here}, and {name} with {there}", hint=_HINT)
        for what, of in _COMMON:
            if of(other) != of(one):
                raise UsageError(f"{name} and {first} differ in their {what}", hint=_HINT)


def _given(option: str, options: dict[str, str]) -> str:
    return f"{option} {options[option]}".rstrip() if option in options else f"no {option}"


def _in_order(parts: Named) -> list[RunResult]:
    of = _shard_of(parts[0][1]).of
    found: dict[int, tuple[str, RunResult]] = {}
    for name, one in parts:
        index = _shard_of(one).index
        if index in found:
            raise UsageError(f"{found[index][0]} and {name} are both shard {index}/{of}")
        found[index] = (name, one)
    missing = [f"{index}/{of}" for index in range(1, of + 1) if index not in found]
    if missing:
        few = ", ".join(missing[:8]) + (" …" if len(missing) > 8 else "")
        what = "shard" if len(missing) == 1 else "shards"
        raise UsageError(f"{what} {few} missing", hint="name the report of every shard")
    return [found[index][1] for index in range(1, of + 1)]


def _shard_of(result: RunResult) -> Shard:
    assert result.shard is not None  # noqa: S101
    return result.shard
