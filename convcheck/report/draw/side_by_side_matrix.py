"""Summary matrices of several backends: in each cell a symbol for each of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from convcheck.judge.result import FAILURES
from convcheck.report.document import Document
from convcheck.report.draw.layout import paragraph
from convcheck.report.draw.matrix import NOT_ASKED, legend_lines
from convcheck.report.draw.styled import StyledText
from convcheck.report.draw.table import cells, downwards, table_lines
from convcheck.report.matrix import StatusMatrix
from convcheck.report.short_names import compact_specs
from convcheck.report.status import Status

_INDENT = 2


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
        names = compact_specs(spec for spec, g in grids.items() if g == grid)
        yield from paragraph(names, width, indent=0, hang=2, style="bold")
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
    each = [document.matrices.get(spec, StatusMatrix((), (), ())) for document in documents]
    cells: dict[tuple[str, str], list[Status | None]] = {}
    for i, one in enumerate(each):
        for source, target, status in one.cells:
            cells.setdefault((source, target), [None] * len(each))[i] = status
    widest = max(each, key=lambda one: len(one.cells))
    sources = tuple(dict.fromkeys([*widest.sources, *(s for s, _ in cells)]))
    targets = tuple(dict.fromkeys([*widest.targets, *(t for _, t in cells)]))
    return _Grid(sources, targets, tuple((*key, tuple(here)) for key, here in cells.items()))


def _show(grid: _Grid, width: int) -> Iterator[StyledText]:
    """Yield the lines of a grid, names written downwards over the first symbol of their cells."""
    found = {(source, target): here for source, target, here in grid.cells}
    rows = [
        [
            StyledText(source),
            *(_symbols(found.get((source, target), ())) for target in grid.targets),
        ]
        for source in grid.sources
    ]
    heads = [cells(["", *letters], "dim") for letters in downwards(grid.targets)]
    yield from table_lines(heads, rows, width, indent=_INDENT, gap=1)


def _symbols(here: Sequence[Status | None]) -> StyledText:
    marks = ((one.symbol, one.style) if one else (NOT_ASKED, "dim") for one in here)
    return StyledText.assemble(*marks)


def _legend(names: Sequence[str], grids: Sequence[_Grid], width: int) -> Iterator[StyledText]:
    """Yield whose symbol stands where, and what the symbols mean."""
    order = f"{' '.join(names)}: a symbol each, in this order"
    yield from paragraph(order, width, indent=_INDENT, hang=2, style="dim")
    shown = {status for grid in grids for *_, here in grid.cells for status in here}
    yield from legend_lines(shown, width)
