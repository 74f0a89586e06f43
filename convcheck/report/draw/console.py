"""Draw pages on a terminal, without markup."""

import re
from collections.abc import Iterable, Iterator, Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text as Line

from convcheck.records import replace
from convcheck.report.blocks import (
    INDENT,
    LABEL,
    Block,
    CodeInWords,
    Codes,
    Command,
    Dim,
    Fitting,
    Pieces,
    Role,
    Said,
    Table,
    Text,
)
from convcheck.streams import GLUE, no_commands, put_out, visible

_GAP = 2  # fits a float32 with value and code into 80 columns
_ROLES: dict[Role, str] = {
    "plain": "", "sign": "magenta", "exponent": "cyan", "mantissa": "",
}  # fmt: skip
MAX_WIDTH = 100  # keeps counts at the right margin near their text
_CJK = "\u3005-\u3007\u3040-\u30ff\u3400-\u9fff"
_CLOSING = "\u3001\u3002\u300d\uff09\uff0c\uff1a\uff1b"  # characters that cannot begin a line
_PART = re.compile(
    rf"[{_CJK}][{_CLOSING}]* *|(?:[^ ,/{_CJK}{_CLOSING}]|,(?=[0-9]))*[,/]?[{_CLOSING}]* *"
)


def is_terminal(console: Console) -> bool:
    """Return whether output goes to a terminal, not to a log with colours (FORCE_COLOR)."""
    return console.file.isatty()


def put(
    page: Iterable[Block], console: Console | None = None, *, whole: bool | None = None
) -> None:
    """Print a page with control sequences and CI commands escaped.

    On terminals, long texts are cut unless `whole`.
    """
    console = console or Console()
    drawn = list(lines(page, console.width, not is_terminal(console) if whole is None else whole))
    if console.color_system is None:
        text = "".join(f"{line.plain}\n" for line in drawn)
    else:
        with console.capture() as captured:
            for line in drawn:
                console.print(line, highlight=False, no_wrap=True, overflow="ignore", crop=False)
        text = captured.get()
    put_out(no_commands(text), console.file, needed=not console.stderr)


def plain_lines(page: Iterable[Block], width: int) -> list[str]:
    """Return the lines of a page without colours."""
    return [line.plain for line in lines(page, width)]


def lines(page: Iterable[Block], width: int, whole: bool = False) -> Iterator[Line]:
    """Yield the lines of a page. If `whole`, nothing is cut."""
    for block in page:
        for line in _lines(block, width, whole):
            line.rstrip()
            yield line


def _lines(block: Block, width: int, whole: bool) -> Iterator[Line]:
    match block:
        case Text():
            yield from _text(block, min(width, MAX_WIDTH), whole)
        case Command():
            command = _command_lines(block.parts, min(width, MAX_WIDTH) - INDENT)
            yield from (Line(" " * INDENT + visible(line), "cyan") for line in command)
        case Codes():
            yield from _codes(block, min(width, MAX_WIDTH), whole)
        case Table():
            yield from _table(block, width, whole)
        case Fitting():
            *ways, last = block.ways
            uncut = (
                [replace(one, parts=False) if isinstance(one, Table) else one for one in way]
                for way in ways
            )
            drawn = (list(lines(way, width, whole)) for way in uncut)
            fitting = next((some for some in drawn if _widest(some) <= width), None)
            yield from lines(last, width, whole) if fitting is None else fitting
        case Dim():
            for line in lines(block.blocks, width, whole):
                line.stylize("dim")
                yield line


def _line_of(said: Said, style: str = "") -> Line:
    pieces = [(said, "")] if isinstance(said, str) else said
    return Line.assemble(*((visible(text), own) for text, own in pieces), style=style)


def _text(block: Text, width: int, whole: bool) -> Iterator[Line]:
    label = Line(" " * block.indent).append_text(_line_of(block.label))
    text, right = _line_of(block.text, block.style), _line_of(block.right)
    room = width - label.cell_len
    if block.limit and not whole:
        text = _cut(text, block.limit)
    if block.cut and not whole:
        text = _cut(text, room - (right.cell_len + 2 if right else 0))
    broken = [text] if block.whole else _broken(text, room, block.hang)
    for i, part in enumerate(broken or [Line()]):
        part.plain = part.plain.replace(GLUE, " ")
        line = (label if not i else Line(" " * label.cell_len)) + part
        if i < len(broken) - 1 or not right:
            yield line
        elif (gap := width - line.cell_len - right.cell_len) >= 2 or block.whole:
            yield line + Line(" " * max(gap, 2)) + right
        else:
            yield line
            yield Line(" " * max(INDENT, width - right.cell_len)) + right


def _cut(text: Line, room: int) -> Line:
    return text if text.cell_len <= room else text[: max(room - 1, 0)] + Line("…")


def _broken(text: Line, room: int, hang: int) -> list[Line]:
    """Break a text at blanks, commas and slashes, and after Chinese or Japanese characters."""
    cuts, start, indent = [], 0, 0
    for part in _PART.finditer(text.plain):
        so_far = text.plain[start : part.end()].rstrip()
        if part.start() > start and cell_len(so_far) > room - indent:
            start, indent = part.start(), hang
            cuts.append(start)
    found = [line for line in text.divide(cuts) if line]
    for line in found:
        line.rstrip()
    return [*found[:1], *(Line(" " * hang) + line for line in found[1:])]


def _command_lines(parts: Sequence[str], width: int) -> list[str]:
    start, name, values = parts
    whole, halved = f"{start} {name} {values}".rstrip(), [f"{start} {name}", values]
    found = [whole]
    if len(whole) > width:
        room = width - len(" \\")
        tail = f"{name} {values}".rstrip()
        found = [start, tail] if len(tail) <= room else [start, name, values]
        found = halved if values and len(halved[0]) <= room else found
    found = list(filter(None, found))
    broken = [f"{line} \\" for line in found[:-1]] + found[-1:]
    return ["  " * bool(i) + line for i, line in enumerate(broken)]


def _codes(block: Codes, width: int, whole: bool) -> Iterator[Line]:
    rows = block.rows
    widest = max((_length(line) for row in rows for line in row.bits), default=0)
    narrow = block.indent + LABEL + widest > width  # float64 in 80 columns
    indent = max(block.indent - 2 * narrow, 0)
    room = width - indent - LABEL
    coded = max((len(row.value) for row in rows if row.code), default=0)
    tail = max((_value(row, coded).cell_len for row in rows if row.code), default=0)
    lasts = [_length(row.bits[-1]) for row in rows if row.bits]
    column = max((last for last in lasts if last + _GAP + tail <= room), default=0)
    blank = Line(" " * (indent + LABEL))
    for row in rows:
        label = Line(" " * indent + row.label.ljust(LABEL), "dim")
        if not row.bits:
            yield from _text(Text(row.words, label=[(label.plain, "dim")]), width, whole)
            continue
        for i, bits in enumerate(row.bits):
            pieces = ((p.text, "bold red" if p.wrong else _ROLES[p.role]) for p in bits)
            line = (blank if i else label) + Line.assemble(*pieces)
            if i < len(row.bits) - 1:
                yield line
        last = _length(row.bits[-1])
        pad, value = max(column, last) - last + _GAP, _value(row, coded)
        if last + pad + value.cell_len <= room:
            yield line + Line(" " * pad) + value
        else:
            yield line
            yield blank + _value(row, 0)


def _length(pieces: Pieces) -> int:
    return sum(len(piece.text) for piece in pieces)


def _value(row: CodeInWords, coded: int) -> Line:
    value = row.value.ljust(coded * bool(row.code))
    return Line.assemble((value, "bold"), (" " * _GAP + row.code if row.code else "", "dim"))


def _table(block: Table, width: int, whole: bool) -> Iterator[Line]:
    heads, rows = ([list(map(_line_of, row)) for row in some] for some in (block.heads, block.rows))
    widths = [max(cell.cell_len for cell in column) for column in zip(*heads, *rows, strict=True)]
    kept = widths[:-1] if block.prose else widths
    whole_row = [range(1, len(kept))]
    parts = _parts(kept, width - block.indent, block.gap) if block.parts else whole_row
    for number, part in enumerate(parts):
        if number:
            yield Line()
        for at, row in enumerate((*heads, *rows)):
            nothing = all(row[i].plain.strip() == block.empty for i in part)
            if at >= len(heads) and part and nothing:
                continue
            yield from _row(block, row, [0, *part], widths, width, whole)


def _row(
    block: Table, row: Sequence[Line], part: Sequence[int], widths: Sequence[int], width: int,
    whole: bool,
) -> Iterator[Line]:  # fmt: skip
    """Yield a row. A single wide cell is broken, prose is cut."""
    line = Line(" " * block.indent)
    for i in part:
        space = widths[i] - row[i].cell_len
        before = space if i in block.right else 0
        if block.middle and i:
            before = min(max(widths[i] // 2 - 1, 0), space)
        line += Line(" " * (before + block.gap * bool(i))) + row[i] + Line(" " * (space - before))
    if block.prose:
        line.append(" " * block.gap)
        yield line + (row[-1] if whole else _cut(row[-1], width - line.cell_len))
        return
    line.rstrip()
    last = row[part[-1]]
    if len(part) > 2 or line.cell_len <= width:
        yield line
        return
    start = line.cell_len - last.cell_len
    for i, piece in enumerate(_broken(last, width - start, 0) or [last]):
        yield (line[:start] if not i else Line(" " * start)) + piece


def _parts(widths: Sequence[int], room: int, gap: int) -> Iterator[range]:
    start, used = 1, widths[0]
    for i, width in enumerate(widths[1:], 1):
        if i > start and used + gap + width > room:
            yield range(start, i)
            start, used = i, widths[0]
        used += gap + width
    yield range(start, len(widths))


def _widest(drawn: Iterable[Line]) -> int:
    return max((line.cell_len for line in drawn), default=0)
