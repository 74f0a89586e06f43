"""Findings that several backends share, put together."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from convcheck.report.document import Document
from convcheck.report.findings import Finding


@dataclass(frozen=True)
class SharedFinding:
    """The same failure of one or more backends."""

    #: The names of backends with their findings, in the order of the command line.
    sides: tuple[tuple[str, Finding], ...]

    @property
    def shown(self) -> Finding:
        """The finding that stands for all: that of most cases."""
        return max((one for _, one in self.sides), key=lambda one: len(one.members))


def shared_findings(ran: Sequence[tuple[str, Document]]) -> list[SharedFinding]:
    """Return the findings of several runs: those that fail the run first, then of most cases."""
    found: dict[Hashable, list[tuple[str, Finding]]] = {}
    for name, document in ran:
        for finding in document.findings:
            key = (finding.members[0].cause, finding.gated)
            found.setdefault(key, []).append((name, finding))
    return sorted((SharedFinding(tuple(sides)) for sides in found.values()), key=_gravity)


def _gravity(finding: SharedFinding) -> tuple[bool, int, int, int]:
    shown = finding.shown
    rank = {"error": 0, "crashed": 1}.get(shown.verdict, 2)
    cases = sum(len(one.members) for _, one in finding.sides)
    return (not shown.gated, rank, -len(finding.sides), -cases)


def extent(finding: Finding) -> list[tuple[str, int]]:
    """Return the cases of a finding with the values that fail in each."""
    return [(one.case.id, one.count) for one in finding.members]
