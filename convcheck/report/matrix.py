"""The summary matrix: sources down, destinations across, a symbol a cell."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from rich.text import Text

from convcheck.judge.result import CaseResult
from convcheck.report.layout import paragraph
from convcheck.report.naming import compact_specs
from convcheck.report.status import STATUSES, Status, fails, status_of
from convcheck.rules.model import Case, Level

_INDENT = 2


@dataclass(frozen=True)
class Matrix:
    """Statuses by source and destination; those not asked are absent."""

    sources: tuple[str, ...]
    targets: tuple[str, ...]
    cells: tuple[tuple[str, str, Status], ...]
    left_out: bool = field(default=False, compare=False)  # whether rows and columns are


def matrix(cases: Iterable[CaseResult], level: Level) -> Matrix:
    """Make the matrix of one spec: of several cases in a cell the worst is shown."""
    cells: dict[tuple[str, str], Status] = {}
    for case in cases:
        key = _cell(case.case)
        status = status_of(case, level)
        cells[key] = min(cells.get(key, status), status, key=STATUSES.index)
    sources = tuple(dict.fromkeys(source for source, _ in cells))
    targets = tuple(dict.fromkeys(target for _, target in cells))
    order = {name: i for i, name in enumerate((*sources, *targets)[::-1])}  # sources win
    targets = tuple(sorted(targets, key=order.__getitem__, reverse=True))
    return Matrix(sources, targets, tuple((*key, status) for key, status in cells.items()))


def failing(cases: Iterable[CaseResult], level: Level) -> Matrix:
    """Make the matrix of one spec, of the rows and columns that have a failure no list excuses."""
    cases = tuple(cases)
    return _part(matrix(cases, level), [_cell(case.case) for case in cases if fails(case, level)])


def supported(whole: Matrix) -> Matrix:
    """Leave out the rows and columns in which everything is unsupported."""
    return _part(whole, [(s, t) for s, t, status in whole.cells if status.word != "unsupported"])


def _part(whole: Matrix, kept: Sequence[tuple[str, str]]) -> Matrix:
    sources, targets = {source for source, _ in kept}, {target for _, target in kept}
    cells = tuple(c for c in whole.cells if c[0] in sources and c[1] in targets)
    return Matrix(
        tuple(source for source in whole.sources if source in sources),
        tuple(target for target in whole.targets if target in targets),
        cells,
        len(cells) < len(whole.cells),
    )


def _cell(case: Case) -> tuple[str, str]:
    """Name row and column: the inputs and the output, of a promotion its two inputs."""
    *most, last = [*case.inputs, *(() if case.bound else case.outputs)]
    return ", ".join(dict.fromkeys(t.name for t in most)) or last.name, last.name


def show(matrices: dict[str, Matrix], width: int) -> Iterator[Text]:
    """Show the matrices of specs, those that are equal once, then what the symbols mean."""
    for one in dict.fromkeys(matrices.values()):
        specs = [spec for spec, other in matrices.items() if other == one]
        yield Text(compact_specs(specs), "bold")
        yield from _grid(one, width)
        yield Text()
    yield _legend(matrices.values())
    if any(one.left_out for one in matrices.values()):
        said = "rows and columns that are unsupported throughout are left out (-v)"
        yield from paragraph(said, width, indent=_INDENT, style="dim")
    yield Text()


def _grid(one: Matrix, width: int) -> Iterator[Text]:
    """Give the lines of a matrix, in as many parts as the width asks for."""
    label = max(map(len, one.sources)) + _INDENT
    if label + sum(2 + len(t) for t in one.targets) <= width:
        yield Text(" " * label + "".join(f"  {t}" for t in one.targets), "dim")
        yield from _rows(one, one.targets, label, [2 + len(t) for t in one.targets])
        return
    columns = max((width - label - 1) // 2, 1)
    for start in range(0, len(one.targets), columns):
        if start:
            yield Text()
        targets = one.targets[start : start + columns]
        yield from _downwards(targets, label + 1)
        yield from _rows(one, targets, label + 1, [2] * len(targets))


def _rows(one: Matrix, targets: tuple[str, ...], label: int, widths: list[int]) -> Iterator[Text]:
    cells = {(source, target): status for source, target, status in one.cells}
    for source in one.sources:
        line = Text((" " * _INDENT + source).ljust(label))
        for target, width in zip(targets, widths, strict=True):
            status = cells.get((source, target))
            before = width // 2 if width > 2 else 1  # under the middle of its heading
            line.append(" " * before)
            line.append(*((status.symbol, status.style) if status else (" ", "")))
            line.append(" " * (width - before - 1))
        line.rstrip()
        yield line


def _downwards(targets: tuple[str, ...], label: int) -> Iterator[Text]:
    """Write names downwards, so that a column need not be wider than a letter."""
    names = [_abbreviate(t) for t in targets]
    height = max(map(len, names))
    for letters in zip(*(n.rjust(height) for n in names), strict=True):
        yield Text((" " * label + " " + " ".join(letters)).rstrip(), "dim")


def _abbreviate(name: str) -> str:
    return name.replace("float", "f").replace("uint", "u").replace("int", "i")


def _legend(matrices: Iterable[Matrix]) -> Text:
    present = {status for one in matrices for *_, status in one.cells}
    legend = Text(" " * _INDENT)
    for status in STATUSES:
        if status in present:
            legend.append(status.symbol, status.style)
            legend.append(f" {status.word}   ")
    legend.rstrip()
    return legend
