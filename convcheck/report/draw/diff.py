"""Draw the differences between two runs."""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence

from convcheck.judge.result import EVER, FAILURES, CauseInWords
from convcheck.judge.words import clean, row_names
from convcheck.plan.diff import (
    CHANGES,
    OTHER,
    CauseChange,
    CauseWay,
    Change,
    Failure,
    FailureChange,
    OtherCause,
    RunDifference,
)
from convcheck.records import grouped
from convcheck.report.blocks import BLANK, INDENT, Block, Text, cut, item, under
from convcheck.report.findings import said_of
from convcheck.rules.find import compact_names
from convcheck.streams import GLUE, number, plural

_LONG = 200  # characters of a message, unless verbose
_FINDINGS = 12  # findings of a kind, unless verbose
_STYLES: dict[Change, str] = {
    "new": "bold red", "changed": "bold yellow", "fixed": "bold green", "not asked": "bold",
}  # fmt: skip
_CAUSE_STYLES: dict[CauseWay, str] = {
    "new": "bold red", "grown": "bold red", "moved": "bold yellow", "shrunk": "bold green",
    "gone": "bold green", "not asked": "bold",
}  # fmt: skip


def diff_page(found: RunDifference, verbose: bool) -> Iterator[Block]:
    """Yield changed causes, then a line for each changed finding, then counts."""
    notes, body = list(_notes(found)), list(_body(found, verbose))
    if body or notes:
        yield Text(_title(found), "bold", hang=2)
        yield from (Text(f"note: {note}", "yellow", hang=6) for note in notes)
        yield BLANK
    if body:
        yield from (*body, BLANK)
    compared = f"{plural(found.compared, 'case')}"
    counted = ((what.replace("_", " "), n) for what, n in found.summary.items() if n)
    if counts := ", ".join(_counted(n, what) for what, n in counted):
        yield Text(f"{counts}; {compared} compared", "bold")
    else:
        yield Text(f"no difference in {compared}", "bold green")


def _body(found: RunDifference, verbose: bool) -> Iterator[Block]:
    causes = [block for one in found.causes for block in _cause(one, verbose)]
    causes += _explanations(found.other_causes, verbose)
    yield from (*causes, BLANK) if causes else ()
    for change in CHANGES:
        several = _together(found.of(change))
        for same in several if verbose else several[:_FINDINGS]:
            yield from _finding(same, verbose)
        if len(several) > _FINDINGS and not verbose:
            more = plural(len(several) - _FINDINGS, "more finding")
            yield Text(f"{change.upper()}  … {more} (-v lists all)", "dim")
    for label, said, cases in _others(found):
        names = compact_names(cases)
        yield item(label, "cyan", said if verbose else f"{said}: {', '.join(names)}", cut=True)
        yield from (under(name, hang=2) for name in names if verbose)


def _counted(count: int, what: str) -> str:
    said = plural(count, what) if what.endswith("cause") else f"{number(count)} {what}"
    return said.replace(" ", GLUE, 1)


def _title(found: RunDifference) -> str:
    runs = (found.old, found.new)
    old, new = (f"{run.backend.name} {run.backend.version}".strip() for run in runs)
    same = f"{new}, both times" if old == new else f"{old} → {new}"
    tiers = " → ".join(dict.fromkeys(run.tier for run in runs))
    return f"{same}, {tiers} tier"


def _notes(found: RunDifference) -> Iterator[str]:
    for which, run, missing in (("old", found.old, "added"), ("new", found.new, "removed")):
        if run.interrupted:
            yield f"the {which} run was interrupted; what it did not get to is shown as {missing}"
        if run.shard:
            yield f"the {which} run is shard {run.shard.index}/{run.shard.of} only"
    if found.other_vectors:
        yield f"other vectors of {', '.join(found.other_vectors)}: counts and inputs not compared"
    if found.untried:
        yield f"no causes were tried in the {found.untried} run: causes not compared"


def _cause(one: CauseChange, verbose: bool) -> Iterator[Block]:
    sides = (one.before, one.after)
    cases = [len(side) for side in sides]
    answers = [sum(case.answers for case in side) for side in sides]
    count = f"{_became(cases, 'case')}, {_became(answers, 'answer')}"
    yield item(
        f"{one.change.upper()} CAUSE", _CAUSE_STYLES[one.change], said_of(one.together), count
    )
    names = compact_names(case.case for case in one.after or one.before)
    yield Text(", ".join(names), indent=INDENT, hang=2, cut=not verbose)
    for said, when in ((_states(one.came), "before"), (_states(one.left), "now")):
        if said:
            yield under(f"{when}: {said}", "dim", hang=2)


def _became(counts: Sequence[int], noun: str) -> str:
    *before, last = dict.fromkeys(count for count in counts if count)
    return "".join(f"{number(count)} → " for count in before) + plural(last, noun)


def _states(counts: Mapping[str, int]) -> str:
    words = {OTHER: "of another cause"}
    return ", ".join(f"{number(n)} {words.get(what, what)}" for what, n in counts.items())


def _explanations(others: Iterable[OtherCause], verbose: bool) -> Iterator[Block]:
    found = grouped(((_explained_by(o.before), _explained_by(o.after)), o.case) for o in others)
    for (before, after), ids in found.items():
        names, count = ", ".join(compact_names(ids)), plural(len(ids), "case")
        yield item("OTHER CAUSE", "bold yellow", names, count, cut=not verbose)
        yield under(f"was {before}; is {after} now", hang=2)


def _explained_by(causes: Sequence[CauseInWords]) -> str:
    return f'"{said_of(causes)}"' if causes else "not explained"


def _finding(same: Sequence[FailureChange], verbose: bool) -> Iterator[Block]:
    change, names = same[0].change, ", ".join(compact_names(_ids(same)))
    count = [(same[0].finding, "dim"), (f"  {_counts(same)}", "")]
    yield item(change.upper(), _STYLES[change], names, count, cut=not verbose)
    yield under(_said(same, whole=verbose), hang=2)
    if mark := _mark(same[0]):
        yield Text(mark, "dim", INDENT, whole=True)


def _ids(same: Sequence[FailureChange]) -> list[str]:
    return list(dict.fromkeys(one.case for one in same))


def _together(findings: Iterable[FailureChange]) -> list[list[FailureChange]]:
    found = grouped(((_key(one.before), _key(one.after)), one) for one in findings)
    return sorted(found.values(), key=lambda same: -len(_ids(same)))


def _key(failure: Failure | None) -> Hashable:
    if failure is None:
        return None
    return failure.finding, failure.excuse.kind if failure.excuse else ""


def _said(one: Sequence[FailureChange], whole: bool) -> str:
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


def _rows(same: Sequence[Failure]) -> str:
    rows = row_names(list(dict.fromkeys(f"{one.rule} / {one.row}" for one in same if one.rule)))
    return f"{rows}: " if rows else ""


def _kinds(same: Sequence[Failure], whole: bool) -> str:
    kinds = dict.fromkeys(_kind(one, whole) for one in same)
    return (same[0].sort if len(kinds) > 1 else "") or ", ".join(kinds)


def _kind(failure: Failure, whole: bool) -> str:
    said = clean(f"refused: {failure.message}" if failure.message else failure.kind)
    if failure.verdict in EVER:
        said = f"{failure.verdict}: {said}"
    where = f', in placement "{failure.placement}"' if failure.placement else ""
    return (said if whole else cut(said, _LONG)) + where


def _sums(one: Sequence[FailureChange]) -> list[int]:
    sides = ([f.before for f in one], [f.after for f in one])
    return [sum(f.count for f in side if f) for side in sides]


def _counts(one: Sequence[FailureChange]) -> str:
    sums = _sums(one)
    if one[0].change != "changed":
        sums = [max(sums)]
    values = " → ".join(dict.fromkeys(map(number, sums))) if any(sums) else ""
    cases = plural(len(_ids(one)), "case")
    if values and len(_ids(one)) > 1:
        return f"{values} in {cases}"
    return values or cases


def _mark(finding: FailureChange) -> str:
    failure = finding.after or finding.before
    if failure and failure.excuse:
        return ": ".join(filter(None, (failure.excuse.kind, failure.excuse.issue)))
    return "below the gate" if failure and failure.below else ""


def _others(found: RunDifference) -> Iterator[tuple[str, str, Sequence[str]]]:
    turned = grouped((f"{one.before} → {one.after}", one.case) for one in found.verdicts)
    for pair, cases in turned.items():
        yield "VERDICT", f"{pair} in {plural(len(cases), 'case')}", cases
    if found.answers:
        said = "different answers where the standard leaves it open"
        yield "ANSWERS", f"{said}, in {plural(len(found.answers), 'case')}", found.answers
    for label, results in (("ADDED", found.added), ("REMOVED", found.removed)):
        if results:
            failing = sum(one.verdict in FAILURES for one in results)
            more = f", {number(failing)} of them failing" * bool(failing)
            yield label, plural(len(results), "case") + more, [one.case for one in results]
