"""What changed between two runs, for a terminal: quiet when nothing did."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from convcheck.judge.failure import of_types, sort_of
from convcheck.judge.result import EVER, FAILURES, CaseResult, RunResult, gates
from convcheck.judge.words import GLUE, clean, number, plural
from convcheck.plan.diff import (
    CHANGES,
    Change,
    ComparedFailure,
    FailureChange,
    RunDifference,
    Turned,
)
from convcheck.report.draw.layout import INDENT, cut, labelled, paragraph, spread
from convcheck.report.draw.styled import StyledText
from convcheck.report.naming import compact_ids
from convcheck.rules.model import Case

_FINDINGS = 12  # shown of a sort, unless everything is asked for
_LONG = 200  # a message is cut here
_STYLES: dict[Change, str] = {
    "new": "bold red", "changed": "bold yellow", "fixed": "bold green", "not asked": "bold",
}  # fmt: skip


@dataclass(frozen=True)
class _Alike:
    """The same finding in several cases."""

    findings: tuple[FailureChange, ...]

    @property
    def first(self) -> FailureChange:
        return self.findings[0]

    @property
    def cases(self) -> list[str]:
        return list(dict.fromkeys(f.case.id for f in self.findings))


def show(found: RunDifference, width: int, verbose: bool) -> Iterator[StyledText]:
    """Yield the lines: a finding a line, those of many cases put together, then the counts."""
    said = [line for change in CHANGES for line in _section(found, change, width, verbose)]
    said += [*_turned(found.turned, width, verbose), *_free(found.free, width, verbose)]
    for word, cases in (("ADDED", found.added), ("REMOVED", found.removed)):
        said += _cases(word, cases, width, verbose)
    notes = list(_notes(found, width))
    if said or notes:
        yield from (*_title(found, width), *notes, StyledText(), *said)
    if said:
        yield StyledText()
    yield from _summary(found, width)


def _title(found: RunDifference, width: int) -> Iterator[StyledText]:
    old, new = (
        f"{run.backend.name} {run.backend.version}".strip() for run in (found.old, found.new)
    )
    same = f"{new}, both times" if old == new else f"{old} → {new}"
    tiers = " → ".join(dict.fromkeys((found.old.tier, found.new.tier)))
    yield from paragraph(f"{same}, {tiers} tier", width, indent=0, hang=2, style="bold")


def _notes(found: RunDifference, width: int) -> Iterator[StyledText]:
    said = [note for which, run in (("old", found.old), ("new", found.new))
            for note in _partial(which, run)]  # fmt: skip
    if found.loose:
        said.append(f"other vectors of {', '.join(found.loose)}: counts and inputs not compared")
    for note in said:
        yield from paragraph(f"note: {note}", width, indent=0, hang=6, style="yellow")


def _partial(which: str, run: RunResult) -> Iterator[str]:
    missing = "added" if which == "old" else "removed"
    if run.interrupted:
        yield f"the {which} run was interrupted; what it did not get to is shown as {missing}"
    if run.shard:
        yield f"the {which} run is shard {run.shard.index}/{run.shard.of} only"


def _section(
    found: RunDifference, change: Change, width: int, verbose: bool
) -> Iterator[StyledText]:
    alike = _together(found.of(change))
    for one in alike if verbose else alike[:_FINDINGS]:
        yield from _finding(one, found, width, verbose)
    if len(alike) > _FINDINGS and not verbose:
        more = plural(len(alike) - _FINDINGS, "more finding")
        yield StyledText(f"{change.upper()}  … {more} (-v lists all)", "dim")


def _finding(one: _Alike, found: RunDifference, width: int, verbose: bool) -> Iterator[StyledText]:
    """Yield a finding: the cases and the counts, then the rule row and what is wrong."""
    label, count = one.first.change.upper(), StyledText(_counts(one))
    room = width - len(label) - 2 - count.cell_len - 2
    names = ", ".join(compact_ids(one.cases))
    lines = labelled(
        label, _STYLES[one.first.change], names if verbose else cut(names, room), width
    )
    *front, last = lines
    yield from front
    yield from spread(last, count, width)
    yield from paragraph(_said(one, verbose), width, hang=2)
    for mark in _marks(one.first, found):
        yield StyledText(" " * INDENT + mark, "dim")  # a URL stays whole


def _together(findings: Iterable[FailureChange]) -> list[_Alike]:
    """Put findings together that are the same in several cases, those in most cases first."""
    found: dict[Hashable, list[FailureChange]] = {}
    for finding in findings:
        key = (_key(finding.before, finding.case), _key(finding.after, finding.case))
        found.setdefault(key, []).append(finding)
    return sorted((_Alike(tuple(same)) for same in found.values()), key=lambda a: -len(a.cases))


def _key(failure: ComparedFailure | None, case: Case) -> Hashable:
    """Tell failures apart as the report of a run does: of promotions by the sort of wrongness."""
    if failure is None:
        return None
    known = failure.excuse.kind if failure.excuse else ""
    if failure.group and of_types(case) and (sort := sort_of(failure.group)):
        return replace(failure.key.only("verdict"), kind=sort), known
    return replace(failure.key, kind=clean(failure.kind)), known


def _said(one: _Alike, verbose: bool) -> str:
    """Spell what is wrong, or was and is."""
    before, after = one.first.before, one.first.after
    there = [failure for failure in (before, after) if failure]
    row, kind = _row(there[-1]), _kind(there[-1], verbose)
    if len(there) == 1:
        return f"{row}{kind}"
    was, had = _row(there[0]), _kind(there[0], verbose)
    if (was, had) == (row, kind):
        same = len(set(_sums(one))) == 1
        return f"{row}{kind}" + (", of other inputs or with other answers" if same else "")
    return f"{row}was {had}, is {kind}" if was == row else f"was {was}{had}, is {row}{kind}"


def _row(failure: ComparedFailure) -> str:
    return f"{failure.group.decision.name}: " if failure.group else ""


def _kind(failure: ComparedFailure, verbose: bool) -> str:
    """Spell in what way a failure is wrong; of a refusal in the runtime's own words."""
    group, said = failure.group, clean(failure.kind)
    if group and failure.verdict == "refused" and group.examples:
        said = clean(f"refused: {group.examples[0].message}")
    if failure.verdict in EVER:
        said = f"{failure.verdict}: {said}"
    where = f', only in placement "{group.placement}"' if group and group.placement else ""
    return (said if verbose else cut(said, _LONG)) + where


def _sums(one: _Alike) -> list[int]:
    """Count the failing values before, and after."""
    sides = ([f.before for f in one.findings], [f.after for f in one.findings])
    return [sum(f.group.count for f in side if f and f.group) for side in sides]


def _counts(one: _Alike) -> str:
    sums = _sums(one)
    if one.first.change != "changed":
        sums = [max(sums)]
    values = " → ".join(dict.fromkeys(map(number, sums))) if any(sums) else ""
    cases = plural(len(one.cases), "case")
    if values and len(one.cases) > 1:
        return f"{values} in {cases}"
    return values or cases


def _marks(finding: FailureChange, found: RunDifference) -> Iterator[str]:
    """Say why the failure does not count in its run."""
    failure, run = finding.before, found.old
    if finding.after:
        failure, run = finding.after, found.new
    if failure and failure.excuse:
        yield ": ".join(filter(None, (failure.excuse.kind, failure.excuse.issue)))
    elif failure and failure.group and not gates(failure.group, run.level):
        yield "below the gate"


def _turned(turned: Sequence[Turned], width: int, verbose: bool) -> Iterator[StyledText]:
    """Yield a line for each pair of verdicts that fail nothing."""
    found: dict[str, list[str]] = {}
    for one in turned:
        found.setdefault(f"{one.before} → {one.after}", []).append(one.case.id)
    for pair, ids in found.items():
        yield from _named("VERDICT", f"{pair} in {plural(len(ids), 'case')}", ids, width, verbose)


def _free(cases: Sequence[Case], width: int, verbose: bool) -> Iterator[StyledText]:
    ids = [case.id for case in cases]
    if ids:
        said = f"others where the standard is open, in {plural(len(ids), 'case')}"
        yield from _named("ANSWERS", said, ids, width, verbose)


def _cases(
    word: str, cases: Sequence[CaseResult], width: int, verbose: bool
) -> Iterator[StyledText]:
    failing = sum(case.verdict in FAILURES for case in cases)
    ids = [case.case.id for case in cases]
    if ids:
        said = plural(len(ids), "case") + (f", {number(failing)} of them failing" * bool(failing))
        yield from _named(word, said, ids, width, verbose)


def _named(
    label: str, said: str, ids: Sequence[str], width: int, verbose: bool
) -> Iterator[StyledText]:
    """Yield a line on cases that fail nothing, with the first of them, or with all."""
    names = compact_ids(ids)
    text = said if verbose else cut(f"{said}: {', '.join(names)}", width - len(label) - 2)
    yield from labelled(label, "cyan", text, width)
    for name in names if verbose else ():
        yield from paragraph(name, width, hang=2)


def _summary(found: RunDifference, width: int) -> Iterator[StyledText]:
    """Yield the last line: what there is of each sort, or that there is nothing."""
    cases = plural(found.compared, "case")
    if found.nothing:
        yield StyledText(f"no difference in {cases}", "bold green")
        return
    said = [f"{number(n)}{GLUE}{what}" for what, n in found.counts.items() if n]
    yield from paragraph(f"{', '.join(said)}; {cases} compared", width, indent=0, style="bold")
