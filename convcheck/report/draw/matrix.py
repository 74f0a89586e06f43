"""Summary matrices for a terminal: sources down, destinations across, a symbol a cell."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from convcheck.report.draw.layout import paragraph
from convcheck.report.draw.styled import StyledText
from convcheck.report.matrix import Matrix
from convcheck.report.naming import compact_specs
from convcheck.report.status import STATUSES

_INDENT = 2


def matrix_lines(matrices: dict[str, Matrix], width: int) -> Iterator[StyledText]:
    """Yield the lines of matrices, those that are equal once, then what the symbols mean."""
    for one in dict.fromkeys(matrices.values()):
        specs = [spec for spec, other in matrices.items() if other == one]
        yield StyledText(compact_specs(specs), "bold")
        yield from _grid(one, width)
        yield StyledText()
    yield _legend(matrices.values())
    if any(one.left_out for one in matrices.values()):
        said = "rows and columns that are unsupported throughout are left out (-v)"
        yield from paragraph(said, width, indent=_INDENT, style="dim")
    yield StyledText()


def _grid(one: Matrix, width: int) -> Iterator[StyledText]:
    """Yield the lines of a matrix, in as many parts as the width asks for."""
    label = max(map(len, one.sources)) + _INDENT
    if label + sum(2 + len(t) for t in one.targets) <= width:
        yield StyledText(" " * label + "".join(f"  {t}" for t in one.targets), "dim")
        yield from _rows(one, one.targets, label, [2 + len(t) for t in one.targets])
        return
    columns = max((width - label - 1) // 2, 1)
    for start in range(0, len(one.targets), columns):
        if start:
            yield StyledText()
        targets = one.targets[start : start + columns]
        yield from _downwards(targets, label + 1)
        yield from _rows(one, targets, label + 1, [2] * len(targets))


def _rows(
    one: Matrix, targets: tuple[str, ...], label: int, widths: list[int]
) -> Iterator[StyledText]:
    cells = {(source, target): status for source, target, status in one.cells}
    for source in one.sources:
        line = StyledText((" " * _INDENT + source).ljust(label))
        for target, width in zip(targets, widths, strict=True):
            status = cells.get((source, target))
            before = width // 2 if width > 2 else 1  # under the middle of its heading
            line.append(" " * before)
            line.append(*((status.symbol, status.style) if status else (" ", "")))
            line.append(" " * (width - before - 1))
        line.rstrip()
        yield line


def _downwards(targets: tuple[str, ...], label: int) -> Iterator[StyledText]:
    """Yield names written downwards, so that a column need not be wider than a letter."""
    names = [_abbreviate(t) for t in targets]
    height = max(map(len, names))
    for letters in zip(*(n.rjust(height) for n in names), strict=True):
        yield StyledText((" " * label + " " + " ".join(letters)).rstrip(), "dim")


def _abbreviate(name: str) -> str:
    return name.replace("float", "f").replace("uint", "u").replace("int", "i")


def _legend(matrices: Iterable[Matrix]) -> StyledText:
    present = {status for one in matrices for *_, status in one.cells}
    legend = StyledText(" " * _INDENT)
    for status in STATUSES:
        if status in present:
            legend.append(status.symbol, status.style)
            legend.append(f" {status.word}   ")
    legend.rstrip()
    return legend
