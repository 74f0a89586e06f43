"""The one layout of tables: labels, columns, and parts by columns where they are too wide."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from convcheck.report.draw.layout import paragraph
from convcheck.report.draw.styled import StyledText

Row = Sequence[StyledText]
WHOLE = 10**6  # a width at which no table is cut


def cells(words: Sequence[str], style: str = "") -> list[StyledText]:
    """Return words as the cells of a row, all in one style."""
    return [StyledText(word, style) for word in words]


def table_lines(
    heads: Sequence[Row],
    rows: Sequence[Row],
    width: int,
    *,
    indent: int = 0,
    gap: int = 2,
    right: Collection[int] = (),
    middle: bool = False,
    sparse: bool = False,
) -> Iterator[StyledText]:
    """Yield the lines of a table, no wider than `width` if it has room for a label and some words.

    The first cell of a row is its label. A table that is too wide is cut by columns: each part has
    the labels and the heads again, with an empty line before. `right` are the columns that stand at
    the right of theirs; the others stand at the left, or all but the labels in the `middle`. In a
    `sparse` table a row that has nothing in a part is left out there.
    """
    widths = column_widths([*heads, *rows])
    for number, part in enumerate(table_parts(widths, width - indent, gap)):
        if number:
            yield StyledText()
        for at, row in enumerate((*heads, *rows)):
            if sparse and at >= len(heads) and all(not row[i].plain.strip() for i in part):
                continue
            label = StyledText.assemble(" " * indent, _padded(row[0], widths[0], 0 in right, False))
            shown = [_padded(row[i], widths[i], i in right, middle) for i in part]
            yield from _line(label, shown, width, gap)


def _line(label: StyledText, shown: Row, width: int, gap: int) -> Iterator[StyledText]:
    """Yield a row on one line; a cell that has it for itself and is too wide is broken."""
    line = StyledText.assemble(label, *(part for cell in shown for part in (" " * gap, cell)))
    line.rstrip()
    if len(shown) > 1 or line.cell_len <= width:
        yield line
        return
    start = label.cell_len + gap
    style = shown[0].pieces[0][1]
    first, *more = paragraph(shown[0].plain, width, indent=start, style=style)
    yield StyledText.assemble(label, " " * gap, first.after(start))
    yield from more


def column_widths(rows: Sequence[Row]) -> list[int]:
    """Return the width of each column: that of its widest cell."""
    return [max(cell.cell_len for cell in column) for column in zip(*rows, strict=True)]


def table_parts(widths: Sequence[int], room: int, gap: int) -> Iterator[range]:
    """Yield columns that fit beside the first, the labels; each part has one at the least."""
    start, used = 1, widths[0]
    for i, width in enumerate(widths[1:], 1):
        if i > start and used + gap + width > room:
            yield range(start, i)
            start, used = i, widths[0]
        used += gap + width
    yield range(start, len(widths))


def downwards(names: Sequence[str]) -> list[list[str]]:
    """Return names written downwards, a row a line of letters, so that columns can be narrow."""
    short = [abbreviated(name) for name in names]
    height = max(map(len, short))
    return [list(letters) for letters in zip(*(name.rjust(height) for name in short), strict=True)]


def abbreviated(name: str) -> str:
    """Return the name of a type in few letters: f32 for float32."""
    return name.replace("float", "f").replace("uint", "u").replace("int", "i")


def _padded(cell: StyledText, width: int, right: bool, middle: bool) -> StyledText:
    room = width - cell.cell_len
    before = room if right else min(max(width // 2 - 1, 0), room) if middle else 0
    return StyledText.assemble(" " * before, cell, " " * (room - before))
