"""Summary matrices of several backends: in each cell a symbol for each of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from convcheck.judge.result import FAILURES
from convcheck.report.document import Document
from convcheck.report.draw.layout import paragraph
from convcheck.report.draw.styled import StyledText
from convcheck.report.matrix import Matrix
from convcheck.report.naming import compact_specs
from convcheck.report.status import STATUSES, Status

_INDENT = 2
_NOT_ASKED = "_"
_SHORT = {"float": "f", "uint": "u", "int": "i"}


@dataclass(frozen=True)
class _Grid:
    """Sources, destinations, and per cell a status for each backend, None where not asked."""

    sources: tuple[str, ...]
    targets: tuple[str, ...]
    cells: tuple[tuple[str, str, tuple[Status | None, ...]], ...]


def matrices(
    ran: Sequence[tuple[str, Document]], width: int, verbose: bool
) -> Iterator[StyledText]:
    """Yield the matrices of specs with failures, equal ones once; `verbose` shows all."""
    grids = {spec: _grid([document for _, document in ran], spec) for spec in _specs(ran, verbose)}
    for grid in dict.fromkeys(grids.values()):
        yield StyledText(compact_specs(spec for spec, g in grids.items() if g == grid), "bold")
        yield from _show(grid, width)
        yield StyledText()
    if grids:
        yield from _legend([name for name, _ in ran], list(grids.values()), width)
        yield StyledText()


def _specs(ran: Sequence[tuple[str, Document]], verbose: bool) -> list[str]:
    found: dict[str, bool] = {}
    for _, document in ran:
        for spec, cases in document.cases.items():
            failing = any(case.verdict in FAILURES for case in cases)
            found[spec] = found.get(spec, verbose) or failing
    return [spec for spec, shown in found.items() if shown]


def _grid(documents: Sequence[Document], spec: str) -> _Grid:
    each = [document.matrices.get(spec, Matrix((), (), ())) for document in documents]
    cells: dict[tuple[str, str], list[Status | None]] = {}
    for i, one in enumerate(each):
        for source, target, status in one.cells:
            cells.setdefault((source, target), [None] * len(each))[i] = status
    widest = max(each, key=lambda one: len(one.cells))
    sources = tuple(dict.fromkeys([*widest.sources, *(s for s, _ in cells)]))
    targets = tuple(dict.fromkeys([*widest.targets, *(t for _, t in cells)]))
    return _Grid(sources, targets, tuple((*key, tuple(here)) for key, here in cells.items()))


def _show(grid: _Grid, width: int) -> Iterator[StyledText]:
    """Yield the lines of a grid, in as many parts as the width asks for."""
    label = max(map(len, grid.sources)) + _INDENT
    wide = max(len(here) for *_, here in grid.cells) + 1
    columns = max((width - label) // wide, 1)
    cells = {(source, target): here for source, target, here in grid.cells}
    for start in range(0, len(grid.targets), columns):
        if start:
            yield StyledText()
        targets = grid.targets[start : start + columns]
        yield from _heading(targets, label, wide)
        for source in grid.sources:
            yield _row(source, [cells.get((source, t), ()) for t in targets], label, wide)


def _heading(targets: Sequence[str], label: int, wide: int) -> Iterator[StyledText]:
    """Yield names written downwards, over the first symbol of their cells."""
    names = [_abbreviate(target) for target in targets]
    height = max(map(len, names))
    for letters in zip(*(name.rjust(height) for name in names), strict=True):
        line = "".join(" " + letter.ljust(wide - 1) for letter in letters)
        yield StyledText((" " * label + line).rstrip(), "dim")


def _abbreviate(name: str) -> str:
    for long, short in _SHORT.items():
        name = name.replace(long, short)
    return name


def _row(
    source: str, cells: Sequence[Sequence[Status | None]], label: int, wide: int
) -> StyledText:
    line = StyledText((" " * _INDENT + source).ljust(label))
    for here in cells:
        line.append(" ")
        for status in here:
            line.append(*((status.symbol, status.style) if status else (_NOT_ASKED, "dim")))
        line.append(" " * (wide - 1 - len(here)))
    line.rstrip()
    return line


def _legend(names: Sequence[str], grids: Sequence[_Grid], width: int) -> Iterator[StyledText]:
    """Yield whose symbol stands where, and what the symbols mean."""
    order = f"{' '.join(names)}: a symbol each, in this order"
    yield from paragraph(order, width, indent=_INDENT, hang=2, style="dim")
    present = {status for grid in grids for *_, here in grid.cells for status in here}
    marks = [(s.symbol, s.word, s.style) for s in STATUSES if s in present]
    marks += [(_NOT_ASKED, "not asked", "dim")] if None in present else []
    line = StyledText(" " * _INDENT)
    for symbol, word, style in marks:
        if line.cell_len + len(symbol) + len(word) + 1 > width:
            line.rstrip()
            yield line
            line = StyledText(" " * _INDENT)
        line.append(symbol, style)
        line.append(f" {word}   ")
    line.rstrip()
    yield line
