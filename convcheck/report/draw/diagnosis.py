"""The causes of a run for a terminal, alone: then what nothing explains."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from convcheck.causes.gather import Diagnosis
from convcheck.causes.search import CLOSEST
from convcheck.judge.result import CaseResult, CauseInWords, search_failed
from convcheck.judge.words import clean
from convcheck.report.causes import said_of
from convcheck.report.document import ToldCause
from convcheck.report.draw.causes import cause_lines, summary_line
from convcheck.report.draw.layout import paragraph
from convcheck.report.draw.styled import StyledText
from convcheck.wording import number, plural

_MANY = 12  # unexplained cases that are listed
_TRIED = 16  # causes that are told of a single case


def diagnosis_lines(
    found: Diagnosis, causes: Sequence[ToldCause], width: int, verbose: bool
) -> Iterator[StyledText]:
    """Yield the lines of a diagnosis, given its causes in words; `verbose`: every name, none only
    counted.
    """
    said = summary_line(found.failing, len(found.judged), causes)
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
    if found and found.fault:
        return search_failed(found.fault)
    if found is None or not found.near:
        return f"{case.verdict}  {clean(case.message)}".rstrip()
    tried = [f"{near.name} {near.count}" for near in found.near[:CLOSEST]]
    return f"the rule {found.answers - found.wrong} of {found.answers}, {', '.join(tried)}"


def tried_lines(
    case: CaseResult, causes: Sequence[CauseInWords], width: int, verbose: bool
) -> Iterator[StyledText]:
    """Yield the lines of what was tried on a single case that fails: how many answers each cause
    gives that gives a wrong one, and how many the rules. `verbose`: each of them.
    """
    found, by_name = case.diagnosis, {cause.name: cause for cause in causes}
    if found is None or found.fault:
        return
    together = [fit for fit in found.fits if len(fit) > 1]
    tried = [(found.answers, said_of([by_name[name] for name in fit])) for fit in together]
    tried += [(near.count, said_of([by_name[near.name]])) for near in found.near]
    right = found.answers - found.wrong
    place = sum(count >= right for count, _ in tried)
    tried.insert(place, (right, "the rules"))
    shown = tried if verbose else tried[: max(_TRIED, place + 1)]
    yield StyledText()
    head = f"tried, and how many of {plural(found.answers, 'answer')} each gives"
    yield StyledText(head, "bold")
    widest = max(len(number(count)) for count, _ in shown)
    for count, said in shown:
        line = f"{number(count):>{widest}}  {said}"
        yield from paragraph(line, width, indent=3, hang=widest + 2)
    if len(shown) < len(tried):
        yield StyledText(f"   (and {number(len(tried) - len(shown))} more: -v)", "dim")
