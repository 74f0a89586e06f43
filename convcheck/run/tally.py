"""What was found in a part of a case. Tallies of parts merge, in any order, into the case's.

Readings of a disputed rule hold for a case as a whole, so a tally counts under each of them, and
only when all parts are there is one taken as the backend's.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import cast

from convcheck.numerics.format import Format
from convcheck.numerics.order import code_at
from convcheck.run.ranges import Pair, Ranges, joining, merged
from convcheck.run.result import CaseResult, Example, Group, Verdict, case_verdict
from convcheck.semantics.expected import Decision
from convcheck.spec.model import Case
from convcheck.vectors.model import Coverage

RIGHT = "right"  # and whether that is `pass` or `tolerated` is found out at the end
SORTS = ("undefined", RIGHT, "refused", "crashed", "fail")


@dataclass(frozen=True, order=True)
class Key:
    """A decision, a reading of it, what became of the elements, and in what way."""

    decision: int
    reading: int
    sort: str
    kind: str = ""


@dataclass(frozen=True)
class Sample:
    """An example with its position among the inputs in the order of their values, and how far off
    it is in steps of the destination.
    """

    position: int
    error: float
    example: Example


@dataclass(frozen=True)
class Entry:
    """The elements of a key: a count, a sum of hashes mod 2^128, where they are, two of them.

    Of what is right under the only reading of its rule there is just the count.
    """

    count: int
    digest: int = 0
    ranges: Ranges = field(default_factory=Ranges)
    first: Sample | None = None
    extreme: Sample | None = None


@dataclass(frozen=True)
class Tally:
    """The tally of a part of a case, or of several.

    `asked` counts the elements of each decision, `covered` are the positions asked, as ranges.
    `faults` are groups of answers that had no form, or calls that failed for no element's sake.
    """

    asked: Mapping[int, int]
    entries: Mapping[Key, Entry]
    covered: tuple[Pair, ...]
    faults: tuple[Group, ...] = ()

    @property
    def failing(self) -> bool:
        """Whether something fails under every reading."""
        wrong = {(k.decision, k.reading) for k in self.entries if k.sort not in SORTS[:2]}
        decisions = {k.decision: 0 for k in self.entries}
        for key in self.entries:
            decisions[key.decision] = max(decisions[key.decision], key.reading + 1)
        return bool(self.faults) or any(
            all((d, r) in wrong for r in range(n)) for d, n in decisions.items()
        )


def merge(tallies: Iterable[Tally]) -> Tally:
    """Merge the tallies of disjoint parts of a case."""
    tallies = list(tallies)
    covered = joining(pair for tally in tallies for pair in tally.covered)
    edges = frozenset(position for pair in covered for position in pair)
    asked: dict[int, int] = defaultdict(int)
    entries: dict[Key, list[Entry]] = defaultdict(list)
    faults: dict[tuple[str, str], Group] = {}
    for tally in tallies:
        for decision, count in tally.asked.items():
            asked[decision] += count
        for key, entry in tally.entries.items():
            entries[key].append(entry)
        for fault in tally.faults:
            name = (fault.kind, fault.placement)
            faults[name] = _lower(faults.get(name), fault)
    found = {key: combined(entries[key], edges) for key in sorted(entries)}
    first = tuple(faults[name] for name in sorted(faults))
    return Tally(dict(sorted(asked.items())), found, covered, first)


def _lower(one: Group | None, other: Group) -> Group:
    """Choose one of two faults of a kind: it must not matter which came first."""
    return other if one is None else min(one, other, key=_place_of)


def _place_of(fault: Group) -> tuple[tuple[object, ...], str]:
    return tuple(example.inputs for example in fault.examples), fault.digest


def combined(entries: list[Entry], edges: frozenset[int]) -> Entry:
    """Make one of the entries of a key in disjoint parts, given the edges of what they cover."""
    firsts = [e.first for e in entries if e.first]
    extremes = [e.extreme for e in entries if e.extreme]
    return Entry(
        sum(e.count for e in entries),
        sum(e.digest for e in entries) % 2**128,
        merged([e.ranges for e in entries], edges),
        min(firsts, key=lambda s: s.position, default=None),
        min(extremes, key=lambda s: (-s.error, s.position), default=None),
    )


def finish(
    case: Case, decisions: tuple[Decision, ...], tally: Tally, coverage: Coverage,
    others: tuple[Group, ...] = (),
) -> CaseResult:  # fmt: skip
    """Take the reading with the fewest wrong answers of each rule, and give the case's result.

    `others` are groups found otherwise: in other placements.
    """
    groups = (*_groups(case, decisions, tally), *tally.faults, *others)
    checked = sum(tally.asked.values())
    return CaseResult(case, case_verdict(groups), checked, coverage, groups)


def _groups(case: Case, decisions: tuple[Decision, ...], tally: Tally) -> Iterator[Group]:
    taken = _taken(decisions, tally)
    source = case.inputs[0].format
    for index in tally.asked:
        decision = decisions[index]
        reading, agree = taken[decision.rule, decision.readings]
        here = (k for k in tally.entries if (k.decision, k.reading) == (index, reading))
        for key in sorted(here, key=lambda k: (SORTS.index(k.sort), k.kind)):
            entry = tally.entries[key]
            verdict = ("pass" if agree else "tolerated") if key.sort == RIGHT else key.sort
            yield _group(source, decision, verdict, key.kind, entry, tally.asked[index], reading)


def _taken(
    decisions: tuple[Decision, ...], tally: Tally
) -> dict[tuple[str, tuple[str, ...]], tuple[int, bool]]:
    """Choose a reading for each rule; and tell whether the others explain as much."""
    rules: dict[tuple[str, tuple[str, ...]], list[int]] = {}
    for index in tally.asked:
        decision = decisions[index]
        wrong = rules.setdefault((decision.rule, decision.readings), [0] * len(decision.readings))
        for key, entry in tally.entries.items():
            if key.decision == index and key.sort not in ("undefined", RIGHT):
                wrong[key.reading] += entry.count
    return {rule: (wrong.index(min(wrong)), len(set(wrong)) == 1) for rule, wrong in rules.items()}


def _group(
    source: Format, decision: Decision, verdict: str, kind: str, entry: Entry, of: int, reading: int
) -> Group:
    if verdict == "pass":
        entry = Entry(entry.count)
    pairs, more = entry.ranges.shown()
    ranges = tuple((code_at(source, a), code_at(source, b)) for a, b in pairs)
    samples = [entry.first] if entry.first else []
    if entry.extreme and entry.first and entry.extreme.position != entry.first.position:
        samples.append(entry.extreme)
    digest = "" if verdict == "pass" else f"{entry.digest:032x}"
    return Group(
        decision, cast(Verdict, verdict), kind, entry.count, of, digest,
        decision.readings[reading], "", ranges, more, tuple(s.example for s in samples),
    )  # fmt: skip
