"""A list of known failures, written from a run or brought up to date with one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date

from convcheck.errors import Place
from convcheck.gate.compare import CheckedEntry, Comparison, compare
from convcheck.gate.entry_text import fresh
from convcheck.gate.failures import Every, Key
from convcheck.gate.glob_match import Index
from convcheck.gate.globs import globs_of
from convcheck.gate.known import released
from convcheck.gate.known_file import KnownList
from convcheck.gate.toml import lines_of
from convcheck.judge.result import RunResult, gates


@dataclass(frozen=True)
class Written:
    """A list's text, and what came of its entries.

    `narrowed` counts entries that name fewer cases than before. `late` are those past their date,
    which are left as they are; `partly` those of which the run has not all cases, likewise.
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


@dataclass(frozen=True)
class _Edit:
    """What becomes of an entry: its lines as they are to be, '' for none."""

    finding: CheckedEntry
    text: str


def baseline(result: RunResult, every: Every) -> Written:
    """Write the list of all that fails the run. `every` is as for `compare`."""
    free = released(result)
    nothing = KnownList("", "", ())
    new = _new(free, compare(free, nothing, every, date.max), every)
    head = (
        f"# Known failures of {result.backend.name}. A run with --known and this file fails on\n"
        "# what is not in it, and on what of it is not true any more.\n"
    )
    return Written("\n".join([head, *new]), len(new), len(new))


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
    narrowed = sum(bool(e.text) and e.finding.fault in _NARROWER for e in edits)
    return Written(
        _joined(known.text, edits, new),
        len(known.entries) - removed + len(new),
        len(new),
        len(edits) - removed - narrowed,
        narrowed,
        removed,
        tuple(f.entry.place for f in comparison.findings if f.fault == "expired"),
        sum(f.partly and bool(f.here) for f in comparison.findings),
    )


_NARROWER = ("unmatched", "too broad")


def _edit(finding: CheckedEntry, comparison: Comparison, prune: bool) -> _Edit | None:
    """Return what becomes of an entry, None where it stays as it is."""
    if finding.fault == "stale" or len(finding.unmatched) == len(finding.entry.globs):
        return _Edit(finding, "")
    if not finding.now.ids and not finding.unmatched:
        return None
    if finding.fault not in _NARROWER and prune:
        return None
    text = comparison.repaired(finding)
    return _Edit(finding, text) if text != "\n".join(finding.entry.table.lines) + "\n" else None


def _joined(text: str, edits: Sequence[_Edit], new: Sequence[str]) -> str:
    """Put the edits into a list's text, from its end, and the new entries after it."""
    lines = lines_of(text)
    for edit in sorted(edits, key=lambda e: -e.finding.entry.place.line):
        table = edit.finding.entry.table
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
    """Write the entries of what fails the run and is in no entry."""
    index: Index | None = None
    failures, entries = comparison.failures, []
    for key, names in _unlisted(result, comparison):
        index = index or Index((*failures.cases, *every(("",))))
        globs = globs_of(names, failures.unsupported.union(names), index)
        matched = frozenset[str]().union(*(index.matches(glob) for glob in globs))
        corpus = failures.corpus(matched & failures.cases.keys())
        entries.append(fresh(key, globs, result.tier, corpus, failures.tally(key, names)))
    return entries


def _unlisted(result: RunResult, comparison: Comparison) -> Iterator[tuple[Key, list[str]]]:
    for key, cases in comparison.failures.by_key.items():
        names = [
            name
            for name, groups in cases.items()
            if (name, key) not in comparison.taken
            and (not key[0] or any(gates(group, result.level) for group in groups))
        ]
        if names:
            yield key, names
