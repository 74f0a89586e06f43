"""The matrices of a run with causes: a letter for what explains a cell, few rows and columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from convcheck.records import replace
from convcheck.report.findings import CaseReport
from convcheck.report.matrix import StatusMatrix, cell_of
from convcheck.report.short_names import family
from convcheck.report.status import Status
from convcheck.rules.types import Types

Bundle = Mapping[str, StatusMatrix]  # by spec, all of the same rows and columns


def letter_bundles(
    cases: Mapping[str, Sequence[CaseReport]],
    matrices: tuple[Mapping[str, StatusMatrix], Mapping[str, StatusMatrix]],
    letters: Mapping[str, str],
    types: Types | None,
) -> tuple[Bundle, ...]:
    """Return a matrix for each operator that fails, that of the version with the most failures,
    with letters in the place of what is explained. Those of the same columns go together.

    `matrices` are whole ones, and their rows and columns that fail; `letters` by the id of a case.
    Rows that are equal are one, and so are columns if they have a common name. Matrices of one
    cell say nothing, and are left out.
    """
    whole, failing = matrices
    bundles: dict[tuple[str, ...], list[str]] = {}
    for spec in _worst(cases, failing):
        bundles.setdefault(failing[spec].targets, []).append(spec)
    found: list[Bundle] = []
    for targets, specs in bundles.items():
        sources = list(dict.fromkeys(s for spec in specs for s in failing[spec].sources))
        if len(sources) * len(targets) > 1:
            marked = {spec: _lettered(whole[spec], cases[spec], letters) for spec in specs}
            found.append(_folded(marked, sources, targets, types))
    return tuple(found)


def _worst(
    cases: Mapping[str, Sequence[CaseReport]], matrices: Mapping[str, StatusMatrix]
) -> Iterable[str]:
    """Return of each operator the version with the most failures, of several the latest."""
    worst: dict[str, str] = {}
    for spec in matrices:
        before = worst.get(family(spec), spec)
        worst[family(spec)] = max(spec, before, key=lambda one: sum(c.fails for c in cases[one]))
    return worst.values()


def _lettered(
    whole: StatusMatrix, cases: Sequence[CaseReport], letters: Mapping[str, str]
) -> StatusMatrix:
    """Put letters into the cells all of whose failures are explained: of several the first."""
    found: dict[tuple[str, str], set[str]] = {}
    for case in cases:
        if case.fails:
            found.setdefault(cell_of(case.case), set()).add(letters.get(case.case.id, ""))
    order = list(dict.fromkeys(letters.values()))
    marks = {cell: min(some, key=order.index) for cell, some in found.items() if "" not in some}
    cells = (
        (source, target, _marked(status, marks.get((source, target), "")))
        for source, target, status in whole.cells
    )
    return replace(whole, cells=tuple(cells))


def _marked(status: Status, letter: str) -> Status:
    return replace(status, symbol=letter) if letter else status


def _folded(
    bundle: Bundle, sources: Sequence[str], targets: Sequence[str], types: Types | None
) -> Bundle:
    """Return some rows and columns, equal rows as one, and equal columns of a family."""
    found = {
        (spec, source, target): status
        for spec, one in bundle.items()
        for source, target, status in one.cells
    }

    def row(source: str) -> tuple[Status | None, ...]:
        return tuple(found.get((spec, source, target)) for spec in bundle for target in targets)

    def column(target: str) -> tuple[Status | None, ...]:
        return tuple(found.get((spec, source, target)) for spec in bundle for source in sources)

    rows = {_name(some, types): some[0] for some in _alike(sources, row)}
    columns = {
        _name(part, types): part[0]
        for some in _alike(targets, column)
        for part in ([some] if types and len(types.folded(some)) == 1 else [[one] for one in some])
    }
    return {spec: _part(spec, rows, columns, found) for spec in bundle}


def _part(
    spec: str,
    rows: Mapping[str, str],
    columns: Mapping[str, str],
    found: Mapping[tuple[str, str, str], Status],
) -> StatusMatrix:
    """Return the matrix of a spec of these rows and columns, by the names that stand for them."""
    cells = (
        (source, target, found.get((spec, one, other)))
        for source, one in rows.items()
        for target, other in columns.items()
    )
    kept = tuple((source, target, status) for source, target, status in cells if status)
    return StatusMatrix(tuple(rows), tuple(columns), kept, left_out=True)


def _alike(
    names: Sequence[str], cells: Callable[[str], tuple[Status | None, ...]]
) -> Iterable[list[str]]:
    """Return names whose cells are equal together, in the order of the first ones."""
    found: dict[tuple[Status | None, ...], list[str]] = {}
    for name in names:
        found.setdefault(cells(name), []).append(name)
    return found.values()


def _name(names: Sequence[str], types: Types | None) -> str:
    return ", ".join(types.folded(names) if types else names)
