"""Compare a run with a list of known failures, excuse those listed, and report outdated entries."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date

from convcheck.gate.compare import Every, compare, version_of
from convcheck.gate.failures import Key, key_of
from convcheck.gate.known_file import KnownList, read_known
from convcheck.gate.problems import ABOUT, notes, problem, vanished
from convcheck.judge.failure import fails_whole
from convcheck.judge.result import FAILURES, CaseResult, Excuse, RunResult, Tolerance
from convcheck.records import replace

__all__ = ["KnownList", "hold", "read_known", "released"]


def hold(result: RunResult, known: KnownList, every: Every, today: date) -> RunResult:
    """Return the result with a list's excuses and problems. Earlier ones are dropped.

    `every` returns the ids of all cases with one of these prefixes, to detect entries with cases
    outside the run. Raises UsageError if the list names causes and the run searched for none.
    """
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
    unversioned = 0
    if not version_of(free.backend.version):
        unversioned = sum(
            e.backend is not None and e.tier in ("", free.tier) for e in known.entries
        )
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
    """Raise UsageError if a list names causes for a tier without a search for them."""
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
