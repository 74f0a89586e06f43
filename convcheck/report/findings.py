"""Failures that several backends share, put together."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from convcheck.judge.failure import failure_key, failure_key_of_refusal
from convcheck.judge.result import RunResult
from convcheck.judge.words import clean
from convcheck.report.groups import Block, blocks


@dataclass(frozen=True)
class Finding:
    """The same failure of one or more backends: names with their blocks, in the run's order."""

    blocks: tuple[tuple[str, Block], ...]

    @property
    def shown(self) -> Block:
        """The block that stands for all: that of most cases."""
        return max((block for _, block in self.blocks), key=lambda block: len(block.members))

    @property
    def words(self) -> str:
        """The finding in a line: what is wrong, and by which row."""
        block = self.shown
        group = block.group
        if group is None:
            return f"{block.verdict}: {clean(block.message)}"
        if block.verdict in ("refused", "crashed"):
            said = group.examples[0].message if group.examples else group.kind
            return f"{block.verdict}: {clean(said)}"
        if block.verdict == "inconsistent":
            said = group.examples[0].message if group.examples else ""
            return clean(f"{group.kind}: {said}")
        where = f", in placement {group.placement}" if group.placement else ""
        return f"{group.kind}{where}: {group.decision.name}"


def findings(ran: Sequence[tuple[str, RunResult]]) -> list[Finding]:
    """Put the failures of several runs together: those that fail the run first, then most cases."""
    found: dict[Hashable, list[tuple[str, Block]]] = {}
    for name, result in ran:
        for block in blocks(result):
            found.setdefault(_key(block), []).append((name, block))
    return sorted((Finding(tuple(shared)) for shared in found.values()), key=_gravity)


def _key(block: Block) -> Hashable:
    """What makes the blocks of two backends the same failure, as `groups` has it in one run."""
    if block.group is None:
        return failure_key(block.verdict, None, block.message), block.gated
    return failure_key_of_refusal(block.verdict, block.group), block.gated


def _gravity(finding: Finding) -> tuple[bool, int, int, int]:
    block = finding.shown
    rank = {"error": 0, "crashed": 1}.get(block.verdict, 2)
    cases = sum(len(b.members) for _, b in finding.blocks)
    return (not block.gated, rank, -len(finding.blocks), -cases)


def members(block: Block) -> list[tuple[str, int]]:
    """Give the cases of a block with the values that fail in each."""
    return [(m.case.case.id, m.group.count if m.group else 0) for m in block.members]
