"""The causes of a run for a terminal, alone: then what nothing explains."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from convcheck.causes.gather import Diagnosis
from convcheck.judge.result import CaseResult
from convcheck.judge.words import clean
from convcheck.report.document import ToldCause
from convcheck.report.draw.causes import cause_lines, summary_line
from convcheck.report.draw.layout import paragraph
from convcheck.report.draw.styled import StyledText
from convcheck.wording import number, plural

_MANY = 12  # unexplained cases that are listed


def diagnosis_lines(
    found: Diagnosis, causes: Sequence[ToldCause], width: int, verbose: bool
) -> Iterator[StyledText]:
    """Yield the lines of a diagnosis, given its causes in words; `verbose`: every name, none only
    counted.
    """
    said = summary_line(found.failing, found.judged, causes)
    yield from paragraph(said, width, indent=0, hang=2, style="bold")
    if causes:
        yield StyledText()
        yield from cause_lines(causes, width, verbose)
    if found.unexplained:
        yield StyledText()
        yield from _unexplained(found.unexplained, width, verbose)


def _unexplained(cases: Sequence[CaseResult], width: int, verbose: bool) -> Iterator[StyledText]:
    yield StyledText(f"not explained: {plural(len(cases), 'case')}", "bold")
    listed = cases if verbose else cases[:_MANY]
    for case in listed:
        yield from paragraph(f"{case.case.id}: {_closest(case)}", width, indent=3, hang=2)
    if len(listed) < len(cases):
        yield StyledText(f"   (and {number(len(cases) - len(listed))} more: -v)", "dim")


def _closest(case: CaseResult) -> str:
    """Say what comes closest to the answers of a case."""
    found = case.diagnosis
    if found is None or not found.near:
        return f"{case.verdict}  {clean(case.message)}".rstrip()
    tried = [f"{near.name} {near.count}" for near in found.near]
    return f"the rule {found.answers - found.wrong} of {found.answers}, {', '.join(tried)}"
