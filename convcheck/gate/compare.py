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

_VERSION = re.compile(r"(?<![\w.])v?(\d+(?:\.\d+)*(?:(?:a|b|rc|\.?dev|\.?post)\d+)*)")


@dataclass(frozen=True)
class CheckedEntry:
    """What became of an entry. Its cases are those that its globs match.

    `here` are its cases in the run, `corpus` is of their specs, and `now` is what of it failed
    there. `partly` tells that the run has not all its cases. `unmatched` are globs that match no
    case at all, `free` the cases that were judged and do not fail so. `by` is an entry before it
    that takes what it lists. `excused` tells whether its failures are, whatever its `fault`.
    """

    entry: KnownEntry
    here: tuple[str, ...]
    corpus: str
    now: FailureCounts
    partly: bool
    unmatched: tuple[str, ...]
    free: tuple[str, ...]
    by: KnownEntry | None
    fault: Fault | None = None
    excused: bool = False

    @property
    def key(self) -> Key:
        """What the entry lists."""
        return (self.entry.rule, self.entry.verdict)

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
    taken: Mapping[tuple[str, Key], KnownEntry]

    def corpus(self, globs: Iterable[str]) -> str:
        """Hash the vectors of the specs of the run's cases that globs match."""
        matched = frozenset[str]().union(*(self.index.matches(glob) for glob in globs))
        return self.failures.corpus(matched & self.failures.cases.keys())

    def repaired(self, finding: CheckedEntry, late: bool = False) -> str:
        """Write an entry as it ought to be now; of one with a part of its cases in the run, only
        without globs that match nothing. `late` marks its date.
        """
        globs = self.narrowed(finding)
        if finding.partly:
            return rewritten(finding.entry, globs, None, "", late)
        return rewritten(finding.entry, globs, finding.now, self.corpus(globs), late)

    def narrowed(self, finding: CheckedEntry) -> tuple[str, ...]:
        """Return the globs that an entry ought to have: of its own those that fit, and others for
        the cases that these leave.
        """
        found = {glob: self.index.matches(glob) for glob in finding.entry.globs}
        if finding.partly or finding.entry.count is None:
            return tuple(glob for glob, names in found.items() if names)
        free, wanted = self.failures.unsupported, frozenset(finding.now.ids)
        fitting = [g for g, names in found.items() if names & wanted and names - free <= wanted]
        covered = frozenset[str]().union(*(found[glob] for glob in fitting))
        left = [name for name in finding.now.ids if name not in covered]
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
    taken: dict[tuple[str, Key], KnownEntry] = {}
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
    entry: KnownEntry, failures: Failures, index: Index, taken: dict[tuple[str, Key], KnownEntry]
) -> CheckedEntry:
    """Find an entry's failures among those that no entry before it has taken."""
    found = {glob: index.matches(glob) for glob in entry.globs}
    matched = frozenset[str]().union(*found.values())
    here = sorted(matched & failures.order.keys(), key=failures.order.__getitem__)
    key = (entry.rule, entry.verdict)
    having = failures.by_key.get(key, {})
    failing = [name for name in here if name in having]
    now = failures.tally(key, [name for name in failing if (name, key) not in taken])
    by = next((taken[name, key] for name in failing if (name, key) in taken), None)
    taken.update({(name, key): entry for name in now.ids})
    return CheckedEntry(
        entry, tuple(here), failures.corpus(here), now, len(here) < len(matched),
        tuple(glob for glob, names in found.items() if not names),
        tuple(name for name in here if name not in having and name not in failures.unsupported),
        by,
    )  # fmt: skip


def _judged(finding: CheckedEntry, today: date) -> CheckedEntry:
    fault = _fault(finding, today)
    excused = bool(finding.now.ids) and not finding.over and fault not in ("expired", "changed")
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
    if not (finding.partly or finding.same):
        return "changed"
    if finding.unmatched:
        return "unmatched"
    if finding.free and not finding.partly and entry.count is not None:
        return "too broad"
    return None
