"""Index the failures of a run by case, rule and verdict."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from convcheck.judge.digest import added, spell_digest
from convcheck.judge.failure import fails_whole, failure_key
from convcheck.judge.result import (
    EVER,
    FAILURES,
    CaseResult,
    Group,
    Names,
    RunResult,
    Verdict,
    corpus_of,
)

# (rule, '' if the case failed as a whole; verdict, None in an entry of a cause)
Key = tuple[str, Verdict | None]
_DIGITS = 16  # digits of a corpus hash in a list


@dataclass(frozen=True)
class FailureCounts:
    """A failure merged over cases: the number of values, or of cases that failed as a whole.

    `digest` covers all values; '' for whole cases. `corpus` is the hash of the specs' vectors.
    """

    #: The ids of its cases.
    ids: tuple[str, ...]
    count: int
    digest: str = ""
    corpus: str = ""
    #: Its kinds; for refusals and whole cases, the runtime's messages.
    kinds: tuple[str, ...] = ()


@dataclass(frozen=True)
class Failures:
    """The failures of a run. `cases` is in plan order."""

    result: RunResult

    @cached_property
    def cases(self) -> dict[str, CaseResult]:
        """The results by case id."""
        return {case.case.id: case for case in self.result.cases}

    @cached_property
    def by_key(self) -> dict[Key, dict[str, list[Group]]]:
        """The groups of each failure, by case id."""
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
        """The failures of each failing case."""
        found: dict[str, list[Key]] = {}
        for key, cases in self.by_key.items():
            for name in cases:
                found.setdefault(name, []).append(key)
        return found

    @cached_property
    def unfinished(self) -> frozenset[str]:
        """The incomplete cases of the run."""
        return frozenset(part.case.id for part in self.result.parts)

    def listed(self, name: str, key: Key, causes: Names) -> Sequence[Key]:
        """Return the failures of a case with this key, or predicted by these causes together."""
        if causes:
            given = sorted(causes) in map(sorted, predicted_by(self.cases[name]))
            return self.keys.get(name, ()) if given else ()
        return (key,) if name in self.by_key.get(key, ()) else ()

    def is_left(self, name: str, taken: Container[tuple[str, Key]]) -> bool:
        """Return whether a case has an unlisted failure."""
        return any((name, key) not in taken for key in self.keys.get(name, ()))

    def tally(self, key: Key, ids: Sequence[str]) -> FailureCounts:
        """Merge a failure over some of its cases."""
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
        """Return the hash of the vectors of some cases' specs, in 16 hexadecimal digits."""
        specs = frozenset(name.partition("/")[0] for name in ids)
        if specs not in self._hashes:
            found = tuple(pair for pair in self.result.corpora if pair[0] in specs)
            self._hashes[specs] = corpus_of(found)[:_DIGITS]
        return self._hashes[specs]

    @cached_property
    def _hashes(self) -> dict[frozenset[str], str]:
        return {}


def _kind(group: Group) -> str:
    said = next((example.message for example in group.examples), "")
    return said if group.verdict == "refused" and said else group.kind


def predicted_by(case: CaseResult) -> tuple[Names, ...]:
    """Return the causes that give every answer of a failing case.

    Empty if the answers also depend on a placement.
    """
    failing = [group for group in case.groups if group.verdict in FAILURES]
    if case.diagnosis is None or fails_whole(case):
        return ()
    elsewhere = any(group.placement or group.verdict in EVER for group in failing)
    return () if elsewhere else case.diagnosis.fits


def key_of(verdict: Verdict, group: Group | None) -> Key:
    """Return the key of a failing group, or of a case that fails as a whole."""
    return failure_key(verdict, group).name, verdict
