"""Failures that are the same across cases, put together."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, replace

from convcheck.errors import Place
from convcheck.judge.failure import fails_whole, failure_key, failure_key_of_cause, sort_of
from convcheck.judge.result import (
    FAILURES,
    CaseResult,
    Excuse,
    Group,
    RunResult,
    Verdict,
    gates,
)
from convcheck.judge.words import clean
from convcheck.rules.model import Level
from convcheck.semantics.expected import Decision

SEVERAL = "wrong elements of several kinds"
_URGENT: tuple[Verdict, ...] = ("error", "crashed")


@dataclass(frozen=True)
class Member:
    """A case with the group that it has in a block; None where the case failed as a whole.

    `kinds` are those of all the case's groups that were put together in it.
    """

    case: CaseResult
    group: Group | None
    kinds: tuple[str, ...] = ()


@dataclass(frozen=True)
class Block:
    """The same failure in one or more cases. `gated` tells whether it fails the run.

    It does not where it has an excuse, by one entry of a list of known failures for all of it.
    """

    verdict: Verdict
    gated: bool
    members: tuple[Member, ...]

    @property
    def group(self) -> Group | None:
        """The group of the first case: it stands for all."""
        return self.members[0].group

    @property
    def excuse(self) -> Excuse | None:
        """Why it does not fail the run, where a list says so."""
        group = self.group
        return group.excuse if group else self.members[0].case.excuse

    @property
    def count(self) -> int:
        """How many values fail."""
        return sum(m.group.count for m in self.members if m.group)

    @property
    def of(self) -> int:
        """How many values the rule row decided in these cases."""
        return sum(m.group.of for m in self.members if m.group)

    @property
    def shown(self) -> Member:
        """The first member that has an example."""
        return next((m for m in self.members if m.group and m.group.examples), self.members[0])

    @property
    def kind(self) -> str:
        """What is wrong: of several kinds, of what sort they are, or all of them."""
        groups = [m.group for m in self.members if m.group]
        kinds = list(dict.fromkeys(kind for m in self.members for kind in m.kinds))
        if len(kinds) < 2:
            return "".join(kinds)
        return sort_of(groups[0]) or ", ".join(kind for kind in kinds if kind != SEVERAL)

    @property
    def rows(self) -> list[Decision]:
        """The rows that decided the failing values, one entry a name, in the cases' order."""
        found = (m.group.decision for m in self.members if m.group)
        return list({decision.name: decision for decision in found}.values())

    @property
    def places(self) -> list[Place]:
        """Where the first of the rows stands: one place a spec file that changed it."""
        name = self.rows[0].name if self.rows else ""
        groups = (m.group for m in self.members if m.group)
        return list(dict.fromkeys(g.decision.place for g in groups if g.decision.name == name))

    @property
    def message(self) -> str:
        """The runtime's own words, where no example says them, nor a block of their own."""
        first = self.members[0]
        if first.group and first.case.verdict == "error":
            return ""
        message = clean(first.case.message)
        examples = self.shown.group.examples if self.shown.group else ()
        return "" if any(clean(e.message) == message for e in examples) else message


def blocks(result: RunResult) -> list[Block]:
    """Put the failures of a run together, the gravest first."""
    return blocks_of(result.cases, result.level)


def blocks_of(cases: Iterable[CaseResult], level: Level) -> list[Block]:
    """Put the failures of some cases of a run gated at `level` together, the gravest first."""
    found: dict[Hashable, list[Member]] = {}
    for case in cases:
        for key, member in _failures(case):
            found.setdefault(key, []).append(member)
    return sorted((_block(members, level) for members in found.values()), key=_gravity)


def _failures(case: CaseResult) -> Iterator[tuple[Hashable, Member]]:
    groups = [g for g in case.groups if g.verdict in FAILURES]
    found: dict[Hashable, list[Group]] = {}
    for group in groups:
        cause = (failure_key_of_cause(group, case.case), group.excuse)
        found.setdefault(cause, []).append(group)
    for key, same in found.items():
        yield key, Member(case, _together(same), tuple(g.kind for g in same))
    if fails_whole(case):
        yield (
            (failure_key(case.verdict, None, clean(case.message)), case.excuse),
            Member(case, None),
        )


def _together(groups: list[Group]) -> Group:
    """Make one group of a case's groups that are the same failure, as its first."""
    decided = {g.decision.name: g.of for g in groups}  # of several kinds under one row, once
    count = sum(g.count for g in groups)
    return replace(groups[0], count=count, of=sum(decided.values()))


def _block(members: list[Member], level: Level) -> Block:
    case, group = members[0].case, members[0].group
    gated = gates(group, level) if group else case.excuse is None
    return Block(group.verdict if group else case.verdict, gated, tuple(members))


def _gravity(block: Block) -> tuple[bool, bool, int, int, int]:
    rank = _URGENT.index(block.verdict) if block.verdict in _URGENT else len(_URGENT)
    return (not block.gated, block.excuse is not None, rank, -len(block.members), -block.count)
