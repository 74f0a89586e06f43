"""Look up the conversions of a model in reports."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from convcheck.judge.result import FAILURES, VERDICTS, CaseResult, Group, RunResult, Verdict
from convcheck.models.conversions import ModelConversion
from convcheck.records import Count, Record


class RowOfBackend(Record, frozen=True, rename={"name": "row"}):
    """A row that a backend breaks."""

    #: Rule and row.
    name: str
    #: The kind of error.
    kind: str
    #: How many tested inputs fail.
    count: Count
    #: How many inputs the row decided.
    of: Count
    #: Whether inputs of the row are known to be possible.
    occurs: bool


@dataclass(frozen=True)
class BackendFacts:
    """The report on a conversion."""

    name: str
    #: the most serious of its cases; absent if it was not run
    verdict: Verdict | None
    rows: tuple[RowOfBackend, ...]
    #: the causes that explain all answers, in words
    causes: tuple[str, ...] = ()
    #: whether a failing case has no cause
    unexplained: bool = False

    @property
    def fails(self) -> bool:
        """Whether it fails on inputs that may occur."""
        whole = self.verdict in FAILURES and not self.rows
        return whole or any(row.occurs for row in self.rows)


def facts_of(
    one: ModelConversion, name: str, run: RunResult, causes: Mapping[str, str]
) -> BackendFacts:
    """Return the report on a conversion; `causes` are those of its cases, by id."""
    results = _results(one, run)
    found: dict[tuple[str, str], list[Group]] = {}
    for group in (g for result in results for g in result.groups if g.verdict in FAILURES):
        found.setdefault((group.decision.name, group.kind), []).append(group)
    rows = tuple(
        RowOfBackend(row, kind, sum(g.count for g in groups), sum(g.of for g in groups),
                     one.reaches(row))
        for (row, kind), groups in found.items()
    )  # fmt: skip
    verdict = min((result.verdict for result in results), key=VERDICTS.index, default=None)
    failing = [result.case.id for result in results if result.verdict in FAILURES]
    why = tuple(dict.fromkeys(causes[each] for each in failing if each in causes))
    return BackendFacts(name, verdict, rows, why, not causes.keys() >= {*failing})


def differing_rows(
    one: ModelConversion, runs: Sequence[tuple[str, RunResult]]
) -> Iterator[tuple[str, str]]:
    """Yield two names and a row that they answer differently for the same vectors.

    Only rows whose inputs may occur: 'ort, openvino' and 'float-to-float / else'.
    """
    for (first, a), (second, b) in combinations(runs, 2):
        if _vectors(one, a) == _vectors(one, b):
            ours, theirs = (_answers(one, run) for run in (a, b))
            for row in dict.fromkeys(row for case, row in ours if (case, row) in theirs):
                both = [key for key in ours if key[1] == row and key in theirs]
                if one.reaches(row) and any(ours[key] != theirs[key] for key in both):
                    yield f"{first}, {second}", row


def _results(one: ModelConversion, run: RunResult) -> list[CaseResult]:
    ids = {case.id for case in one.cases}
    return [result for result in run.cases if result.case.id in ids]


def _vectors(one: ModelConversion, run: RunResult) -> tuple[str, str]:
    return run.tier, dict(run.corpora).get(one.spec.id if one.spec else "", "")


def _answers(one: ModelConversion, run: RunResult) -> Mapping[tuple[str, str], list[str]]:
    found: dict[tuple[str, str], list[str]] = {}
    for result in _results(one, run):
        for group in result.groups:
            if not group.placement and group.digest:
                key = (result.case.id, group.decision.name)
                found[key] = sorted((*found.get(key, ()), group.digest))
    return found
