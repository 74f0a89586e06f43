"""Write, update and apply lists of known failures."""

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from convcheck.causes.gather import gathered
from convcheck.errors import Place
from convcheck.gate.compare import (
    CheckedEntry,
    Comparison,
    Every,
    Key,
    compare,
    key_of,
    predicted_by,
    version_of,
)
from convcheck.gate.known_file import KnownList, Table, lines_of, read_known
from convcheck.gate.problems import (
    ABOUT,
    fresh,
    fresh_of_cause,
    is_judged,
    judged_table,
    notes,
    problem,
    repaired,
    vanished,
)
from convcheck.judge.failure import fails_whole
from convcheck.judge.result import (
    FAILURES,
    CaseResult,
    CauseInWords,
    Excuse,
    RunResult,
    Tolerance,
    gates,
)
from convcheck.records import replace

__all__ = ["KnownList", "hold", "read_known", "released"]


def hold(result: RunResult, known: KnownList, every: Every, today: date) -> RunResult:
    """Return the result with a list's excuses and problems. Raises UsageError without causes."""
    free = released(result)
    if free.without_causes:
        refuse_causes(known, free.tier)
    comparison = compare(free, known, every, today)
    excuses: dict[str, dict[Key, Excuse]] = {}
    for finding in comparison.findings:
        entry = finding.entry
        kind: Tolerance = "waived" if entry.waived else "known"
        excuse = Excuse(kind, entry.reason, entry.issue, entry.place)
        for name, key in finding.takes if finding.excused else ():
            excuses.setdefault(name, {})[key] = excuse
    of_versions = [e for e in known.entries if e.backend is not None and e.tier in ("", free.tier)]
    unversioned = 0 if version_of(free.backend.version) else len(of_versions)
    return replace(
        free,
        cases=tuple(_excused(case, excuses.get(case.case.id, {})) for case in free.cases),
        notes=(*free.notes, *(ABOUT + note for note in notes(comparison, known, unversioned))),
        known=known.path,
        problems=(
            *(problem(f, f.fault, comparison) for f in comparison.findings if f.fault is not None),
            *vanished(known, free, every),
        ),
    )


def refuse_causes(known: KnownList, tier: str) -> None:
    """Raise UsageError if a list names causes for this tier."""
    for entry in known.entries:
        if entry.cause and entry.tier in ("", tier):
            said = "the entry names a cause, but the run tried none"
            hint = "run it without --no-causes, or with a list of rules"
            raise entry.table.wrong("cause", said, hint)


def released(result: RunResult) -> RunResult:
    """Return a result without excuses and problems."""
    cases = tuple(_excused(case, {}) for case in result.cases)
    said = tuple(note for note in result.notes if not note.startswith(ABOUT))
    return replace(result, cases=cases, notes=said, known="", problems=())


def _excused(case: CaseResult, excuses: Mapping[Key, Excuse]) -> CaseResult:
    if not excuses and case.excuse is None and all(group.excuse is None for group in case.groups):
        return case
    groups = tuple(
        replace(group, excuse=excuses.get(key_of(group.verdict, group)))
        if group.verdict in FAILURES
        else group
        for group in case.groups
    )
    whole = excuses.get(key_of(case.verdict, None)) if fails_whole(case) else None
    return replace(case, groups=groups, excuse=whole)


HEAD = "# Judged cases. A run fails if the backend declines one of them.\n"


@dataclass(frozen=True)
class Written:
    """A list's text, with counts of entries."""

    text: str
    entries: int
    new: int = 0
    changed: int = 0
    #: Entries that now name fewer cases.
    narrowed: int = 0
    #: Entries whose failures are gone.
    removed: int = 0
    #: Expired entries.
    late: tuple[Place, ...] = ()
    #: Entries with cases that the run lacks.
    partly: int = 0
    judged: int = 0


@dataclass(frozen=True)
class _Edit:
    """The new lines of a table; '' deletes it."""

    table: Table
    text: str
    narrows: bool = False


def baseline(result: RunResult) -> Written:
    """Write a list of all failures."""
    free = released(result)
    new = _new(free, compare(free, KnownList("", "", ()), lambda starts: (), date.max))
    head = (
        f"# Known failures of {result.backend.name}. A run with --known and this file fails\n"
        "# on other failures, and on entries that are out of date.\n"
    )
    judged = [case.case.id for case in result.cases if is_judged(case)]
    text = "\n".join([head, *new, HEAD + judged_table(judged)])
    return Written(text, len(new), len(new), judged=len(judged))


def updated(
    result: RunResult, known: KnownList, every: Every, today: date, prune: bool = False
) -> Written:
    """Update a list, or only `prune` what no longer fails. All else is kept."""
    free = released(result)
    comparison = compare(free, known, every, today)
    findings = comparison.findings
    edits = [edit for f in findings if (edit := _edit(f, prune)) is not None]
    new = [] if prune else _new(free, comparison)
    removed = sum(not edit.text for edit in edits)
    narrowed = sum(edit.narrows for edit in edits)
    here = {case.case.id: is_judged(case) for case in free.cases}
    listed = [name for one in known.judged for name in one.ids]
    more = [] if prune else [name for name, was in here.items() if was]
    judged = dict.fromkeys([*(name for name in listed if here.get(name, True)), *more])
    tables, first = [], []
    if judged.keys() != set(listed):
        texts = [judged_table(judged), *[""] * len(known.tables)]
        tables = [_Edit(*both) for both in zip(known.tables, texts, strict=False)]
        first = [] if known.tables else [HEAD + texts[0]]
    return Written(
        _joined(known.text, [*edits, *tables], [*new, *first]),
        len(known.entries) - removed + len(new),
        len(new),
        len(edits) - removed - narrowed,
        narrowed,
        removed,
        tuple(f.entry.place for f in findings if f.fault == "expired"),
        sum(bool(f.away and f.here) for f in findings),
        len(judged),
    )


def _edit(finding: CheckedEntry, prune: bool) -> _Edit | None:
    entry = finding.entry
    if finding.fault == "stale" or not (finding.here or finding.away):
        return _Edit(entry.table, "")
    narrows = bool(finding.unknown or finding.otherwise or finding.freed)
    narrows = narrows and (finding.same or bool(finding.away))
    if prune and not narrows:
        return None
    text = repaired(finding)
    if text == "\n".join(entry.table.lines) + "\n":
        return None
    return _Edit(entry.table, text, narrows)


def _joined(text: str, edits: Sequence[_Edit], new: Sequence[str]) -> str:
    lines = lines_of(text)
    for edit in sorted(edits, key=lambda e: -e.table.place.line):
        table = edit.table
        start, end = table.place.line - 1, table.last
        if not edit.text:
            start -= table.lead if table.lead < start else 0  # line 1 is the file's
            end += end < len(lines) and not lines[end].strip()
        lines[start:end] = lines_of(edit.text)
    while lines and not lines[-1].strip():
        lines.pop()
    kept = "\n".join([*lines, ""]) if lines else ""
    return "\n".join(filter(None, [kept, *new]))


def _new(result: RunResult, comparison: Comparison) -> list[str]:
    explained = _explained(result, comparison)
    done = {name for _, ids in explained for name in ids}
    return [
        *(fresh_of_cause(causes, ids, result.tier) for causes, ids in explained),
        *(fresh(key, result.tier, comparison.failures.tally(key, ids))
          for key, ids in _unlisted(result, comparison, done)),
    ]  # fmt: skip


def _explained(
    result: RunResult, comparison: Comparison
) -> list[tuple[Sequence[CauseInWords], list[str]]]:
    new = [
        case
        for case in result.cases
        if predicted_by(case)
        and case.gates(result.level)
        and comparison.failures.is_left(case.case.id, comparison.taken)
    ]
    found = gathered(new, result.causes).explanations
    return [(one.causes, [case.case.id for case in one.cases]) for one in found]


def _unlisted(
    result: RunResult, comparison: Comparison, explained: Container[str]
) -> Iterator[tuple[Key, list[str]]]:
    every = comparison.failures.cases
    for key, cases in comparison.failures.by_key.items():
        found: dict[str, list[str]] = {}
        for name, groups in cases.items():
            counts = not key[0] or any(gates(group, result.level) for group in groups)
            if counts and name not in explained and (name, key) not in comparison.taken:
                found.setdefault(every[name].case.op, []).append(name)
        yield from ((key, names) for names in found.values())
