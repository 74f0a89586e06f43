"""Matrices of statuses: rows are sources, columns are destinations."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from convcheck.report.status import Status, worse
from convcheck.rules.model import Case


@dataclass(frozen=True)
class StatusMatrix:
    """Statuses by source and destination. Untested cells are absent."""

    sources: tuple[str, ...]
    targets: tuple[str, ...]
    #: Row, column and status.
    cells: tuple[tuple[str, str, Status], ...]
    #: Whether rows or columns are omitted.
    left_out: bool = field(default=False, compare=False)


def matrix(cases: Iterable[tuple[Case, Status]]) -> StatusMatrix:
    """Return the matrix of a spec, with the worst status of each cell."""
    cells: dict[tuple[str, str], Status] = {}
    for case, status in cases:
        key = cell_of(case)
        cells[key] = worse(cells.get(key, status), status)
    sources = tuple(dict.fromkeys(source for source, _ in cells))
    targets = tuple(dict.fromkeys(target for _, target in cells))
    order = {name: i for i, name in enumerate((*sources, *targets)[::-1])}  # sources win
    targets = tuple(sorted(targets, key=order.__getitem__, reverse=True))
    return StatusMatrix(sources, targets, tuple((*key, status) for key, status in cells.items()))


def part_with(whole: StatusMatrix, cases: Iterable[Case]) -> StatusMatrix:
    """Return the rows and columns that contain the cases."""
    return _part(whole, [cell_of(case) for case in cases])


def without_unsupported(whole: StatusMatrix) -> StatusMatrix:
    """Return a matrix without completely unsupported rows and columns."""
    return _part(whole, [(s, t) for s, t, status in whole.cells if status.word != "unsupported"])


def _part(whole: StatusMatrix, kept: Sequence[tuple[str, str]]) -> StatusMatrix:
    sources, targets = {source for source, _ in kept}, {target for _, target in kept}
    cells = tuple(c for c in whole.cells if c[0] in sources and c[1] in targets)
    return StatusMatrix(
        tuple(source for source in whole.sources if source in sources),
        tuple(target for target in whole.targets if target in targets),
        cells,
        len(cells) < len(whole.cells),
    )


def cell_of(case: Case) -> tuple[str, str]:
    """Return row and column: the inputs and the output; for a promotion, its two inputs."""
    *most, last = [*case.inputs, *(() if case.bound else case.outputs)]
    return "-".join(dict.fromkeys(t.name for t in most)) or last.name, last.name
