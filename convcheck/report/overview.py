"""The counts of a run: a line a spec."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from rich.text import Text

from convcheck.judge.result import RunResult
from convcheck.judge.words import number
from convcheck.report.status import STATUSES, Status, status_of
from convcheck.report.tally import by_spec

_Line = tuple[str, int, int, Counter[Status]]  # spec, cases, values, cases by status


def show(result: RunResult, width: int) -> Iterator[Text]:
    """Give the table of counts, with short headings and numbers where the width asks for it.

    Of operators whose question is a whole call, calls are counted.
    """
    present, lines = _present(result), _lines(result)
    table = _table(lines, present, _counted(result), short=False)
    if len(table[0].plain) > width:
        table = _table(lines, present, _counted(result), short=True)
    yield from table


def cells(result: RunResult) -> list[list[str]]:
    """Give the same table as rows of cells, the headings first."""
    present = _present(result)
    heads = ["spec", "cases", _counted(result), *(status.word for status in present)]
    return [heads, *(_cells(line, present, short=False) for line in _lines(result))]


def _lines(result: RunResult) -> list[_Line]:
    return [
        (
            spec,
            len(cases),
            sum(c.checked for c in cases),
            Counter(status_of(c, result.level) for c in cases),
        )
        for spec, cases in by_spec(result).items()
    ]


def _present(result: RunResult) -> list[Status]:
    found = {status_of(case, result.level) for case in result.cases}
    return [status for status in STATUSES if status in found]


def _counted(result: RunResult) -> str:
    asked = {c.case.whole_calls for c in result.cases}
    return "asked" if len(asked) > 1 else "calls" if True in asked else "values"


def _table(lines: list[_Line], present: list[Status], counted: str, short: bool) -> list[Text]:
    heads = ["spec", "cases", counted, *(s.short if short else s.word for s in present)]
    styles = ["", "", "", *(s.style for s in present)]
    rows = [_cells(line, present, short) for line in lines]
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    gap = " " if short else "  "
    return [
        _join(heads, widths, ["dim"] * len(heads), gap),
        *(_join(row, widths, styles, gap) for row in rows),
    ]


def _cells(line: _Line, present: list[Status], short: bool) -> list[str]:
    spec, cases, values, counts = line
    shown = _short(values) if short else number(values)
    return [spec, number(cases), shown, *(number(counts[s]) for s in present)]


def _short(count: int) -> str:
    for unit, power in (("G", 9), ("M", 6)):
        if count >= 10 ** (power + 1):
            return f"{count / 10**power:,.1f} {unit}"
    return number(count)


def _join(cells: list[str], widths: list[int], styles: list[str], gap: str) -> Text:
    line = Text()
    for i, (cell, width, style) in enumerate(zip(cells, widths, styles, strict=True)):
        line.append(gap if i else "")
        line.append(cell.rjust(width) if i else cell.ljust(width), "dim" if cell == "0" else style)
    return line
