"""What changed between two runs as a tree of words, made once, which the terminal draws."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from convcheck.judge.failure import sort_of
from convcheck.judge.result import EVER, FAILURES, CaseResult, CauseInWords, RunResult, gates
from convcheck.judge.words import clean, row_names
from convcheck.plan.cause_changes import OTHER, CauseChange, CauseWay, OtherCause
from convcheck.plan.diff import (
    CHANGES,
    Change,
    ComparedFailure,
    FailureChange,
    RunDifference,
    Turned,
)
from convcheck.report.causes import said_of
from convcheck.report.examples import shorten
from convcheck.rules.case_names import compact_names
from convcheck.rules.model import Case
from convcheck.wording import GLUE, number, plural

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
class ChangedCause:
    """A cause that does not explain the same cases in both runs."""

    #: What became of it.
    change: CauseWay
    #: What it does otherwise than the rules.
    says: str
    #: How many cases it explained and explains, and how many answers it gives of these.
    count: str
    #: The cases that it explains, or where there are none any more, explained.
    cases: tuple[str, ...]
    #: What the cases that are explained only now did before, and what those do now that are
    #: explained no more.
    elsewhere: tuple[str, ...]


@dataclass(frozen=True)
class ChangedExplanation:
    """Cases that fail in both runs, and of which the cause is another."""

    #: The cases, those that differ in few places put together.
    cases: tuple[str, ...]
    #: How many cases.
    count: str
    #: What the cause was, and what it is.
    said: str


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
    #: By change, those of most cases first.
    causes: tuple[ChangedCause, ...]
    #: Those of one pair of causes together.
    explanations: tuple[ChangedExplanation, ...]
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
    counts = [_counted(n, what) for what, n in found.counts.items() if n]
    return DifferenceInWords(
        title=_title(found),
        notes=tuple(_notes(found)),
        causes=tuple(map(_cause, found.causes.changes)),
        explanations=tuple(_explanations(found.causes.others)),
        findings=tuple(
            _finding(same, found) for change in CHANGES for same in _together(found.of(change))
        ),
        others=tuple(_others(found)),
        counts=", ".join(counts),
        compared=plural(found.compared, "case"),
    )


def _counted(count: int, what: str) -> str:
    """Count findings, changed causes and other things: 5 new, 2 changed causes."""
    said = plural(count, what) if what.endswith("cause") else f"{number(count)} {what}"
    return said.replace(" ", GLUE, 1)


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
    if found.causes.untried:
        yield f"no causes were tried in the {found.causes.untried} run: causes not compared"


def _partial(which: str, run: RunResult) -> Iterator[str]:
    missing = "added" if which == "old" else "removed"
    if run.interrupted:
        yield f"the {which} run was interrupted; what it did not get to is shown as {missing}"
    if run.shard:
        yield f"the {which} run is shard {run.shard.index}/{run.shard.of} only"


# Causes --------------------------------------------------------------------------------------


def _cause(one: CauseChange) -> ChangedCause:
    sides = (one.before, one.after)
    cases, answers = ([count(side) for side in sides] for count in (len, _answers))
    elsewhere = ((_states(one.came), "before"), (_states(one.left), "now"))
    return ChangedCause(
        change=one.change,
        says=said_of(one.causes),
        count=f"{_became(cases, 'case')}, {_became(answers, 'answer')}",
        cases=tuple(compact_names(case.case.id for case in one.after or one.before)),
        elsewhere=tuple(f"{when}: {said}" for said, when in elsewhere if said),
    )


def _answers(cases: Sequence[CaseResult]) -> int:
    return sum(case.diagnosis.answers for case in cases if case.diagnosis)


def _became(counts: Sequence[int], noun: str) -> str:
    """Count before and after: 12 → 2 cases; once where that is the same, or there was nothing."""
    *before, last = dict.fromkeys(count for count in counts if count)
    return "".join(f"{number(count)} → " for count in before) + plural(last, noun)


def _states(counts: Mapping[str, int]) -> str:
    """Say what cases do: 10 pass, 2 of another cause."""
    words = {OTHER: "of another cause"}
    return ", ".join(f"{number(n)} {words.get(what, what)}" for what, n in counts.items())


def _explanations(others: Iterable[OtherCause]) -> Iterator[ChangedExplanation]:
    """Yield one for each pair of causes."""
    found: dict[str, list[str]] = {}
    for one in others:
        said = f"was {_explained_by(one.before)}; is {_explained_by(one.after)} now"
        found.setdefault(said, []).append(one.case.id)
    for said, ids in found.items():
        yield ChangedExplanation(tuple(compact_names(ids)), plural(len(ids), "case"), said)


def _explained_by(causes: Sequence[CauseInWords]) -> str:
    return f'"{said_of(causes)}"' if causes else "not explained"


# Failures ------------------------------------------------------------------------------------


def _finding(same: Sequence[FailureChange], found: RunDifference) -> ChangedFinding:
    return ChangedFinding(
        change=same[0].change,
        id=same[0].finding,
        cases=tuple(compact_names(_ids(same))),
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
        yield ChangedCases("ANSWERS", said, tuple(compact_names(ids)))
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
        yield ChangedCases("VERDICT", said, tuple(compact_names(ids)))


def _one_sided(label: str, cases: Sequence[CaseResult]) -> ChangedCases:
    failing = sum(case.verdict in FAILURES for case in cases)
    said = plural(len(cases), "case") + (f", {number(failing)} of them failing" * bool(failing))
    return ChangedCases(label, said, tuple(compact_names(case.case.id for case in cases)))
