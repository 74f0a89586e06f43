"""Draw matrices of statuses: rows are sources, columns are destinations."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain

from convcheck.judge.result import FAILURES
from convcheck.records import grouped
from convcheck.report.blocks import BLANK, Block, Fitting, Said, Table, Text, downwards, styled
from convcheck.report.counts import NO_FAILURE, STATUSES, UNEXPLAINED, Status
from convcheck.report.document import Document
from convcheck.report.matrix import StatusMatrix, compact_specs
from convcheck.streams import GLUE

_MARKS = (*STATUSES, UNEXPLAINED, NO_FAILURE)
_NOT_ASKED = ("_", "dim")
_INDENT = 2
# rows, columns, and the statuses of several backends in each cell; None if not tested
_Grid = tuple[
    tuple[str, ...], tuple[str, ...], tuple[tuple[str, str, tuple[Status | None, ...]], ...]
]


def matrix_blocks(matrices: Mapping[str, StatusMatrix], lettered: bool = False) -> Iterator[Block]:
    """Yield matrices, equal ones once, and a legend.

    With letters, those with other rows than the first are drawn as letters only.
    """
    if not matrices:
        return
    specs = grouped((one, spec) for spec, one in matrices.items())
    named = [(compact_specs(some), one) for one, some in specs.items()]
    if lettered:
        first, *others = grouped((one.sources, (name, one)) for name, one in named).values()
        yield _bundle(first)
        yield from letters_only(dict(chain.from_iterable(others)))
    else:
        for name, one in named:
            yield from (Text(name, "bold", hang=2), _grid(one), BLANK)
    yield _legend({status for one in specs for *_, status in one.cells if status in _MARKS})
    if not lettered and any(one.left_out for one in matrices.values()):
        said = "rows and columns that are unsupported throughout are left out (-v)"
        yield Text(said, "dim", _INDENT)
    yield BLANK


def letters_only(matrices: Mapping[str, StatusMatrix]) -> Iterator[Text]:
    """Yield a line for each operator: its causes' letters."""
    specs = grouped((one, spec) for spec, one in matrices.items())
    for one, some in specs.items():
        letters = {st.symbol for *_, st in one.cells if st not in _MARKS}
        marks = sorted(letters) + ["!"] * any(st == UNEXPLAINED for *_, st in one.cells)
        yield Text(f"{compact_specs(some)}: {', '.join(marks)} (-v draws the matrix)", hang=2)


def _bundle(named: Sequence[tuple[str, StatusMatrix]]) -> Fitting:
    columns = [name for _, one in named for name in ("", *one.targets)][1:]
    first, *others = (_rows(one) for _, one in named)
    rows = [
        [*row, *(cell for part in others for cell in ("", *part[i][1:]))]
        for i, row in enumerate(first)
    ]
    beside: list[Block] = [
        Text(" | ".join(name for name, _ in named), "bold", hang=2),
        _narrow(columns, rows),
    ]
    apart: list[Block] = [
        block for name, one in named for block in (Text(name, "bold"), _grid(one))
    ]
    return Fitting([beside, apart])


def side_by_side_matrices(ran: Sequence[tuple[str, Document]], verbose: bool) -> Iterator[Block]:
    """Yield matrices, equal ones once, with a symbol per backend in each cell.

    Only `verbose` shows specs without failures.
    """
    grids = {spec: _joined([document for _, document in ran], spec)
             for spec in _specs(ran, verbose)}  # fmt: skip
    for grid in dict.fromkeys(grids.values()):
        sources, targets, cells = grid
        names = compact_specs(spec for spec, other in grids.items() if other == grid)
        found = {(source, target): here for source, target, here in cells}
        rows: list[list[Said]] = [
            [source, *(_several(found.get((source, target), ())) for target in targets)]
            for source in sources
        ]
        yield Text(names, "bold", hang=2)
        yield from (_narrow(targets, rows), BLANK)
    if grids:
        order = f"{' '.join(name for name, _ in ran)}: a symbol each, in this order"
        yield Text(order, "dim", _INDENT, hang=2)
        yield _legend({one for grid in grids.values() for *_, here in grid[2] for one in here})
        yield BLANK


def _specs(ran: Sequence[tuple[str, Document]], verbose: bool) -> list[str]:
    found: dict[str, bool] = {}
    for _, document in ran:
        for spec, cases in document.cases.items():
            failing = any(case.found.verdict in FAILURES for case in cases)
            found[spec] = found.get(spec, verbose) or failing
    return [spec for spec, shown in found.items() if shown]


def _joined(documents: Sequence[Document], spec: str) -> _Grid:
    each = [document.matrices.get(spec, StatusMatrix((), (), ())) for document in documents]
    cells: dict[tuple[str, str], list[Status | None]] = {}
    for i, one in enumerate(each):
        for source, target, status in one.cells:
            cells.setdefault((source, target), [None] * len(each))[i] = status
    widest = max(each, key=lambda one: len(one.cells))
    sources = tuple(dict.fromkeys([*widest.sources, *(s for s, _ in cells)]))
    targets = tuple(dict.fromkeys([*widest.targets, *(t for _, t in cells)]))
    return sources, targets, tuple((*key, tuple(here)) for key, here in cells.items())


def _several(here: Sequence[Status | None]) -> Said:
    return [(one.symbol, one.style) if one else _NOT_ASKED for one in here]


def _grid(one: StatusMatrix) -> Fitting:
    rows = _rows(one)
    across = Table([styled("dim", ["", *one.targets])], rows, _INDENT, middle=True)
    return Fitting([[across], [_narrow(one.targets, rows)]])


def _narrow(targets: Sequence[str], rows: Sequence[Sequence[Said]]) -> Table:
    heads = [styled("dim", ["", *letters]) for letters in downwards(targets)]
    return Table(heads, [[f"{row[0]} ", *row[1:]] for row in rows], _INDENT, gap=1)


def _rows(one: StatusMatrix) -> list[list[Said]]:
    found = {(source, target): [(st.symbol, st.style)] for source, target, st in one.cells}
    return [[s, *(found.get((s, target), "") for target in one.targets)] for s in one.sources]


def _legend(shown: Collection[Status | None]) -> Text:
    marks = [(one.symbol, one.word, one.style) for one in _MARKS if one in shown]
    marks += [("A…", "the cell's most harmful cause", "bold red")] if NO_FAILURE in shown else []
    marks += [(_NOT_ASKED[0], "not asked", _NOT_ASKED[1])] if None in shown else []
    said = []
    for symbol, word, style in marks:
        said += [(symbol, style), (f"{GLUE}{word.replace(' ', GLUE)}   ", "")]
    return Text(said, indent=_INDENT)
