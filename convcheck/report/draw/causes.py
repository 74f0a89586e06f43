"""The causes of a run for a terminal: a few lines a cause."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from convcheck.report.document import Document, Finding, ToldCause
from convcheck.report.draw.finding import evidence_lines
from convcheck.report.draw.layout import INDENT, cut, labelled, paragraph, to_margins
from convcheck.report.draw.styled import StyledText
from convcheck.wording import GLUE, number, plural

_FEW = 3  # so many causes are shown bit by bit
_LINES = 4  # of the names of cases
_MINOR = 10  # a cause of fewer cases than one in so many of the first has no command
_VALUES = re.compile(r" \([^()]*\)")  # behind the codes of an answer
NOT_TRIED = "Causes found in a runtime are tried first; where one fits, others are not."


def summary_line(failing: int, asked: int, causes: Sequence[ToldCause]) -> str:
    """Say how many cases fail, and how many of these causes explain."""
    if not failing:
        return f"none of {plural(asked, 'case')} fails: there is nothing to explain"
    count = len({name for one in causes for name in one.names})
    said = f"{number(failing)} of {plural(asked, 'case')} {'fails' if failing == 1 else 'fail'}; "
    if not count:
        return said + "no cause gives every answer of any of them"
    does = "cause explains" if count == 1 else "causes explain"
    if failing == 1:
        return f"{said}{count} {does} it, every answer"
    explained = number(sum(len(one.cases) for one in causes))
    return f"{said}{count} {does} {explained} of them, every answer of each"


def causes_summary(document: Document) -> str:
    """Say how many cases of a run fail, and how many of these its causes explain."""
    failing, judged = _failing(document), 0
    for some in document.cases.values():
        judged += sum(one.judged > 0 or one.fails for one in some)
    return summary_line(failing, judged, document.causes)


def unexplained_summary(document: Document) -> str:
    """Say how many cases no cause explains, and in how many findings."""
    left = _failing(document) - len(document.explained_by)
    findings = plural(len(document.unexplained), "finding")
    return f"not explained: {plural(left, 'case')}, {findings}"


def _failing(document: Document) -> int:
    return sum(one.fails for some in document.cases.values() for one in some)


def plain_cause_lines(one: ToldCause, width: int) -> list[str]:
    """Return the lines of a cause without colours, its wrong answer bit by bit."""
    return [line.plain.rstrip() for line in _at_length(one, width, verbose=False, whole=False)]


def cause_lines(
    causes: Sequence[ToldCause], width: int, verbose: bool, whole: bool = False
) -> Iterator[StyledText]:
    """Yield the lines of causes: of a few the wrong answer bit by bit, of many in a line, unless
    `verbose`. What is long is cut unless it is to be shown `whole`.
    """
    if verbose or len(causes) <= _FEW:
        for i, one in enumerate(causes):
            yield from (StyledText(),) if i else ()
            yield from _weighed(one, _at_length(one, width, verbose, whole))
        yield from paragraph(NOT_TRIED, width, hang=2, style="dim") if causes else ()
        return
    most = max(len(one.cases) for one in causes)
    for one in causes:
        if one.says:
            yield from _weighed(one, _in_short(one, width, len(one.cases) * _MINOR < most))
    yield from _together([one for one in causes if not one.says], width)
    yield from paragraph(NOT_TRIED, width, hang=2, style="dim")


def cause_per_line(causes: Sequence[ToldCause], width: int) -> Iterator[StyledText]:
    """Yield a line a cause: its cases, its letter, and what it does."""
    letters = max((len(one.letter) for one in causes), default=0)
    for one in causes:
        count = f"{plural(len(one.cases), 'case'):>10}  "
        answers = number(one.answers)
        said = f"{one.whole}, {answers} of {answers}: {one.scope}"
        room = width - len(count) - letters - 2
        yield StyledText.assemble(
            count, (one.letter.ljust(letters), "bold red"), f"  {cut(said, room)}"
        )


def _weighed(one: ToldCause, lines: Iterator[StyledText]) -> Iterator[StyledText]:
    """Yield lines, dim where the cause fails no run."""
    for line in lines:
        if not one.gated:
            line.stylize("dim")
        yield line


def _at_length(one: ToldCause, width: int, verbose: bool, whole: bool) -> Iterator[StyledText]:
    *front, last = paragraph(_title(one), width, 0, 3, "bold red")
    yield from front
    yield from to_margins(last, _counts(one), width)
    where = one.where.lines
    if not verbose and len(where) > _LINES:
        where = (*where[: _LINES - 1], f"and {len(where) - _LINES + 1} more (-v)")
    *front, last = (line for said in where for line in paragraph(said, width, hang=2))
    yield from front
    yield from to_margins(last, StyledText(one.finding.id, "dim"), width)
    yield from evidence_lines(one.finding, width, verbose, whole)
    yield from _others(one, one.others.values(), width)


def _in_short(one: ToldCause, width: int, minor: bool) -> Iterator[StyledText]:
    """Yield two to five lines: what it does, where, a wrong answer, how to see that again."""
    *front, last = paragraph(_title(one), width, 0, 3, "bold red")
    yield from front
    yield from to_margins(last, _counts(one), width)
    yield from paragraph(one.scope, width, hang=2)
    yield from _instance(one, width)
    if not minor and one.finding.explain:
        command = _command(one.finding)
        yield StyledText(" " * INDENT + command, "cyan")
    yield from _others(one, one.others, width)


def _command(finding: Finding) -> str:
    """Return the command that explains an example, without the backend."""
    start, *rest = finding.explain
    if any(member.case.hops for member in finding.members):
        return " ".join((start, *rest)).strip()
    return " ".join(("convcheck explain", *rest))


def _together(causes: Sequence[ToldCause], width: int) -> Iterator[StyledText]:
    """Yield the causes that are at work together and stand above, each with its cases."""
    sizes = [len(one.cases) for one in causes]
    counts = [plural(size, "case") if i == 0 else number(size) for i, size in enumerate(sizes)]
    told = (f"{one.label} {count}" for one, count in zip(causes, counts, strict=True))
    if said := ", ".join(told):
        glued = said.replace(" with ", f"{GLUE}with{GLUE}").replace(" case", f"{GLUE}case")
        yield from labelled("together", "bold red", f"{glued} (-v)", width)


def _title(one: ToldCause) -> str:
    """Return 'A  rounds twice'; of two together 'A with C', and what of them is new."""
    between = ":  " if len(one.names) > 1 and one.says else "  "
    gate = "" if one.gated else " (below the gate)"
    return f"{one.label}{between}{one.says}".rstrip() + gate


def _counts(one: ToldCause) -> StyledText:
    cases, answers = plural(len(one.cases), "case"), number(one.answers)
    return StyledText(f"{cases}  {answers} of {answers}", "dim")


def _instance(one: ToldCause, width: int) -> Iterator[StyledText]:
    """Yield a wrong answer in a line, and what it departs from, in as much as there is room for:
    without values where they would take another line.
    """
    said = one.instance or cut(one.wrong_answer, width - INDENT)
    said = said if len(said) <= width - INDENT else _VALUES.sub("", said)
    by = one.finding.decisions[0] if one.finding.decisions else None
    room = width - INDENT - len(said) - 2
    rests = [f"{by.source}, {by.level}", by.level] if by else []
    fitting = next((rest for rest in rests if len(rest) <= room), "")
    *front, last = paragraph(said, width, hang=2)
    yield from front
    yield from to_margins(last, StyledText(fitting, "italic"), width) if fitting else (last,)


def _others(one: ToldCause, others: Iterable[str], width: int) -> Iterator[StyledText]:
    """Yield what fits as well. Of pairs the search ends with the first ones that fit."""
    if said := "; ".join(others):
        said = f"no input asked tells it from: {said}"
        yield from paragraph(said, width, hang=2, style="dim")
