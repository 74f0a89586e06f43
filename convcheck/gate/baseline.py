"""Write, update and apply lists of known failures."""

import json
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from difflib import get_close_matches
from textwrap import shorten
from typing import Any

from convcheck.causes.gather import gathered
from convcheck.errors import Place
from convcheck.gate.compare import (
    CheckedEntry,
    Comparison,
    Every,
    FailureCounts,
    Key,
    cases_of,
    compare,
    existing,
    key_of,
    predicted_by,
    version_of,
)
from convcheck.gate.known_file import (
    JUDGED,
    KNOWN,
    CaseName,
    KnownList,
    Table,
    lines_of,
    read_known,
)
from convcheck.judge.failure import fails_whole
from convcheck.judge.result import (
    EVER,
    FAILURES,
    CaseResult,
    CauseInWords,
    Excuse,
    Fault,
    Problem,
    RunResult,
    Tolerance,
    gates,
)
from convcheck.judge.words import clean
from convcheck.records import replace
from convcheck.rules.find import compact_names
from convcheck.streams import plural

UNSEEN = "not yet looked into"
LATE = "this date is past: fix it, or set another"
_LONGEST = 70  # characters of a comment


def _fresh(key: Key, tier: str, now: FailureCounts) -> str:
    (rule, verdict), said = key, _ways(now.kinds)
    lines = [
        f"rule = {_quoted(rule)}",
        f'verdict = "{verdict}"{said and f"  # {said}"}',
        f'tier = "{tier}"',
        f'corpus = "{now.corpus}"',
        f"count = {now.count}",
    ]
    # crash messages and thread effects vary, and with them the digest
    if now.digest and verdict not in EVER:
        lines.append(f'digest = "{now.digest}"')
    return _entry(now.ids, lines)


def _fresh_of_cause(causes: Sequence[CauseInWords], ids: Iterable[str], tier: str) -> str:
    names, said = [cause.name for cause in causes], "; and ".join(cause.says for cause in causes)
    cause = json.dumps(names if len(names) > 1 else names[0], ensure_ascii=False)
    return _entry(ids, [f"cause = {cause}  # {_ways([said])}", f'tier = "{tier}"'])


def _entry(ids: Iterable[str], lines: Iterable[str]) -> str:
    names = compact_names(ids)
    said = _quoted(names[0]) if len(names) == 1 else f"[\n{_name_lines(names)}]"
    return "\n".join([f"[[{KNOWN}]]", f"case = {said}", *lines, f'reason = "{UNSEEN}"', ""])


def _judged_table(ids: Iterable[str]) -> str:
    names = _name_lines(compact_names(ids))
    return f"[[{JUDGED}]]\ncase = [\n{names}]\n" if names else ""


def _name_lines(names: Iterable[str]) -> str:
    return "".join(f"    {_quoted(name)},\n" for name in names)


def _ways(kinds: Iterable[str]) -> str:
    return shorten(", ".join(filter(None, kinds)), _LONGEST, placeholder=" …")


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


ABOUT = "known failures: "  # prefix of notes
_SHOWN = 3
_OPEN = ("unsupported", "undefined")


def _problem(finding: CheckedEntry, fault: Fault, comparison: Comparison) -> Problem:
    entry = finding.entry
    gone = fault == "stale" or not (finding.here or finding.away)
    span = entry.table.span
    said = {
        "stale": lambda: _instead(finding, comparison),
        "unmatched": lambda: f"no case is named {_unknown(finding, comparison)}",
        "expired": lambda: (f"should have been fixed by {entry.until}, but still fails; "
                            "fix it, or set another date"),
        "changed": lambda: _change(finding),
    }[fault]()  # fmt: skip
    if gone:
        return Problem(fault, entry.place, f"{said}; remove the entry, {span}")
    if fault == "unmatched":
        said += f"; remove it from {span}"
    elif fault == "changed":
        said += f"; if this is intended, replace {span} with:"
    return Problem(fault, entry.place, said, _repaired(finding, late=fault == "expired"))


def _repaired(finding: CheckedEntry, late: bool = False) -> str:
    """Write a corrected entry, only its names if the run lacks cases. `late` marks the date."""
    import tomlkit

    entry, names = finding.entry, finding.names
    # parse its lines alone, as a document of one table
    document = tomlkit.parse("\n".join(entry.table.lines) + "\n")
    tables: Any = document[entry.table.name]
    table = tables[0]
    if names != tuple(name.name for name in entry.names):
        array = tomlkit.array()
        array.extend(names)
        table["case"] = names[0] if len(names) == 1 else array.multiline(True)
    if not (finding.away or entry.cause):
        now = finding.now
        corpus = finding.corpus if entry.waived else now.corpus
        values = {"corpus": corpus, "count": now.count, "digest": now.digest}
        for key, value in values.items():
            if key in table and table[key] != value:
                table[key] = value
        if table["verdict"].trivia.comment and (said := _ways(now.kinds)):
            table["verdict"].trivia.comment = f"# {said}"  # convcheck wrote it
    if late and LATE not in table["until"].trivia.comment:
        table["until"].comment(LATE)
    return tomlkit.dumps(document)


def _instead(finding: CheckedEntry, comparison: Comparison) -> str:
    if finding.by:
        return f"{finding.by.place} lists it already"
    cases = [comparison.failures.cases[name] for name in finding.here]
    failing = sum(case.verdict in FAILURES for case in cases)
    silent = sum(case.verdict in _OPEN for case in cases)
    if not failing and not silent:
        return "passes now" + (f", in all {plural(len(cases), 'case')}" if len(cases) > 1 else "")
    kinds = {"passing": len(cases) - failing - silent, "failing differently": failing,
             "not judged": silent}  # fmt: skip
    said = ", ".join(f"{count} {kind}" for kind, count in kinds.items() if count)
    return f"no case fails like this now ({said})"


def _unknown(finding: CheckedEntry, comparison: Comparison) -> str:
    first = finding.unknown[0]
    spec = first.partition("/")[0]
    near = get_close_matches(first, [i for i in comparison.known if i.startswith(spec)], 1, 0.7)
    return _few(finding.unknown) + (f" (did you mean {near[0]}?)" if near else "")


def _change(finding: CheckedEntry) -> str:
    entry, now = finding.entry, finding.now
    if entry.cause:
        parts = []
        if ids := finding.otherwise:
            fail = "case fails" if len(ids) == 1 else "cases fail"
            cause = " with ".join(entry.cause)
            parts.append(f"{len(ids):,} {fail} differently than {cause} predicts: {_few(ids)}")
        if ids := finding.passing:
            fail = "case no longer fails" if len(ids) == 1 else "cases no longer fail"
            parts.append(f"{len(ids):,} {fail}: {_few(ids)}")
        return "; ".join(parts)
    if entry.count != now.count:
        said = (
            f"{plural(entry.count or 0, 'failure')} listed, {now.count:,} now, in {_few(now.ids)}"
        )
    elif finding.same:
        said = f"{plural(now.count, 'failure')} as listed, but none in {_few(finding.passing)}"
    else:
        said = f"{plural(now.count, 'failure')} as listed, but with other inputs or answers"
    if finding.by:
        said += f"; {finding.by.place} lists other cases with it"
    if finding.moved:
        said += "; the vectors have changed since"
    elif not finding.same and entry.count == now.count:
        said += "; leave out the digest if answers depend on the processor"
    return said


def _few(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def is_judged(case: CaseResult) -> bool:
    """Return whether anything was judged."""
    return case.verdict not in _OPEN


def _vanished(known: KnownList, result: RunResult, every: Every) -> Iterator[Problem]:
    unfinished = {part.case.id for part in result.parts}
    gone = {case.case.id: case for case in result.cases
            if not is_judged(case) and case.case.id not in unfinished}  # fmt: skip
    ids = existing(known.judged, [case.case.id for case in result.cases], every)
    for name in known.judged:
        instead = f"correct {name.place}"
        if unknown := cases_of([name], ids)[1]:
            said = f"no case is named {_few(unknown)}; {instead}"
            yield Problem("unmatched", name.place, said, _left(name, unknown))
        if here := [gone[one] for one in name.ids if one in gone]:
            names = [case.case.id for case in here]
            words = list(dict.fromkeys(clean(case.message) for case in here if case.message))
            why = ", ".join(words[:_SHOWN]) or "the result is undefined"
            are = "is" if len(names) == 1 else "are"
            said = (f"{plural(len(names), 'case')} {are} no longer judged: {_few(names)}; the "
                    f"backend says: {why}; if this is intended, {instead}")  # fmt: skip
            yield Problem("vanished", name.place, said, _left(name, names))


def _left(name: CaseName, gone: Sequence[str]) -> str:
    return _name_lines(compact_names(one for one in name.ids if one not in gone))


def _notes(comparison: Comparison, known: KnownList, unversioned: int) -> Iterable[str]:
    """Yield notes. `unversioned` counts entries for versions of a backend without one."""
    findings, path = comparison.findings, known.path
    if unversioned:
        apply = "applies" if unversioned == 1 else "apply"
        entries = plural(unversioned, "entry", "entries")
        yield f"{entries} {apply} to some versions of the backend, but it reports none"
    if partly := sum(bool(f.away and f.here) for f in findings):
        were, whose = ("was", "its") if partly == 1 else ("were", "their")
        entries = plural(partly, "entry", "entries")
        yield f"{entries} of {path} {were} compared in part: the run has only some of {whose} cases"
    for finding in findings:
        if finding.over:
            listed = plural(finding.entry.count or 0, "failure")
            yield (f"{finding.entry.place} lists {listed}, but some of its cases already have "
                   f"{finding.now.count:,}: not excused")  # fmt: skip
    if moved := sum(f.moved and f.fault is None and f.excused and not f.away for f in findings):
        entries = plural(moved, "entry", "entries")
        yield (f"the vectors of {entries} of {path} have changed, but the failures have not; "
               "`--known FILE --update` updates the entries")  # fmt: skip
    declined = sum(not is_judged(case) for case in comparison.failures.cases.values())
    if declined and not known.judged:
        yield (f"{path} does not list judged cases, so {plural(declined, 'case')} not judged here "
               "cannot be reported; `--known FILE --update` adds the list")  # fmt: skip


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
        notes=(*free.notes, *(ABOUT + note for note in _notes(comparison, known, unversioned))),
        known=known.path,
        problems=(
            *(_problem(f, f.fault, comparison) for f in comparison.findings if f.fault is not None),
            *_vanished(known, free, every),
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
    head = (
        f"# Known failures of {result.backend.name}. A run with --known and this file fails\n"
        "# on other failures, and on entries that are out of date.\n"
    )
    return updated(result, KnownList("", head, ()), lambda starts: (), date.max)


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
        texts = [_judged_table(judged), *[""] * len(known.tables)]
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
    text = _repaired(finding)
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
        *(_fresh_of_cause(causes, ids, result.tier) for causes, ids in explained),
        *(_fresh(key, result.tier, comparison.failures.tally(key, ids))
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
