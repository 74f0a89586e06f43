"""A list of known failures, written from a run or brought up to date with one."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from convcheck.causes.gather import gathered
from convcheck.errors import Place
from convcheck.gate.compare import CheckedEntry, Comparison, compare
from convcheck.gate.entry_text import fresh, fresh_of_cause
from convcheck.gate.failures import Every, Key, predicted_by
from convcheck.gate.glob_match import Index
from convcheck.gate.globs import globs_of
from convcheck.gate.judged import HEAD, judged_now, judged_table
from convcheck.gate.known import released
from convcheck.gate.known_file import KnownList
from convcheck.gate.toml import Table, lines_of
from convcheck.judge.result import CauseInWords, RunResult, gates


@dataclass(frozen=True)
class Written:
    """A list's text, and what came of its entries.

    `narrowed` counts entries that name fewer cases than before. `late` are those past their date,
    which are left as they are; `partly` those of which the run has not all cases, likewise.
    `judged` counts the cases that the list says were judged.
    """

    text: str
    entries: int
    #: How many entries were added.
    new: int = 0
    #: How many entries were brought up to date.
    changed: int = 0
    narrowed: int = 0
    #: How many entries went, since what they name does not fail any more.
    removed: int = 0
    late: tuple[Place, ...] = ()
    partly: int = 0
    judged: int = 0


@dataclass(frozen=True)
class _Edit:
    """What becomes of a table: its lines as they are to be, '' for none."""

    table: Table
    text: str
    #: Whether it is an entry that names fewer cases than before.
    narrows: bool = False


def baseline(result: RunResult, every: Every) -> Written:
    """Write the list of all that fails the run. `every` is as for `compare`."""
    free = released(result)
    nothing = KnownList("", "", ())
    new = _new(free, compare(free, nothing, every, date.max), every)
    head = (
        f"# Known failures of {result.backend.name}. A run with --known and this file fails on\n"
        "# what is not in it, and on what of it is not true any more.\n"
    )
    judged = judged_now((), result)
    text = "\n".join([head, *new, HEAD + judged_table(judged)])
    return Written(text, len(new), len(new), judged=len(judged))


def updated(
    result: RunResult, known: KnownList, every: Every, today: date, prune: bool = False
) -> Written:
    """Bring a list up to date: with `prune`, only take out what is not true any more.

    Reasons, issues, dates, comments and what does not concern the run stay as they are.
    """
    free = released(result)
    comparison = compare(free, known, every, today)
    edits = [e for f in comparison.findings if (e := _edit(f, comparison, prune)) is not None]
    new = [] if prune else _new(free, comparison, every)
    removed = sum(not edit.text for edit in edits)
    narrowed = sum(bool(edit.text) and edit.narrows for edit in edits)
    judged = judged_now(known.judged, free, add=not prune)
    tables = _edits_of_judged(known, judged)
    first = [] if known.judged or not judged else [HEAD + judged_table(judged)]
    return Written(
        _joined(known.text, [*edits, *tables], [*new, *first]),
        len(known.entries) - removed + len(new),
        len(new),
        len(edits) - removed - narrowed,
        narrowed,
        removed,
        tuple(f.entry.place for f in comparison.findings if f.fault == "expired"),
        sum(f.partly and bool(f.here) for f in comparison.findings),
        len(judged),
    )


def _edits_of_judged(known: KnownList, judged: Mapping[str, None]) -> list[_Edit]:
    """Return what becomes of the tables that say what was judged: nothing where that is so still,
    else the first has it all.
    """
    if judged.keys() == {name for table in known.judged for name in table.ids}:
        return []
    texts = [judged_table(judged), *[""] * len(known.judged)]
    return [_Edit(one.table, text) for one, text in zip(known.judged, texts, strict=False)]


_NARROWER = ("unmatched", "too broad")


def _edit(finding: CheckedEntry, comparison: Comparison, prune: bool) -> _Edit | None:
    """Return what becomes of an entry, None where it stays as it is."""
    if finding.fault == "stale" or len(finding.unmatched) == len(finding.entry.globs):
        return _Edit(finding.entry.table, "")
    if not (finding.now.ids or finding.unmatched or finding.otherwise):
        return None
    narrows = finding.fault in _NARROWER or bool(finding.otherwise)
    if prune and not narrows:
        return None
    text = comparison.repaired(finding)
    table = finding.entry.table
    same = text == "\n".join(table.lines) + "\n"
    return None if same else _Edit(table, text, narrows)


def _joined(text: str, edits: Sequence[_Edit], new: Sequence[str]) -> str:
    """Put the edits into a list's text, from its end, and the new entries after it."""
    lines = lines_of(text)
    for edit in sorted(edits, key=lambda e: -e.table.place.line):
        table = edit.table
        start, end = table.place.line - 1, table.last
        if not edit.text:
            start -= table.lead if table.lead < start else 0  # a comment on line 1 is the file's
            end += end < len(lines) and not lines[end].strip()
        lines[start:end] = lines_of(edit.text)
    while lines and not lines[-1].strip():
        lines.pop()
    kept = "\n".join([*lines, ""]) if lines else ""
    return "\n".join(filter(None, [kept, *new]))


def _new(result: RunResult, comparison: Comparison, every: Every) -> list[str]:
    """Write the entries of what fails the run and is in no entry: by its cause where it has one."""
    failures, entries = comparison.failures, []
    explained = _explained(result, comparison)
    unlisted = list(_unlisted(result, comparison, {n for _, ids in explained for n in ids}))
    index = Index((*failures.cases, *every(("",))) if explained or unlisted else ())
    for causes, names in explained:
        globs = globs_of(names, failures.unsupported.union(names), index)
        entries.append(fresh_of_cause(causes, globs, result.tier))
    for key, names in unlisted:
        globs = globs_of(names, failures.unsupported.union(names), index)
        matched = frozenset[str]().union(*(index.matches(glob) for glob in globs))
        corpus = failures.corpus(matched & failures.cases.keys())
        entries.append(fresh(key, globs, result.tier, corpus, failures.tally(key, names)))
    return entries


def _explained(
    result: RunResult, comparison: Comparison
) -> list[tuple[Sequence[CauseInWords], list[str]]]:
    """Return the causes of what is in no entry, each with its cases."""
    keys = comparison.failures.keys
    new = (
        case
        for case in result.cases
        if predicted_by(case)
        and case.gates(result.level)
        and any((case.case.id, key) not in comparison.taken for key in keys[case.case.id])
    )
    found = gathered(list(new), result.causes).explanations
    return [(one.causes, [case.case.id for case in one.cases]) for one in found]


def _unlisted(
    result: RunResult, comparison: Comparison, explained: Container[str]
) -> Iterator[tuple[Key, list[str]]]:
    """Yield each failure with the cases that have it, an operator at a time; not of cases that
    are explained.
    """
    every = comparison.failures.cases
    for key, cases in comparison.failures.by_key.items():
        found: dict[str, list[str]] = {}
        for name, groups in cases.items():
            counts = not key[0] or any(gates(group, result.level) for group in groups)
            if counts and name not in explained and (name, key) not in comparison.taken:
                found.setdefault(every[name].case.op, []).append(name)
        yield from ((key, names) for names in found.values())
