"""Summary matrices of several backends: in each cell a symbol for each of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from convcheck.judge.result import FAILURES
from convcheck.report.blocks import BLANK, Block, Said, Text
from convcheck.report.document import Document
from convcheck.report.draw.matrix import INDENT, NOT_ASKED, legend, narrow
from convcheck.report.matrix import StatusMatrix
from convcheck.report.short_names import compact_specs
from convcheck.report.status import Status


@dataclass(frozen=True)
class _Grid:
    """Sources, destinations, and per cell a status for each backend, None where not asked."""

    sources: tuple[str, ...]
    targets: tuple[str, ...]
    cells: tuple[tuple[str, str, tuple[Status | None, ...]], ...]


def matrices(ran: Sequence[tuple[str, Document]], verbose: bool) -> Iterator[Block]:
    """Yield the matrices of specs with failures, equal ones once; `verbose` shows all."""
    grids = {spec: _grid([document for _, document in ran], spec) for spec in _specs(ran, verbose)}
    for grid in dict.fromkeys(grids.values()):
        names = compact_specs(spec for spec, g in grids.items() if g == grid)
        found = {(source, target): here for source, target, here in grid.cells}
        rows: list[list[Said]] = [
            [source, *(_symbols(found.get((source, target), ())) for target in grid.targets)]
            for source in grid.sources
        ]
        yield Text(names, "bold", hang=2)
        yield from (narrow(grid.targets, rows), BLANK)
    if grids:
        order = f"{' '.join(name for name, _ in ran)}: a symbol each, in this order"
        yield Text(order, "dim", INDENT, hang=2)
        yield legend({one for grid in grids.values() for *_, here in grid.cells for one in here})
        yield BLANK


def _specs(ran: Sequence[tuple[str, Document]], verbose: bool) -> list[str]:
    found: dict[str, bool] = {}
    for _, document in ran:
        for spec, cases in document.cases.items():
            failing = any(case.found.verdict in FAILURES for case in cases)
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


def _symbols(here: Sequence[Status | None]) -> Said:
    return [(one.symbol, one.style) if one else (NOT_ASKED, "dim") for one in here]
