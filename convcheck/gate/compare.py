"""Compare known failures with a run."""

import re
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from fnmatch import filter as matching
from functools import cached_property
from typing import TYPE_CHECKING

from convcheck.errors import UsageError
from convcheck.gate.known_file import CaseName, KnownEntry, KnownList
from convcheck.judge.digest import added, spell_digest
from convcheck.judge.failure import fails_whole, failure_key
from convcheck.judge.result import (
    EVER,
    FAILURES,
    CaseResult,
    Fault,
    Group,
    Names,
    RunResult,
    Verdict,
    corpus_of,
)
from convcheck.rules.find import compact_names

if TYPE_CHECKING:
    from packaging.version import Version


# (rule, '' if the case failed as a whole; verdict, None in an entry of a cause)
Key = tuple[str, Verdict | None]
_DIGITS = 16  # digits of a corpus hash in a list


@dataclass(frozen=True)
class FailureCounts:
    """A failure merged over cases: values and their digest, or whole cases."""

    ids: tuple[str, ...]
    count: int
    digest: str = ""
    corpus: str = ""
    #: Its kinds; for refusals and whole cases, the runtime's messages.
    kinds: tuple[str, ...] = ()


@dataclass(frozen=True)
class Failures:
    """A run's failures."""

    result: RunResult

    @cached_property
    def cases(self) -> dict[str, CaseResult]:
        """Results by case id, in plan order."""
        return {case.case.id: case for case in self.result.cases}

    @cached_property
    def by_key(self) -> dict[Key, dict[str, list[Group]]]:
        """Groups of each failure by case id."""
        found: dict[Key, dict[str, list[Group]]] = {}
        for name, case in self.cases.items():
            for group in case.groups:
                if group.verdict in FAILURES:
                    key = key_of(group.verdict, group)
                    found.setdefault(key, {}).setdefault(name, []).append(group)
            if fails_whole(case):
                found.setdefault(key_of(case.verdict, None), {})[name] = []
        return found

    @cached_property
    def keys(self) -> dict[str, list[Key]]:
        """Failures of each failing case."""
        found: dict[str, list[Key]] = {}
        for key, cases in self.by_key.items():
            for name in cases:
                found.setdefault(name, []).append(key)
        return found

    @cached_property
    def unfinished(self) -> frozenset[str]:
        """The incomplete cases."""
        return frozenset(part.case.id for part in self.result.parts)

    def listed(self, name: str, key: Key, causes: Names) -> Sequence[Key]:
        """Return a case's failures with this key, or predicted by these causes together."""
        if causes:
            given = sorted(causes) in map(sorted, predicted_by(self.cases[name]))
            return self.keys.get(name, ()) if given else ()
        return (key,) if name in self.by_key.get(key, ()) else ()

    def is_left(self, name: str, taken: Container[tuple[str, Key]]) -> bool:
        """Return whether a case has other failures."""
        return any((name, key) not in taken for key in self.keys.get(name, ()))

    def tally(self, key: Key, ids: Sequence[str]) -> FailureCounts:
        """Merge a failure over cases."""
        groups = [group for name in ids for group in self.by_key[key][name]]
        said = [_kind(group) for group in groups] or [self.cases[name].message for name in ids]
        plain = ("".join(c if c.isprintable() else " " for c in text) for text in said)
        return FailureCounts(
            tuple(ids),
            sum(group.count for group in groups) if key[0] else len(ids),
            spell_digest(added(int(g.digest, 16) for g in groups)) if groups and key[0] else "",
            self.corpus(ids),
            tuple(dict.fromkeys(" ".join(text.split()) for text in plain)),
        )

    def corpus(self, ids: Iterable[str]) -> str:
        """Hash the vectors of some cases' specs, in 16 hexadecimal digits."""
        specs = {name.partition("/")[0] for name in ids}
        return corpus_of(tuple(pair for pair in self.result.corpora if pair[0] in specs))[:_DIGITS]


def _kind(group: Group) -> str:
    said = next((example.message for example in group.examples), "")
    return said if group.verdict == "refused" and said else group.kind


def predicted_by(case: CaseResult) -> tuple[Names, ...]:
    """Return the causes of every answer, () if answers also depend on a placement."""
    failing = [group for group in case.groups if group.verdict in FAILURES]
    if case.diagnosis is None or fails_whole(case):
        return ()
    elsewhere = any(group.placement or group.verdict in EVER for group in failing)
    return () if elsewhere else case.diagnosis.fits


def key_of(verdict: Verdict, group: Group | None) -> Key:
    """Return the key of a group, or of a whole case."""
    return failure_key(verdict, group).name, verdict


# returns the ids of all cases with one of these prefixes
Every = Callable[[tuple[str, ...]], Iterable[str]]
Taken = tuple[str, Key]  # (case id, failure)
_VERSION = re.compile(r"(?<![\w.])v?(\d+(?:\.\d+)*(?:(?:a|b|rc|\.?dev|\.?post)\d+)*)")


@dataclass(frozen=True)
class CheckedEntry:
    """An entry compared with a run."""

    entry: KnownEntry
    here: tuple[str, ...]  # its cases in the run
    now: FailureCounts
    away: tuple[str, ...]  # its other cases
    unknown: tuple[str, ...]  # names that match nothing
    passing: tuple[str, ...]  # cases that do not fail
    otherwise: tuple[str, ...]  # cases that fail unlike its cause predicts
    corpus: str  # the hash of its specs' vectors
    by: KnownEntry | None  # an earlier entry with the same failures
    takes: tuple[Taken, ...]  # its failures in the run
    today: date

    @property
    def fault(self) -> Fault | None:
        """What is wrong with it."""
        entry, now = self.entry, self.now
        if not (self.here or self.away):
            return "unmatched"
        if not (self.away or now.ids):
            return "stale"
        if now.ids and entry.until is not None and entry.until < self.today:
            return "expired"
        if self.freed or not (self.away or self.same):
            return "changed"
        if self.otherwise and not entry.waived:
            return "changed"
        return "unmatched" if self.unknown else None

    @property
    def excused(self) -> bool:
        """Whether it excuses its failures. A changed entry of a cause does."""
        void = self.fault == "expired" or (self.fault == "changed" and not self.entry.cause)
        return bool(self.now.ids) and not self.over and not void

    @property
    def over(self) -> bool:
        """Whether some cases exceed the count for all."""
        return bool(self.away and self.entry.count and self.now.count > self.entry.count)

    @property
    def moved(self) -> bool:
        """Whether the vectors have changed."""
        return self.entry.corpus not in ("", self.corpus)

    @property
    def same(self) -> bool:
        """Whether count and digest match the run."""
        entry, now = self.entry, self.now
        return entry.count in (None, now.count) and entry.digest in ("", now.digest)

    @property
    def freed(self) -> bool:
        """Whether it names cases without this failure, which only a waiver may."""
        return bool(self.passing) and not (self.away or self.entry.waived)

    @property
    def names(self) -> tuple[str, ...]:
        """The case names that it should have."""
        own: list[str] = []
        for name in self.entry.names:
            left = [one for one in name.ids if one not in self.unknown]
            own += [name.name] if len(left) == len(name.ids) else compact_names(left)
        if self.entry.waived:
            return tuple(own)
        part = self.away and not self.otherwise
        ids = (*(self.here if part else self.now.ids), *self.away)
        named = {name for one in self.entry.names for name in one.ids}
        return tuple(own if named == set(ids) else compact_names(ids))


@dataclass(frozen=True)
class Comparison:
    """A compared list. `taken` maps failures to their entries."""

    failures: Failures
    findings: tuple[CheckedEntry, ...]
    taken: Mapping[Taken, KnownEntry]
    #: Ids of all cases in the run and in the specs that entries name.
    known: Iterable[str]


def compare(result: RunResult, known: KnownList, every: Every, today: date) -> Comparison:
    """Compare a list with a run. Raises UsageError for a user's own inputs."""
    if result.own_inputs:
        hint = "run it without --inputs"
        raise UsageError("known failures do not apply to a run with --inputs", hint=hint)
    version = version_of(result.backend.version)
    entries = [entry for entry in known.entries if entry.concerns(result.tier, version)]
    failures = Failures(result)
    ids = existing((name for entry in entries for name in entry.names), failures.cases, every)
    taken: dict[Taken, KnownEntry] = {}
    findings = tuple(_find(entry, failures, ids, taken, today) for entry in entries)
    return Comparison(failures, findings, taken, ids)


def version_of(text: str) -> "Version | None":
    """Return the first version number in a text, if any."""
    from packaging.version import InvalidVersion, Version

    found = _VERSION.search(text)
    try:
        return Version(found[1]) if found else None
    except InvalidVersion:
        return None


def existing(names: Iterable[CaseName], here: Iterable[str], every: Every) -> dict[str, None]:
    """Return the case ids in a run and in the named specs."""
    heads = {text.partition("/")[0] for name in names for text in name.ids}
    starts = tuple({re.split(r"[*?\[]", head)[0] for head in heads})
    return dict.fromkeys((*here, *(every(starts) if starts else ())))


def cases_of(
    names: Iterable[CaseName], ids: Mapping[str, None]
) -> tuple[dict[str, None], list[str]]:
    """Return the matching cases, and the names that match nothing."""
    found: dict[str, None] = {}
    unknown: list[str] = []
    for one in (one for name in names for one in name.ids):
        if one in ids:
            found[one] = None
        elif matched := matching(ids, one):
            found.update(dict.fromkeys(matched))
        else:
            unknown.append(one)
    return found, unknown


def _find(
    entry: KnownEntry, failures: Failures, ids: Mapping[str, None], taken: dict[Taken, KnownEntry],
    today: date,
) -> CheckedEntry:  # fmt: skip
    matched, unknown = cases_of(entry.names, ids)
    out = failures.unfinished if entry.cause else ()
    here = [name for name in matched if name in failures.cases and name not in out]
    key = (entry.rule, entry.verdict)
    having = {name: keys for name in here if (keys := failures.listed(name, key, entry.cause))}
    listed = [(name, each) for name, keys in having.items() for each in keys]
    takes = [pair for pair in listed if pair not in taken]
    by = next((taken[pair] for pair in listed if pair in taken), None)
    taken.update(dict.fromkeys(takes, entry))
    others = [name for name in here if name not in having]
    others = [name for name in others if failures.cases[name].verdict != "unsupported"]
    otherwise = [name for name in others if entry.cause and failures.is_left(name, taken)]
    failing = list(dict.fromkeys(name for name, _ in takes))
    return CheckedEntry(
        entry,
        tuple(here),
        FailureCounts(tuple(failing), 0) if entry.cause else failures.tally(key, failing),
        tuple(name for name in matched if name not in here),
        tuple(unknown),
        tuple(name for name in others if name not in otherwise),
        tuple(otherwise),
        failures.corpus(here),
        by,
        tuple(takes),
        today,
    )
