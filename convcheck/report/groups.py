"""Failures that are the same across cases, put together."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass

from convcheck.errors import Place
from convcheck.report.words import clean
from convcheck.run.result import FAILURES, CaseResult, Group, RunResult, Verdict, gates
from convcheck.semantics.expected import Decision

_URGENT: tuple[Verdict, ...] = ("error", "crashed")


@dataclass(frozen=True)
class Member:
    """A case with the group that it has in a block; None where the case failed as a whole."""

    case: CaseResult
    group: Group | None


@dataclass(frozen=True)
class Block:
    """The same failure in one or more cases. `gated` tells whether it fails the run."""

    verdict: Verdict
    gated: bool
    members: tuple[Member, ...]

    @property
    def group(self) -> Group | None:
        """The group of the first case: it stands for all."""
        return self.members[0].group

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
        """The runtime's own words, where no example says them."""
        message = clean(self.members[0].case.message)
        examples = self.shown.group.examples if self.shown.group else ()
        return "" if any(clean(e.message) == message for e in examples) else message


def blocks(result: RunResult) -> list[Block]:
    """Put the failures of a run together, the gravest first."""
    found: dict[Hashable, list[Member]] = {}
    for case in result.cases:
        for key, member in _failures(case):
            found.setdefault(key, []).append(member)
    return sorted((_block(members, result) for members in found.values()), key=_gravity)


def _failures(case: CaseResult) -> Iterator[tuple[Hashable, Member]]:
    groups = [g for g in case.groups if g.verdict in FAILURES]
    for group in groups:
        yield _key(group), Member(case, group)
    if case.verdict in FAILURES and not any(g.verdict == case.verdict for g in groups):
        yield (case.verdict, clean(case.message)), Member(case, None)


def _key(group: Group) -> Hashable:
    """What makes two groups the same failure: in whichever file the row stands, and for a refusal
    in the same words by whichever row an answer was due.
    """
    by = group.decision
    if group.verdict == "refused" and group.examples:
        return group.verdict, by.level, group.placement, clean(group.examples[0].message)
    return (
        group.verdict, by.rule, by.row, by.level, group.kind, group.placement, group.reading,
    )  # fmt: skip


def _block(members: list[Member], result: RunResult) -> Block:
    case, group = members[0].case, members[0].group
    gated = gates(group, result.level) if group else case.gates(result.level)
    return Block(group.verdict if group else case.verdict, gated, tuple(members))


def _gravity(block: Block) -> tuple[bool, int, int, int]:
    rank = _URGENT.index(block.verdict) if block.verdict in _URGENT else len(_URGENT)
    return (not block.gated, rank, -len(block.members), -block.count)
