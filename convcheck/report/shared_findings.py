"""Findings that several backends share, put together."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from convcheck.judge.failure import failure_key, failure_key_of_refusal
from convcheck.judge.words import clean
from convcheck.report.document import Document, Finding
from convcheck.report.groups import Block


@dataclass(frozen=True)
class SharedFinding:
    """The same failure of one or more backends."""

    #: The names of backends with their findings, in the order of the command line.
    sides: tuple[tuple[str, Finding], ...]

    @property
    def shown(self) -> Finding:
        """The finding that stands for all: that of most cases."""
        return max((one for _, one in self.sides), key=lambda one: len(one.block.members))

    @property
    def words(self) -> str:
        """The finding in a line: what is wrong, and by which row."""
        block = self.shown.block
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


def shared_findings(ran: Sequence[tuple[str, Document]]) -> list[SharedFinding]:
    """Return the findings of several runs: those that fail the run first, then of most cases."""
    found: dict[Hashable, list[tuple[str, Finding]]] = {}
    for name, document in ran:
        for finding in document.findings:
            found.setdefault(_key(finding.block), []).append((name, finding))
    return sorted((SharedFinding(tuple(sides)) for sides in found.values()), key=_gravity)


def _key(block: Block) -> Hashable:
    """Return what makes the findings of two backends the same, as `groups` has it in one run."""
    if block.group is None:
        return failure_key(block.verdict, None, block.message), block.gated
    return failure_key_of_refusal(block.verdict, block.group), block.gated


def _gravity(finding: SharedFinding) -> tuple[bool, int, int, int]:
    block = finding.shown.block
    rank = {"error": 0, "crashed": 1}.get(block.verdict, 2)
    cases = sum(len(one.block.members) for _, one in finding.sides)
    return (not block.gated, rank, -len(finding.sides), -cases)


def extent(finding: Finding) -> list[tuple[str, int]]:
    """Return the cases of a finding with the values that fail in each."""
    return [(m.case.case.id, m.group.count if m.group else 0) for m in finding.block.members]
