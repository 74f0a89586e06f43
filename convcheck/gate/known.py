"""Hold a run against a list of known failures: excuse what is listed and unchanged, and say what
of the list is not true any more.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import date

from convcheck.gate.compare import compare, version_of
from convcheck.gate.failures import Every, Key, key_of
from convcheck.gate.judged import is_judged, vanished
from convcheck.gate.known_file import KnownEntry, KnownList, read_known
from convcheck.gate.repairs import ABOUT, notes, problem
from convcheck.judge.failure import fails_whole
from convcheck.judge.result import FAILURES, CaseResult, Excuse, RunResult
from convcheck.wording import plural

__all__ = ["KnownList", "hold", "read_known", "released"]


def hold(result: RunResult, known: KnownList, every: Every, today: date) -> RunResult:
    """Return the result with the excuses of a list, and with what is wrong with the list.

    `every` gives the ids of all cases that begin with one of some texts: with them, an entry of
    which the run has not all cases is told from one that is not true any more. What an earlier
    list said of the result is dropped. Raises UsageError for a list that names causes, where none
    were tried.
    """
    free = released(result)
    if free.without_causes:
        refuse_causes(known, free.tier)
    comparison = compare(free, known, every, today)
    excuses: dict[str, dict[Key, Excuse]] = {}
    for finding in comparison.findings:
        for name, key in finding.takes if finding.excused else ():
            excuses.setdefault(name, {})[key] = _excuse(finding.entry)
    return replace(
        free,
        cases=tuple(_excused(case, excuses.get(case.case.id)) for case in free.cases),
        notes=(
            *free.notes,
            *notes(comparison, known.path, _unversioned(free, known)),
            *_not_held(free, known),
        ),
        known=known.path,
        problems=(
            *(problem(f, f.fault, comparison) for f in comparison.findings if f.fault is not None),
            *vanished(known.judged, free, every),
        ),
    )


def refuse_causes(known: KnownList, tier: str) -> None:
    """Refuse a list that names causes, for a run of a tier that tries none. Raises UsageError."""
    for entry in known.entries:
        if entry.cause and entry.tier in ("", tier):
            said = "an entry of a cause, and a run in which no causes were tried"
            hint = "run it without --causes none, or with a list of rules"
            raise entry.table.wrong("cause", said, hint)


def _not_held(result: RunResult, known: KnownList) -> Iterator[str]:
    """Say of a list that names nothing judged that it holds the backend to nothing."""
    declined = sum(not is_judged(case) for case in result.cases)
    if declined and not known.judged:
        yield (f"{ABOUT}{known.path} does not say what was judged, so nothing holds the backend to "
               f"{plural(declined, 'case')} not judged here; `convcheck baseline --update` writes "
               "that down")  # fmt: skip


def released(result: RunResult) -> RunResult:
    """Return a result without what a list of known failures said of it."""
    cases = tuple(_released(case) for case in result.cases)
    said = tuple(note for note in result.notes if not note.startswith(ABOUT))
    return replace(result, cases=cases, notes=said, known="", problems=())


def _released(case: CaseResult) -> CaseResult:
    if case.excuse is None and all(group.excuse is None for group in case.groups):
        return case
    groups = tuple(replace(group, excuse=None) for group in case.groups)
    return replace(case, groups=groups, excuse=None)


def _excuse(entry: KnownEntry) -> Excuse:
    return Excuse(entry.tolerance, entry.reason, entry.issue, entry.place)


def _excused(case: CaseResult, excuses: Mapping[Key, Excuse] | None) -> CaseResult:
    if not excuses:
        return case
    groups = tuple(
        replace(group, excuse=excuses.get(key_of(group.verdict, group)))
        if group.verdict in FAILURES
        else group
        for group in case.groups
    )
    whole = excuses.get(key_of(case.verdict, None)) if fails_whole(case) else None
    return replace(case, groups=groups, excuse=whole)


def _unversioned(result: RunResult, known: KnownList) -> int:
    """Count the entries for some versions, where the backend does not say its own."""
    if version_of(result.backend.version):
        return 0
    return sum(e.backend is not None and e.tier in ("", result.tier) for e in known.entries)
