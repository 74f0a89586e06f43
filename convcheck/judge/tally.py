"""Merge the tallies of parts of a case into its result.

A reading of a disputed rule holds for a whole case, so it is chosen at the end.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence, Set
from typing import cast

from convcheck.judge.answers import PLACEMENTS
from convcheck.judge.digest import added, spell_digest
from convcheck.judge.ranges import joining, merged
from convcheck.judge.result import (
    BY_CALL,
    FAILURES,
    RIGHT,
    SORTS,
    CaseDiagnosis,
    CaseResult,
    Group,
    Key,
    Tally,
    TallyEntry,
    Verdict,
    Whole,
    case_verdict,
)
from convcheck.numerics.format import Format, Numeric
from convcheck.numerics.order import code_at
from convcheck.records import replace
from convcheck.rules.model import Case
from convcheck.semantics.expected import Decision
from convcheck.vectors.model import Coverage

_WRONG = SORTS[2:]
MAIN = "bulk"  # the placement of vectors that a sweep asks again and counts


def named(decisions: Sequence[Decision], entries: Iterable[Key]) -> dict[int, Decision]:
    """Return the decisions that the keys number."""
    return {i: decisions[i] for i in sorted({key.decision for key in entries})}


def merge(tallies: Iterable[Tally]) -> Tally:
    """Merge the tallies of disjoint parts of a case."""
    tallies = list(tallies)
    decisions = {i: d for tally in tallies for i, d in tally.decisions.items()}
    covered = joining(pair for tally in tallies for pair in tally.covered)
    edges = frozenset(position for pair in covered for position in pair)
    asked: dict[int, int] = defaultdict(int)
    entries: dict[Key, list[TallyEntry]] = defaultdict(list)
    faults: dict[tuple[str, ...], Group] = {}
    for tally in tallies:
        for decision, count in tally.asked.items():
            asked[decision] += count
        for key, entry in tally.entries:
            entries[key].append(entry)
        for fault in tally.faults:
            by = fault.decision
            name = fault.verdict, fault.kind, fault.placement, by.rule, by.row
            # the fault to show does not depend on the order of parts
            faults[name] = min(
                faults.get(name, fault), fault,
                key=lambda each: (tuple(one.inputs for one in each.examples), each.digest),
            )  # fmt: skip
    found = tuple((key, combined(entries[key], edges)) for key in sorted(entries))
    first = tuple(faults[name] for name in sorted(faults))
    declined, vectors = (sum(getattr(t, n) for t in tallies) for n in ("declined", "vectors"))
    of_each, by_number = dict(sorted(asked.items())), dict(sorted(decisions.items()))
    known = [tally.fits for tally in tallies if tally.fits is not None]
    fits = None
    if known and len(known) == len(tallies):
        fits = tuple(fit for fit in known[0] if all(fit in other for other in known))
    said = min((t.search_fault for t in tallies if t.search_fault), default="")
    return Tally(of_each, found, covered, first, declined, vectors, by_number, None, fits, said)


def combined(entries: list[TallyEntry], edges: frozenset[int]) -> TallyEntry:
    """Merge the entries of one key. `edges` are the ends of the covered ranges."""
    firsts = [e.first for e in entries if e.first]
    extremes = [e.extreme for e in entries if e.extreme]
    digests = [int(e.digest, 16) for e in entries if e.digest]
    return TallyEntry(
        sum(e.count for e in entries),
        spell_digest(added(digests)) if digests else "",
        merged([e.ranges for e in entries], edges),
        min(firsts, key=lambda s: s.position, default=None),
        min(extremes, key=lambda s: (-s.error, s.position), default=None),
    )


def finish(
    case: Case, tally: Tally, coverage: Coverage, others: tuple[Group, ...] = ()
) -> CaseResult:
    """Return the case's result, with the reading of each rule that makes fewest answers wrong."""
    groups = (*_groups(case.inputs[0].format, tally), *tally.faults, *others)
    found = None if others else _diagnosis(tally, groups)
    verdict = case_verdict(groups)
    return CaseResult(case, verdict, tally.checked, coverage, groups, diagnosis=found)


def _diagnosis(tally: Tally, groups: Sequence[Group]) -> CaseDiagnosis | None:
    failing = [group for group in groups if group.verdict in FAILURES]
    if (tally.fits is None and not tally.search_fault) or not failing:
        return None
    free: dict[int, int] = defaultdict(int)
    for key, entry in tally.entries:
        if key.sort == "undefined" and not key.placement:
            free[key.decision] = max(free[key.decision], entry.count)
    wrong = sum(group.count for group in failing if not group.placement)
    fits = dict.fromkeys(fit.names for fit in tally.fits or ())
    answers = sum(tally.asked.values()) - sum(free.values())
    whole, fault = any(fit.whole_vectors for fit in tally.fits or ()), tally.search_fault
    return CaseDiagnosis(answers, wrong, tuple(fits), fault=fault, whole_vectors=whole)


def finish_whole(case: Case, tally: Tally) -> CaseResult:
    """Return the result of a case from a tally of all its vectors."""
    whole = tally.whole
    assert whole is not None  # noqa: S101
    groups = (*_groups(case.inputs[0].format, tally), *tally.faults)
    return CaseResult(
        case, whole.verdict or case_verdict(groups), tally.checked, whole.coverage, groups,
        whole.message, whole.left_out, diagnosis=whole.diagnosis,
    )  # fmt: skip


def unsupported(coverage: Coverage, message: str) -> Tally:
    """Return the tally of a case that cannot be asked."""
    return Tally({}, (), whole=Whole(coverage, message, verdict="unsupported"))


def _groups(source: Format, tally: Tally) -> Iterator[Group]:
    decisions, taken = tally.decisions, _taken(tally)
    show_all = tally.whole is not None and tally.whole.show_all
    of: dict[tuple[int, int, str], int] = defaultdict(int)
    for key, entry in tally.entries:
        of[key.decision, key.reading, key.placement] += entry.count
        if key.reading == BY_CALL:
            of[key.decision, key.reading, key.placement] = tally.asked[key.decision]
    shown = {key for key, _ in tally.entries}
    for key, entry in sorted(tally.entries, key=_order):
        decision = decisions[key.decision]
        reading, agree = taken.get(_rule(decision), (key.reading, True))
        if key.reading == reading and _shown(key, shown):
            right = "pass" if agree and not key.named else "tolerated"
            verdict = right if key.sort == RIGHT else key.sort
            number = of[key.decision, reading, key.placement]
            if verdict == "pass":
                entry = TallyEntry(entry.count, first=entry.first if show_all else None)
            pairs, more = entry.ranges.shown()
            numbers = cast(Numeric, source)  # texts have no ranges
            ranges = tuple((code_at(numbers, a), code_at(numbers, b)) for a, b in pairs)
            samples = [entry.first.example] if entry.first else []
            if entry.extreme and entry.first and entry.extreme.position != entry.first.position:
                samples.append(entry.extreme.example)
            named = key.named if key.reading == BY_CALL else decision.readings[key.reading]
            yield Group(
                decision, cast(Verdict, verdict), key.kind, entry.count, number, entry.digest,
                named, key.placement, ranges, more, tuple(samples),
            )  # fmt: skip


def promoted(tally: Tally) -> Tally:
    """Count the vectors under '' if no sweep counted anything."""
    if tally.asked:
        return tally
    asked: dict[int, int] = defaultdict(int)
    for key, entry in tally.entries:
        asked[key.decision] += entry.count * (key.placement == MAIN and key.reading == 0)
    entries = tuple(
        (replace(key, placement="") if key.placement == MAIN else key, entry)
        for key, entry in tally.entries
    )
    return replace(tally, asked=asked, entries=entries)


def _order(pair: tuple[Key, TallyEntry]) -> tuple[int, int, int, str]:
    """Return a sort key. Whole calls keep the order of their first calls."""
    key, _ = pair
    if key.reading == BY_CALL:
        return 0, key.decision, 0, ""
    return PLACEMENTS.index(key.placement), key.decision, SORTS.index(key.sort), key.kind


def _shown(key: Key, entries: Set[Key]) -> bool:
    """Return whether a key makes a group.

    Another placement shows only failures that the main one lacks.
    """
    if not key.placement:
        return True
    again = key.placement == MAIN and replace(key, placement="") in entries
    return key.sort in _WRONG and not again


def _rule(decision: Decision) -> tuple[str, tuple[str, ...]]:
    return decision.rule, decision.readings


def _taken(tally: Tally) -> dict[tuple[str, tuple[str, ...]], tuple[int, bool]]:
    """Choose a reading for each disputed rule: its index, and whether all fit equally.

    Other placements only break ties in a partial tally.
    """
    counted: dict[tuple[str, tuple[str, ...]], list[int]] = {}
    placed: dict[tuple[str, tuple[str, ...]], list[int]] = {}
    for key, entry in tally.entries:
        decision = tally.decisions[key.decision]
        if key.reading == BY_CALL or len(decision.readings) == 1:
            continue
        elsewhere = bool(key.placement) and tally.whole is None
        for wrong, here in ((counted, not key.placement), (placed, elsewhere)):
            sums = wrong.setdefault(_rule(decision), [0] * len(decision.readings))
            sums[key.reading] += entry.count * (here and key.sort in _WRONG)
    return {
        rule: (wrong.index(min(wrong)), len(set(counted[rule])) == 1)
        for rule, wrong in ((r, list(zip(counted[r], placed[r], strict=True))) for r in counted)
    }
