"""A finding for a terminal: where, how many, which rule, what it says, and the bits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from convcheck.judge.words import clean
from convcheck.report.document import (
    CallInWords,
    CodeInWords,
    ElementInWords,
    Elements,
    Finding,
    Line,
    Role,
)
from convcheck.report.draw.layout import INDENT, cut, labelled, paragraph, to_margins
from convcheck.report.draw.styled import StyledText
from convcheck.report.status import BELOW
from convcheck.wording import number, plural

_LABEL = 10
_GAP = 2  # then a float32 with its value and code fits 80 columns
_ARROW = 2  # columns of the mark of the first difference
_RANGES = 6
_LONG = 400
_STYLES: dict[Role, str] = {
    "plain": "",
    "sign": "magenta",
    "exponent": "cyan",
    "mantissa": "",
    "wrong": "bold red",
}


def finding_lines(
    finding: Finding, width: int, verbose: bool, whole: bool = False
) -> Iterator[StyledText]:
    """Yield the lines of a finding; one that fails no run is dim, and short unless `verbose`. What
    is long is cut unless it is to be shown `whole`.
    """
    body = evidence_lines(finding, width, verbose, whole)
    lines = [*_heading(finding, width, verbose), *body]
    if not finding.gated:
        for line in lines:
            line.stylize("dim")
    yield from lines


def plain_lines(finding: Finding, width: int, verbose: bool = False) -> list[str]:
    """Return the lines of a finding without colours."""
    return [line.plain.rstrip() for line in finding_lines(finding, width, verbose)]


def _heading(finding: Finding, width: int, verbose: bool) -> Iterator[StyledText]:
    style = "bold red" if finding.gated else BELOW.style
    first, *more = finding.cases if verbose else finding.few_cases
    *front, last = labelled(finding.label, style, first, width)
    yield from front
    number_of = plural(len(finding.members), "case") if len(finding.members) > 1 else ""
    count = StyledText.assemble((finding.id, "dim"), f"  {number_of}".rstrip())
    yield from to_margins(last, count, width)
    for name in more:
        yield from paragraph(name, width, hang=2, style="bold")


def evidence_lines(
    finding: Finding, width: int, verbose: bool, whole: bool
) -> Iterator[StyledText]:
    """Yield what shows a finding: the row, what is wrong, the sentences, the command, the bits."""
    shown = finding.gated or verbose
    if finding.rule:
        *front, last = paragraph(finding.row, width, hang=2)
        yield from front
        yield from to_margins(last, StyledText(finding.places, "dim"), width)
        said = "; ".join(filter(None, (finding.what, finding.share)))
        yield from paragraph(said, width, style="bold")
        if shown:
            for said in finding.cited:
                yield from paragraph(said, width, style="italic")
    if excuse := finding.excuse:
        yield from paragraph(f"{excuse.kind}: {clean(excuse.reason)}", width)
        yield StyledText(" " * INDENT + f"{excuse.place}  {clean(excuse.issue)}".rstrip())
    if finding.message:
        said = finding.message if verbose or whole else cut(finding.message, _LONG)
        yield from paragraph(said, width)
    if finding.explain:
        for line in command_lines(finding.explain, width - INDENT):
            yield StyledText(" " * INDENT + line, "cyan")
        if shown:
            yield from _ranges(finding, width, verbose)
            yield from example_lines(finding, width, whole)


def command_lines(parts: Sequence[str], width: int) -> list[str]:
    """Return a command; where it is too long for a line, broken so that a shell still takes it."""
    start, name, values = parts
    whole, halved = f"{start} {name} {values}".rstrip(), [f"{start} {name}", values]
    lines = [whole]
    if len(whole) > width:
        room = width - len(" \\")
        tail = f"{name} {values}".rstrip()
        lines = [start, tail] if len(tail) <= room else [start, name, values]
        lines = halved if values and len(halved[0]) <= room else lines
    lines = list(filter(None, lines))
    broken = [f"{line} \\" for line in lines[:-1]] + lines[-1:]
    return ["  " * bool(i) + line for i, line in enumerate(broken)]


def _ranges(finding: Finding, width: int, verbose: bool) -> Iterator[StyledText]:
    """Yield the ranges of inputs, some of the lowest and some of the highest."""
    spans = list(finding.ranges)
    half, hidden = len(spans) // 2, finding.more_ranges
    if len(spans) > _RANGES and not verbose:
        hidden += len(spans) - _RANGES
        spans, half = spans[: _RANGES // 2] + spans[-(_RANGES // 2) :], _RANGES // 2
    if hidden:
        spans.insert(half, f"({number(hidden)} more)")
    yield from paragraph(", ".join(spans), width)


def example_lines(finding: Finding, width: int, whole: bool = False) -> Iterator[StyledText]:
    """Yield the examples of a finding, bit by bit, or a call element by element."""
    for i, example in enumerate(finding.examples):
        if isinstance(example, CallInWords):
            yield from call_lines(example, width, whole=whole)
            continue
        if i:  # the first example's input stands in the explain command
            yield StyledText.assemble((" " * INDENT + "extreme   ", "dim"), example.inputs)
        yield from _element_lines(example, width)


# Elements ------------------------------------------------------------------------------------


def styled(line: Line) -> StyledText:
    """Return a line in its colours."""
    return StyledText.assemble(*((span.text, _STYLES[span.role]) for span in line))


def _element_lines(example: ElementInWords, width: int) -> Iterator[StyledText]:
    rows = example.rows
    widest = max((_length(line) for row in rows for line in row.bits), default=0)
    indent = INDENT if INDENT + _LABEL + widest <= width else INDENT - 2  # float64 in 80 columns
    room = width - indent - _LABEL
    coded = max((len(row.value) for row in rows if row.code), default=0)
    column = _column(rows, coded, room)
    for row in rows:
        yield from _code_lines(row, indent, column, coded, room)


def _length(line: Line) -> int:
    return sum(len(span.text) for span in line)


def _column(rows: Iterable[CodeInWords], coded: int, room: int) -> int:
    """Return the column of the values: as far right as the values with their codes allow."""
    rows = tuple(rows)
    tail = max((_tail(row, coded) for row in rows if row.code), default=0)
    return max((_last(row) for row in rows if _last(row) + tail <= room), default=0)


def _last(row: CodeInWords) -> int:
    return _length(row.bits[-1]) if row.bits else 0


def _tail(row: CodeInWords, coded: int) -> int:
    code = _GAP + len(row.code) if row.code else 0
    return _GAP + max(len(row.value), coded * bool(row.code)) + code


def _code_lines(
    row: CodeInWords, indent: int, column: int, coded: int, room: int
) -> Iterator[StyledText]:
    label = StyledText(" " * indent + row.label.ljust(_LABEL), "dim")
    if not row.bits:
        first, *more = paragraph(row.words, room, indent=0) or [StyledText()]
        yield StyledText.assemble(label, first)
        yield from (StyledText.assemble(" " * (indent + _LABEL), line) for line in more)
        return
    bits = [styled(line) for line in row.bits]
    lines = [StyledText.assemble(label, bits[0])]
    lines += [StyledText.assemble(" " * (indent + _LABEL), line) for line in bits[1:]]
    yield from lines[:-1]
    start = max(column, _last(row))
    if start + _tail(row, coded) <= room:
        pad = " " * (start - _last(row) + _GAP)
        yield StyledText.assemble(lines[-1], pad, _value(row, coded))
    else:
        yield lines[-1]
        yield StyledText.assemble(" " * (indent + _LABEL), _value(row, 0))


def _value(row: CodeInWords, coded: int) -> StyledText:
    if not row.code:
        return StyledText(row.value, "bold")
    return StyledText.assemble((row.value.ljust(coded), "bold"), " " * _GAP, (row.code, "dim"))


# Whole calls ---------------------------------------------------------------------------------


def call_lines(
    example: CallInWords, width: int, indent: int = INDENT, whole: bool = False
) -> Iterator[StyledText]:
    """Yield the lines of a call: types and shapes, then elements side by side."""
    for one in example.lines:
        head = StyledText(" " * indent + one.label.ljust(_LABEL), "dim")
        style = "bold red" if one.wrong else ""
        lines = paragraph(one.words, width - indent - _LABEL, indent=0, style=style)
        first, *more = lines or [StyledText()]
        yield StyledText.assemble(head, first)
        yield from (StyledText.assemble(" " * (indent + _LABEL), line) for line in more)
    if example.elements:
        marked = not example.message
        for line in _table(example.elements, width, max(indent, _ARROW), marked):
            fits = whole or line.cell_len <= width
            yield line if fits else StyledText(cut(line.plain, width))


def _table(table: Elements, width: int, indent: int, marked: bool) -> Iterator[StyledText]:
    """Yield a line an element: its index, the inputs that go with it, what is due, what came."""
    if not table.rows:
        return
    heads, rows = _fitting(table, width - indent)
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    yield StyledText(" " * indent + _columns(heads, widths), "dim")
    for i, row in enumerate(rows):
        mark = "→" if table.first + i == table.at else " "
        line = StyledText(" " * (indent - _ARROW) + f"{mark} " + _columns(row, widths))
        if marked and i in table.wrong:
            line.stylize("bold red", len(line.plain) - len(row[-1]))
        yield line
    if table.rest:
        yield StyledText(" " * indent + table.rest, "dim")


def _fitting(table: Elements, room: int) -> tuple[Sequence[str], list[list[str]]]:
    """Return the columns with as much in them as there is room for: codes beside values, of the
    inputs only values, of all of them only values, no inputs.
    """
    index = f"output {table.output}" if table.output else "element"
    heads = (index, *table.heads)
    inputs = len(table.heads) - 2
    for full in ([True] * inputs, [False] * inputs):
        rows = _rows(table, [*full, True, True])
        if _wide(heads, rows) <= room:
            return heads, rows
    rows = _rows(table, [False] * len(table.heads))
    if inputs and _wide(heads, rows) > room:
        return (heads[0], *heads[-2:]), [[row[0], *row[-2:]] for row in rows]
    return heads, rows


def _rows(table: Elements, full: Sequence[bool]) -> list[list[str]]:
    return [
        [
            str(table.first + i),
            *(cell.full if f else cell.brief for cell, f in zip(row, full, strict=True)),
        ]
        for i, row in enumerate(table.rows)
    ]


def _wide(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> int:
    widths = (max(map(len, column)) for column in zip(heads, *rows, strict=True))
    return sum(widths) + _GAP * (len(heads) - 1)


def _columns(cells: Sequence[str], widths: Sequence[int]) -> str:
    """Return cells in columns, the index to the right."""
    first, *others = zip(cells, widths, strict=True)
    shown = [first[0].rjust(first[1]), *(c.ljust(w) for c, w in others)]
    return (" " * _GAP).join(shown).rstrip()
