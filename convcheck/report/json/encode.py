"""The JSON of a run: its structs, with what is derived of them."""

from __future__ import annotations

from typing import Any

from convcheck import __version__
from convcheck.causes.gather import gathered
from convcheck.files import write_text
from convcheck.judge.failure import fails_whole, failure_key_of_case, finding_id, finding_of
from convcheck.judge.part import Part
from convcheck.judge.reading import case_head
from convcheck.judge.result import FAILURES, CaseResult, Group, RunResult
from convcheck.judge.words import code_text
from convcheck.records import replace
from convcheck.report.counts import summary_of
from convcheck.report.environment import environment
from convcheck.report.json.causes import explained_causes
from convcheck.report.json.codec import json_text
from convcheck.report.json.report import FORMAT, Report
from convcheck.report.json.words import spelled
from convcheck.rules.model import Case
from convcheck.semantics.expected import Decision


def write(result: RunResult, path: str) -> None:
    """Write the report of a run to a file, whole or not at all; '-' is standard output."""
    write_text(text(result), path)


def text(result: RunResult) -> str:
    """Return the report of a run as JSON text, a case a line."""
    return json_text(report(result), "rules", "cases")


def report(result: RunResult) -> Report:
    """Return the report of a run, to be encoded."""
    written = Writing()
    cases = tuple(map(written.case, result.cases))
    parts = tuple(map(written.part, result.parts))
    found = {name: getattr(result, name) for name in RunResult.__struct_fields__}
    found |= {"cases": cases, "parts": parts, "timing": None, "whole": None}
    found["environment"] = result.environment or environment()
    return Report(
        **found,
        format=FORMAT,
        convcheck=__version__,
        corpus_sha256=result.corpus,
        summary=summary_of(result),
        rules=tuple(written.rules),
        explained=explained_causes(gathered(result.cases, result.causes)),
    )


class Writing:
    """Makes of results what is encoded: rows by their places in a table, codes spelled."""

    def __init__(self) -> None:
        self.rules: dict[Decision, int] = {}

    def case(self, result: CaseResult) -> CaseResult:
        """Return the result of a case."""
        finding = finding_id(failure_key_of_case(result)) if fails_whole(result) else ""
        groups = tuple(self._group(result.case, group) for group in result.groups)
        head: Any = case_head(result.case)
        return replace(result, case=head, finding=finding, groups=groups)

    def _group(self, case: Case, group: Group) -> Group:
        place = self.rules.setdefault(group.decision, len(self.rules))
        if group.verdict not in FAILURES and not (group.ranges or group.examples):
            return replace(group, decision=place)
        source = case.inputs[0].format
        return replace(
            group,
            decision=place,
            ranges=tuple((code_text(source, a), code_text(source, b)) for a, b in group.ranges),
            examples=tuple(spelled(case, example) for example in group.examples),
            finding=finding_of(group, case),
        )

    def part(self, part: Part) -> Part:
        """Return what there is of a case; in a tally, codes are numbers and rows are told."""
        head: Any = case_head(part.case)
        results = (None if one is None else self.case(one) for one in (part.vectors, part.lost))
        vectors, lost = results
        return replace(part, case=head, vectors=vectors, lost=lost)
