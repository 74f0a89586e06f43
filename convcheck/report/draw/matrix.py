"""Summary matrices for a terminal: sources down, destinations across, a symbol a cell."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import zip_longest

from convcheck.report.draw.layout import paragraph
from convcheck.report.draw.styled import StyledText
from convcheck.report.draw.table import WHOLE, cells, downwards, table_lines
from convcheck.report.matrix import StatusMatrix
from convcheck.report.short_names import compact_specs
from convcheck.report.status import STATUSES, Status

NOT_ASKED = "_"
LETTERS = "a letter: what explains the cell, of several causes that of most cases"
_INDENT = 2
_APART = 3  # columns between matrices side by side


def letter_lines(bundles: Sequence[Mapping[str, StatusMatrix]], width: int) -> Iterator[StyledText]:
    """Yield the lines of matrices with letters, side by side where they fit, then what the symbols
    mean.
    """
    row: list[StyledText] = []
    for bundle in bundles:
        block = list(_block(bundle, width))
        if row and _widest(row) + _APART + _widest(block) <= width:
            row = _joined(row, block)
            continue
        yield from row
        row = block
    yield from row
    if bundles:
        shown = {status for b in bundles for one in b.values() for *_, status in one.cells}
        yield from legend_lines({one for one in shown if one in STATUSES}, width)
        yield from paragraph(LETTERS, width, indent=_INDENT, style="dim")
        yield StyledText()


def _block(bundle: Mapping[str, StatusMatrix], width: int) -> Iterator[StyledText]:
    """Yield the lines of matrices that go together: side by side where they fit."""
    beside = _beside(bundle)
    if beside[0].cell_len <= width:
        yield from paragraph(" | ".join(bundle), width, indent=0, hang=2, style="bold")
        yield from beside
        return
    for spec, one in bundle.items():
        yield StyledText(spec, "bold")
        yield from _grid(one, width)


def _widest(lines: Sequence[StyledText]) -> int:
    return max(line.cell_len for line in lines)


def _joined(left: Sequence[StyledText], right: Sequence[StyledText]) -> list[StyledText]:
    """Put lines beside others."""
    place = _widest(left) + _APART
    pairs = list(zip_longest(left, right, fillvalue=StyledText()))
    gaps = (" " * (place - a.cell_len) if b.pieces else "" for a, b in pairs)
    return [StyledText.assemble(a, gap, b) for (a, b), gap in zip(pairs, gaps, strict=True)]


def _beside(bundle: Mapping[str, StatusMatrix]) -> list[StyledText]:
    """Return the lines of matrices of the same rows and columns side by side."""
    first, *_ = bundle.values()
    rows = [[StyledText(source)] for source in first.sources]
    heads = [cells([""], "dim") for _ in downwards(first.targets)]
    for one in bundle.values():
        found = {(source, target): status for source, target, status in one.cells}
        for head, letters in zip(heads, downwards(first.targets), strict=True):
            head += cells(["", *letters], "dim")
        for row, source in zip(rows, first.sources, strict=True):
            row.append(StyledText())
            row += [_symbol(found.get((source, target))) for target in first.targets]
    return list(table_lines(heads, rows, WHOLE, indent=_INDENT, gap=1))


def matrix_lines(matrices: dict[str, StatusMatrix], width: int) -> Iterator[StyledText]:
    """Yield the lines of matrices, those that are equal once, then what the symbols mean."""
    for one in dict.fromkeys(matrices.values()):
        specs = [spec for spec, other in matrices.items() if other == one]
        yield from paragraph(compact_specs(specs), width, indent=0, hang=2, style="bold")
        yield from _grid(one, width)
        yield StyledText()
    shown = {status for one in matrices.values() for *_, status in one.cells}
    yield from legend_lines(shown, width)
    if any(one.left_out for one in matrices.values()):
        said = "rows and columns that are unsupported throughout are left out (-v)"
        yield from paragraph(said, width, indent=_INDENT, style="dim")
    yield StyledText()


def _grid(one: StatusMatrix, width: int) -> Iterator[StyledText]:
    """Yield the lines of a matrix; names stand downwards where they are too wide across."""
    found = {(source, target): status for source, target, status in one.cells}
    rows = [
        [StyledText(source), *(_symbol(found.get((source, target))) for target in one.targets)]
        for source in one.sources
    ]
    across = [cells(["", *one.targets], "dim")]
    lines = table_lines(across, rows, WHOLE, indent=_INDENT, middle=True)
    if (first := next(lines)).cell_len <= width:
        yield first
    else:
        for row in rows:
            row[0].append(" ")
        heads = [cells(["", *letters], "dim") for letters in downwards(one.targets)]
        lines = table_lines(heads, rows, width, indent=_INDENT, gap=1)
    yield from lines


def _symbol(status: Status | None) -> StyledText:
    return StyledText(status.symbol, status.style) if status else StyledText()


def legend_lines(shown: Collection[Status | None], width: int) -> Iterator[StyledText]:
    """Yield what the symbols of some statuses mean, and that of None: that a case was not asked."""
    marks = [(one.symbol, one.word, one.style) for one in STATUSES if one in shown]
    marks += [(NOT_ASKED, "not asked", "dim")] if None in shown else []
    line = StyledText(" " * _INDENT)
    for symbol, word, style in marks:
        if line.cell_len + len(symbol) + len(word) + 1 > width and line.plain.strip():
            line.rstrip()
            yield line
            line = StyledText(" " * _INDENT)
        line.append(symbol, style)
        line.append(f" {word}   ")
    line.rstrip()
    yield line
