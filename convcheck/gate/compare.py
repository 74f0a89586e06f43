"""Every entry of a list of known failures, next to what a run found."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date
from typing import TYPE_CHECKING

from convcheck.errors import UsageError
from convcheck.gate.entry_text import rewritten
from convcheck.gate.failures import Every, FailureCounts, Failures, Key
from convcheck.gate.glob_match import Index
from convcheck.gate.globs import globs_of
from convcheck.gate.known_file import KnownEntry, KnownList
from convcheck.judge.result import Fault, RunResult

if TYPE_CHECKING:
    from packaging.version import Version

Taken = tuple[str, Key]  # a case, and a failure of it
_VERSION = re.compile(r"(?<![\w.])v?(\d+(?:\.\d+)*(?:(?:a|b|rc|\.?dev|\.?post)\d+)*)")


@dataclass(frozen=True)
class CheckedEntry:
    """What became of an entry. Its cases are those that its globs match.

    `here` are its cases in the run, `corpus` is of their specs, and `now` is what of it failed
    there. `partly` tells that the run has not all its cases. `unmatched` are globs that match no
    case at all, `free` the cases that were judged and do not fail so, `otherwise` those that fail
    and are not as its cause predicts. `by` is an entry before it that takes what it lists.
    `excused` tells whether its failures are, whatever its `fault`.
    """

    entry: KnownEntry
    here: tuple[str, ...]
    corpus: str
    now: FailureCounts
    partly: bool
    unmatched: tuple[str, ...]
    free: tuple[str, ...]
    otherwise: tuple[str, ...]
    by: KnownEntry | None
    #: Its failures in the run, each with its case.
    takes: tuple[Taken, ...]
    fault: Fault | None = None
    excused: bool = False

    @property
    def over(self) -> bool:
        """Whether some of the cases have more failures than are listed for all."""
        return self.partly and self.entry.count is not None and self.now.count > self.entry.count

    @property
    def moved(self) -> bool:
        """Whether the vectors have changed since the entry was written."""
        return self.entry.corpus not in ("", self.corpus)

    @property
    def same(self) -> bool:
        """Whether count and digest, where the entry has them, are those of the run."""
        entry, now = self.entry, self.now
        return entry.count in (None, now.count) and entry.digest in ("", now.digest)


@dataclass(frozen=True)
class Comparison:
    """A list next to a run: a finding for each entry that concerns the run, in the file's order.

    `taken` has the entry that lists a failure of a case.
    """

    failures: Failures
    index: Index
    #: What became of each entry.
    findings: tuple[CheckedEntry, ...]
    taken: Mapping[Taken, KnownEntry]

    def corpus(self, globs: Iterable[str]) -> str:
        """Hash the vectors of the specs of the run's cases that globs match."""
        matched = frozenset[str]().union(*(self.index.matches(glob) for glob in globs))
        return self.failures.corpus(matched & self.failures.cases.keys())

    def repaired(self, finding: CheckedEntry, late: bool = False) -> str:
        """Write an entry as it ought to be now; of one with a part of its cases in the run, only
        without globs that match nothing. `late` marks its date.
        """
        globs = self.narrowed(finding)
        if finding.partly or finding.entry.cause:
            return rewritten(finding.entry, globs, None, "", late)
        return rewritten(finding.entry, globs, finding.now, self.corpus(globs), late)

    def narrowed(self, finding: CheckedEntry) -> tuple[str, ...]:
        """Return the globs that an entry ought to have: of its own those that fit, and others for
        the cases that these leave.
        """
        entry = finding.entry
        found = {glob: self.index.matches(glob) for glob in entry.globs}
        if not entry.narrow or (finding.partly and not entry.cause):
            return tuple(glob for glob, names in found.items() if names)
        away = sorted(frozenset[str]().union(*found.values()).difference(finding.here))
        free, ids = self.failures.unsupported, (*finding.now.ids, *away)
        wanted = frozenset(ids)
        fitting = [g for g, names in found.items() if names & wanted and names - free <= wanted]
        covered = frozenset[str]().union(*(found[glob] for glob in fitting))
        left = [name for name in ids if name not in covered]
        return (*fitting, *globs_of(left, free | wanted, self.index))


def compare(result: RunResult, known: KnownList, every: Every, today: date) -> Comparison:
    """Put a list next to a run. `every` gives the ids of all cases that begin with such a text.

    Raises UsageError for a run of other inputs than a tier's: no list is of those.
    """
    if result.own_inputs:
        hint = "run it without --inputs"
        raise UsageError("a list of known failures is for the inputs of a tier", hint=hint)
    version = version_of(result.backend.version)
    entries = [entry for entry in known.entries if entry.concerns(result.tier, version)]
    failures = Failures(result)
    index = _index(entries, failures, every) if entries else Index(())
    taken: dict[Taken, KnownEntry] = {}
    findings = [_judged(_find(entry, failures, index, taken), today) for entry in entries]
    return Comparison(failures, index, tuple(findings), taken)


def version_of(text: str) -> Version | None:
    """Return the first version number in a backend's version text, None where there is none."""
    from packaging.version import InvalidVersion, Version

    found = _VERSION.search(text)
    try:
        return Version(found[1]) if found else None
    except InvalidVersion:
        return None


def _index(entries: Iterable[KnownEntry], failures: Failures, every: Every) -> Index:
    """Index the cases of the operators that the entries name, and those of the run."""
    heads = {re.split(r"[*?\[/-]", glob)[0] for entry in entries for glob in entry.globs}
    start = tuple(heads)
    return Index((*failures.cases, *(name for name in every(start) if name.startswith(start))))


def _find(
    entry: KnownEntry, failures: Failures, index: Index, taken: dict[Taken, KnownEntry]
) -> CheckedEntry:
    """Find an entry's failures among those that no entry before it has taken."""
    found = {glob: index.matches(glob) for glob in entry.globs}
    matched = frozenset[str]().union(*found.values())
    whole = matched - failures.unfinished if entry.cause else matched
    here = sorted(whole & failures.order.keys(), key=failures.order.__getitem__)
    key = (entry.rule, entry.verdict)
    having = {name: keys for name in here if (keys := failures.listed(name, key, entry.cause))}
    listed = [(name, each) for name, keys in having.items() for each in keys]
    takes = tuple(pair for pair in listed if pair not in taken)
    by = next((taken[pair] for pair in listed if pair in taken), None)
    taken.update(dict.fromkeys(takes, entry))
    others = [name for name in here if name not in having and name not in failures.unsupported]
    otherwise = _otherwise(others, failures, taken) if entry.cause else ()
    ids = tuple(dict.fromkeys(name for name, _ in takes))
    return CheckedEntry(
        entry, tuple(here), failures.corpus(here),
        FailureCounts(ids, len(ids), "", ()) if entry.cause else failures.tally(key, ids),
        len(here) < len(matched), tuple(glob for glob, names in found.items() if not names),
        tuple(name for name in others if name not in otherwise), otherwise, by, takes,
    )  # fmt: skip


def _otherwise(
    names: Iterable[str], failures: Failures, taken: Mapping[Taken, KnownEntry]
) -> tuple[str, ...]:
    """Return which of some cases fail, and not as entries before have it."""
    keys = failures.keys
    return tuple(n for n in names if any((n, key) not in taken for key in keys.get(n, ())))


def _judged(finding: CheckedEntry, today: date) -> CheckedEntry:
    """Return what became of an entry with its fault. What its cause predicts is excused, though
    other cases of it have changed.
    """
    fault = _fault(finding, today)
    void = fault == "expired" or (fault == "changed" and not finding.entry.cause)
    excused = bool(finding.now.ids) and not finding.over and not void
    return replace(finding, fault=fault, excused=excused)


def _fault(finding: CheckedEntry, today: date) -> Fault | None:
    """Return what is wrong with an entry. Of one with a part of its cases in the run, only what
    the others cannot change.
    """
    entry, now = finding.entry, finding.now
    if len(finding.unmatched) == len(entry.globs):
        return "unmatched"
    if not (finding.partly or now.ids):
        return "stale"
    if now.ids and entry.until is not None and entry.until < today:
        return "expired"
    if (finding.otherwise and entry.narrow) or not (finding.partly or finding.same):
        return "changed"
    if finding.unmatched:
        return "unmatched"
    if finding.free and not finding.partly and entry.narrow:
        return "too broad"
    return None
