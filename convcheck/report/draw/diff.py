"""What changed between two runs, for a terminal: quiet when nothing did."""

from __future__ import annotations

from collections.abc import Iterator

from convcheck.plan.cause_changes import CauseWay
from convcheck.plan.diff import CHANGES, Change
from convcheck.report.difference import (
    ChangedCases,
    ChangedCause,
    ChangedExplanation,
    ChangedFinding,
    DifferenceInWords,
)
from convcheck.report.draw.layout import INDENT, cut, labelled, paragraph, to_margins
from convcheck.report.draw.styled import StyledText
from convcheck.wording import plural

_FINDINGS = 12  # shown of a sort, unless everything is asked for
_STYLES: dict[Change, str] = {
    "new": "bold red",
    "changed": "bold yellow",
    "fixed": "bold green",
    "not asked": "bold",
}
_CAUSE_STYLES: dict[CauseWay, str] = {
    "new": "bold red",
    "grown": "bold red",
    "moved": "bold yellow",
    "shrunk": "bold green",
    "gone": "bold green",
    "not asked": "bold",
}


def difference_lines(made: DifferenceInWords, width: int, verbose: bool) -> Iterator[StyledText]:
    """Yield the lines: the causes, then a finding a line, those of many cases put together, then
    the counts.
    """
    said = list(_by_cause(made, width, verbose))
    said += [line for change in CHANGES for line in _section(made, change, width, verbose)]
    said += [line for one in made.others for line in _cases(one, width, verbose)]
    if said or made.notes:
        yield from paragraph(made.title, width, indent=0, hang=2, style="bold")
        for note in made.notes:
            yield from paragraph(f"note: {note}", width, indent=0, hang=6, style="yellow")
        yield from (StyledText(), *said)
    if said:
        yield StyledText()
    if made.counts:
        summary = f"{made.counts}; {made.compared} compared"
        yield from paragraph(summary, width, indent=0, style="bold")
    else:
        yield StyledText(f"no difference in {made.compared}", "bold green")


def _by_cause(made: DifferenceInWords, width: int, verbose: bool) -> Iterator[StyledText]:
    for cause in made.causes:
        yield from _cause(cause, width, verbose)
    for explanation in made.explanations:
        yield from _explanation(explanation, width, verbose)
    if made.causes or made.explanations:
        yield StyledText()


def _cause(one: ChangedCause, width: int, verbose: bool) -> Iterator[StyledText]:
    """Yield a cause with its counts, its cases, and what those are that it does not explain."""
    label = f"{one.change.upper()} CAUSE"
    *front, last = labelled(label, _CAUSE_STYLES[one.change], one.says, width)
    yield from front
    yield from to_margins(last, StyledText(one.count), width)
    names = ", ".join(one.cases)
    yield from paragraph(names if verbose else cut(names, width - INDENT), width, hang=2)
    for said in one.elsewhere:
        yield from paragraph(said, width, hang=2, style="dim")


def _explanation(one: ChangedExplanation, width: int, verbose: bool) -> Iterator[StyledText]:
    """Yield cases with their counts, and what was and is their cause."""
    label, names = "OTHER CAUSE", ", ".join(one.cases)
    shown = names if verbose else cut(names, width - len(label) - len(one.count) - 4)
    *front, last = labelled(label, "bold yellow", shown, width)
    yield from front
    yield from to_margins(last, StyledText(one.count), width)
    yield from paragraph(one.said, width, hang=2)


def _section(
    made: DifferenceInWords, change: Change, width: int, verbose: bool
) -> Iterator[StyledText]:
    found = [one for one in made.findings if one.change == change]
    for one in found if verbose else found[:_FINDINGS]:
        yield from _finding(one, width, verbose)
    if len(found) > _FINDINGS and not verbose:
        more = plural(len(found) - _FINDINGS, "more finding")
        yield StyledText(f"{change.upper()}  … {more} (-v lists all)", "dim")


def _finding(one: ChangedFinding, width: int, verbose: bool) -> Iterator[StyledText]:
    """Yield a finding: the cases and the counts, then the rule row and what is wrong."""
    label, names = one.change.upper(), ", ".join(one.cases)
    count = StyledText.assemble((one.id, "dim"), f"  {one.count}")
    room = width - len(label) - 2 - count.cell_len - 2
    shown = names if verbose else cut(names, room)
    *front, last = labelled(label, _STYLES[one.change], shown, width)
    yield from front
    yield from to_margins(last, count, width)
    yield from paragraph(one.whole if verbose else one.said, width, hang=2)
    if one.mark:
        yield StyledText(" " * INDENT + one.mark, "dim")  # a URL stays whole


def _cases(one: ChangedCases, width: int, verbose: bool) -> Iterator[StyledText]:
    """Yield a line on cases that fail nothing, with the first of them, or with all."""
    short = cut(f"{one.said}: {', '.join(one.cases)}", width - len(one.label) - 2)
    yield from labelled(one.label, "cyan", one.said if verbose else short, width)
    for name in one.cases if verbose else ():
        yield from paragraph(name, width, hang=2)
