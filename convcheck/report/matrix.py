"""Matrices of statuses or causes' letters: rows are sources, columns are destinations."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from convcheck.judge.result import FAILURES
from convcheck.records import grouped, replace
from convcheck.report.counts import NO_FAILURE, UNEXPLAINED, Status, worse
from convcheck.report.findings import CaseReport
from convcheck.rules.find import compact_names
from convcheck.rules.model import Case, op_and_version
from convcheck.rules.types import Types


def compact_specs(specs: Iterable[str]) -> str:
    """Abbreviate specs: 'onnx.Cast-{19,21}, onnx.CastLike-{19,21}'."""
    return ", ".join(compact_names(specs))


def family(spec: str) -> str:
    """Return a spec's id with an open version: onnx.Cast-*."""
    stem, version = op_and_version(spec)
    return f"{stem}-*" if version else stem


def short_names(addresses: Sequence[str]) -> list[str]:
    """Return short distinct names of backends; for a class, the class name."""
    short = [a.rpartition(":")[2] if "." in a.partition(":")[0] else a for a in addresses]
    return short if len(set(short)) == len(short) else list(addresses)


@dataclass(frozen=True)
class StatusMatrix:
    """Statuses by source and destination. Untested cells are absent."""

    sources: tuple[str, ...]
    targets: tuple[str, ...]
    cells: tuple[tuple[str, str, Status], ...]  # row, column and status
    left_out: bool = field(default=False, compare=False)  # whether rows or columns are omitted


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


def lettered_matrices(
    cases: Mapping[str, Sequence[CaseReport]],
    matrices: tuple[Mapping[str, StatusMatrix], Mapping[str, StatusMatrix]],
    letters: Mapping[str, str],
    types: Types | None,
) -> dict[str, StatusMatrix]:
    """Return a matrix with letters for the worst version of each failing operator.

    `matrices` are whole ones, and failing rows and columns. `letters` maps case ids to letters.
    """
    whole, failing = matrices
    return {
        spec: _folded(_lettered(whole[spec], cases[spec], letters), failing[spec], types)
        for spec in _worst(cases, failing)
        if len(failing[spec].sources) * len(failing[spec].targets) > 1
    }


def _worst(
    cases: Mapping[str, Sequence[CaseReport]], matrices: Mapping[str, StatusMatrix]
) -> Iterable[str]:
    worst: dict[str, str] = {}
    for spec in matrices:
        before = worst.get(family(spec), spec)
        worst[family(spec)] = max(spec, before, key=lambda one: sum(c.fails for c in cases[one]))
    return worst.values()


def _lettered(
    whole: StatusMatrix, cases: Sequence[CaseReport], letters: Mapping[str, str]
) -> StatusMatrix:
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
    if letter:
        return replace(status, symbol=letter)
    if status.word in FAILURES:
        return UNEXPLAINED
    return NO_FAILURE if status.word in ("tolerated", "pass", "undefined") else status


def _folded(whole: StatusMatrix, kept: StatusMatrix, types: Types | None) -> StatusMatrix:
    found = {(source, target): status for source, target, status in whole.cells}
    alike_rows = grouped((tuple(found.get((s, t)) for t in kept.targets), s) for s in kept.sources)
    rows = {
        ", ".join(types.folded(some) if types else some): some[0] for some in alike_rows.values()
    }
    cells = tuple(
        (source, target, status)
        for source, one in rows.items()
        for target in kept.targets
        if (status := found.get((one, target)))
    )
    return StatusMatrix(tuple(rows), kept.targets, cells, left_out=True)
