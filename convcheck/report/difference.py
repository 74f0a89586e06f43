"""What changed between two runs as a tree of words, made once, which the terminal draws."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from convcheck.judge.failure import sort_of
from convcheck.judge.result import EVER, FAILURES, CaseResult, RunResult, gates
from convcheck.judge.words import GLUE, clean, row_names
from convcheck.plan.diff import (
    CHANGES,
    Change,
    ComparedFailure,
    FailureChange,
    RunDifference,
    Turned,
)
from convcheck.report.examples import shorten
from convcheck.report.short_names import compact_ids
from convcheck.rules.model import Case
from convcheck.wording import number, plural

_LONG = 200  # a message is cut here


@dataclass(frozen=True)
class ChangedFinding:
    """The same change of the same failure in one or more cases."""

    change: Change
    #: The id of the finding of the new run that it is of, or else of the old one.
    id: str
    #: The cases, those that differ in few places put together.
    cases: tuple[str, ...]
    #: How many values fail, or did and do, and in how many cases: 312 → 40 in 3 cases.
    count: str
    #: The row, and what is wrong, or was and is; messages are cut.
    said: str
    #: The same with messages of any length.
    whole: str
    #: Why it does not count in its run, '' where it does.
    mark: str


@dataclass(frozen=True)
class ChangedCases:
    """Cases that fail nothing, and what is to be said of them."""

    #: VERDICT, ANSWERS, ADDED or REMOVED.
    label: str
    said: str
    #: The cases, those that differ in few places put together.
    cases: tuple[str, ...]


@dataclass(frozen=True)
class DifferenceInWords:
    """What changed between two runs."""

    #: The backends and the tiers.
    title: str
    #: Why not all was compared.
    notes: tuple[str, ...]
    #: By change, those in most cases first.
    findings: tuple[ChangedFinding, ...]
    #: Cases that fail nothing, and are otherwise than they were.
    others: tuple[ChangedCases, ...]
    #: How many there are of each sort, in parts that are not to be broken; '' for no difference.
    counts: str
    #: How many cases were compared.
    compared: str


def difference_in_words(found: RunDifference) -> DifferenceInWords:
    """Return what changed between two runs in words."""
    counts = [f"{number(n)}{GLUE}{what}" for what, n in found.counts.items() if n]
    return DifferenceInWords(
        title=_title(found),
        notes=tuple(_notes(found)),
        findings=tuple(
            _finding(same, found) for change in CHANGES for same in _together(found.of(change))
        ),
        others=tuple(_others(found)),
        counts=", ".join(counts),
        compared=plural(found.compared, "case"),
    )


def _title(found: RunDifference) -> str:
    runs = (found.old, found.new)
    old, new = (f"{run.backend.name} {run.backend.version}".strip() for run in runs)
    same = f"{new}, both times" if old == new else f"{old} → {new}"
    tiers = " → ".join(dict.fromkeys(run.tier for run in runs))
    return f"{same}, {tiers} tier"


def _notes(found: RunDifference) -> Iterator[str]:
    for which, run in (("old", found.old), ("new", found.new)):
        yield from _partial(which, run)
    if found.loose:
        yield f"other vectors of {', '.join(found.loose)}: counts and inputs not compared"


def _partial(which: str, run: RunResult) -> Iterator[str]:
    missing = "added" if which == "old" else "removed"
    if run.interrupted:
        yield f"the {which} run was interrupted; what it did not get to is shown as {missing}"
    if run.shard:
        yield f"the {which} run is shard {run.shard.index}/{run.shard.of} only"


# Failures ------------------------------------------------------------------------------------


def _finding(same: Sequence[FailureChange], found: RunDifference) -> ChangedFinding:
    return ChangedFinding(
        change=same[0].change,
        id=same[0].finding,
        cases=tuple(compact_ids(_ids(same))),
        count=_counts(same),
        said=_said(same, whole=False),
        whole=_said(same, whole=True),
        mark=_mark(same[0], found),
    )


def _ids(same: Sequence[FailureChange]) -> list[str]:
    return list(dict.fromkeys(one.case.id for one in same))


def _together(findings: Iterable[FailureChange]) -> list[list[FailureChange]]:
    """Return findings that are the same in several cases together, those in most cases first."""
    found: dict[Hashable, list[FailureChange]] = {}
    for finding in findings:
        key = (_key(finding.before, finding.case), _key(finding.after, finding.case))
        found.setdefault(key, []).append(finding)
    return sorted(found.values(), key=lambda same: -len(_ids(same)))


def _key(failure: ComparedFailure | None, case: Case) -> Hashable:
    """Tell failures apart as the report of a run does."""
    if failure is None:
        return None
    return failure.finding(case), failure.excuse.kind if failure.excuse else ""


def _said(one: Sequence[FailureChange], whole: bool) -> str:
    """Return what is wrong, or was and is; `whole` with messages of any length."""
    sides = [[f.before for f in one if f.before], [f.after for f in one if f.after]]
    there = [(_rows(side), _kinds(side, whole)) for side in sides if side]
    row, kind = there[-1]
    if len(there) == 1:
        return f"{row}{kind}"
    was, had = there[0]
    if (was, had) == (row, kind):
        same = len(set(_sums(one))) == 1
        return f"{row}{kind}" + (", of other inputs or with other answers" if same else "")
    return f"{row}was {had}, is {kind}" if was == row else f"was {was}{had}, is {row}{kind}"


def _rows(same: Sequence[ComparedFailure]) -> str:
    rows = row_names(list(dict.fromkeys(one.group.decision.name for one in same if one.group)))
    return f"{rows}: " if rows else ""


def _kinds(same: Sequence[ComparedFailure], whole: bool) -> str:
    """Return in what ways the failures are wrong; of types, of what sort that is."""
    first, kinds = same[0].group, dict.fromkeys(_kind(one, whole) for one in same)
    return (sort_of(first) if first and len(kinds) > 1 else "") or ", ".join(kinds)


def _kind(failure: ComparedFailure, whole: bool) -> str:
    """Return in what way a failure is wrong; of a refusal in the runtime's own words."""
    group, said = failure.group, clean(failure.kind)
    if group and failure.verdict == "refused" and group.examples:
        said = clean(f"refused: {group.examples[0].message}")
    if failure.verdict in EVER:
        said = f"{failure.verdict}: {said}"
    where = f', in placement "{group.placement}"' if group and group.placement else ""
    return (said if whole else shorten(said, _LONG)) + where


def _sums(one: Sequence[FailureChange]) -> list[int]:
    """Count the failing values before, and after."""
    sides = ([f.before for f in one], [f.after for f in one])
    return [sum(f.group.count for f in side if f and f.group) for side in sides]


def _counts(one: Sequence[FailureChange]) -> str:
    sums = _sums(one)
    if one[0].change != "changed":
        sums = [max(sums)]
    values = " → ".join(dict.fromkeys(map(number, sums))) if any(sums) else ""
    cases = plural(len(_ids(one)), "case")
    if values and len(_ids(one)) > 1:
        return f"{values} in {cases}"
    return values or cases


def _mark(finding: FailureChange, found: RunDifference) -> str:
    """Return why the failure does not count in its run, '' where it does."""
    failure, run = finding.before, found.old
    if finding.after:
        failure, run = finding.after, found.new
    if failure and failure.excuse:
        return ": ".join(filter(None, (failure.excuse.kind, failure.excuse.issue)))
    if failure and failure.group and not gates(failure.group, run.level):
        return "below the gate"
    return ""


# Cases that fail nothing ---------------------------------------------------------------------


def _others(found: RunDifference) -> Iterator[ChangedCases]:
    yield from _turned(found.turned)
    if found.free:
        ids = [case.id for case in found.free]
        said = f"different answers where the standard leaves it open, in {plural(len(ids), 'case')}"
        yield ChangedCases("ANSWERS", said, tuple(compact_ids(ids)))
    for label, cases in (("ADDED", found.added), ("REMOVED", found.removed)):
        if cases:
            yield _one_sided(label, cases)


def _turned(turned: Sequence[Turned]) -> Iterator[ChangedCases]:
    """Yield one for each pair of verdicts."""
    found: dict[str, list[str]] = {}
    for one in turned:
        found.setdefault(f"{one.before} → {one.after}", []).append(one.case.id)
    for pair, ids in found.items():
        said = f"{pair} in {plural(len(ids), 'case')}"
        yield ChangedCases("VERDICT", said, tuple(compact_ids(ids)))


def _one_sided(label: str, cases: Sequence[CaseResult]) -> ChangedCases:
    failing = sum(case.verdict in FAILURES for case in cases)
    said = plural(len(cases), "case") + (f", {number(failing)} of them failing" * bool(failing))
    return ChangedCases(label, said, tuple(compact_ids(case.case.id for case in cases)))
