"""Summary matrices: sources down, destinations across, a symbol a cell."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from convcheck.report.blocks import (
    BLANK,
    Beside,
    Block,
    Fitting,
    Said,
    Table,
    Text,
    downwards,
    styled,
)
from convcheck.report.matrix import StatusMatrix
from convcheck.report.short_names import compact_specs
from convcheck.report.status import STATUSES, Status
from convcheck.wording import GLUE

NOT_ASKED = "_"
LETTERS = "a letter: what explains the cell, of several causes that of most cases"
INDENT = 2


def letter_blocks(bundles: Sequence[Mapping[str, StatusMatrix]]) -> Iterator[Block]:
    """Yield matrices with letters, side by side where they fit, then what the symbols mean."""
    if bundles:
        yield Beside([_bundle(one) for one in bundles])
        shown = {status for b in bundles for one in b.values() for *_, status in one.cells}
        yield legend({one for one in shown if one in STATUSES})
        yield Text(LETTERS, "dim", INDENT)
        yield BLANK


def _bundle(bundle: Mapping[str, StatusMatrix]) -> list[Block]:
    """Return matrices of the same rows and columns, side by side where they fit."""
    beside: list[Block] = [Text(" | ".join(bundle), "bold", hang=2), _beside(bundle)]
    apart: list[Block] = []
    for spec, one in bundle.items():
        apart += (Text(spec, "bold"), _grid(one))
    return [Fitting([beside, apart])]


def _beside(bundle: Mapping[str, StatusMatrix]) -> Table:
    """Return matrices of the same rows and columns as one table."""
    first, *_ = bundle.values()
    gap = [""]
    letters = downwards(first.targets)
    heads = [[part for _ in bundle for part in (*gap, *line)] for line in letters]
    rows: list[list[Said]] = [[source] for source in first.sources]
    for one in bundle.values():
        for row, symbols in zip(rows, _symbols(one), strict=True):
            row += [*gap, *symbols]
    return Table([styled("dim", ["", *line]) for line in heads], rows, INDENT, gap=1)


def matrix_blocks(matrices: dict[str, StatusMatrix]) -> Iterator[Block]:
    """Yield matrices, those that are equal once, then what the symbols mean."""
    for one in dict.fromkeys(matrices.values()):
        specs = [spec for spec, other in matrices.items() if other == one]
        yield Text(compact_specs(specs), "bold", hang=2)
        yield from (_grid(one), BLANK)
    yield legend({status for one in matrices.values() for *_, status in one.cells})
    if any(one.left_out for one in matrices.values()):
        said = "rows and columns that are unsupported throughout are left out (-v)"
        yield Text(said, "dim", INDENT)
    yield BLANK


def _grid(one: StatusMatrix) -> Fitting:
    """Return a matrix; names stand downwards where they are too wide across."""
    rows = [[source, *symbols] for source, symbols in zip(one.sources, _symbols(one), strict=True)]
    across = Table([styled("dim", ["", *one.targets])], rows, INDENT, middle=True)
    return Fitting([[across], [narrow(one.targets, rows)]])


def narrow(targets: Sequence[str], rows: Sequence[Sequence[Said]]) -> Table:
    """Return a table with the names of its columns written downwards."""
    heads = [styled("dim", ["", *letters]) for letters in downwards(targets)]
    return Table(heads, [[f"{row[0]} ", *row[1:]] for row in rows], INDENT, gap=1)


def _symbols(one: StatusMatrix) -> list[list[Said]]:
    found = {(source, target): status for source, target, status in one.cells}
    return [
        [_symbol(found.get((source, target))) for target in one.targets] for source in one.sources
    ]


def _symbol(status: Status | None) -> Said:
    return [(status.symbol, status.style)] if status else ""


def legend(shown: Collection[Status | None]) -> Text:
    """Say what the symbols of some statuses mean, and that of None: that a case was not asked."""
    marks = [(one.symbol, one.word, one.style) for one in STATUSES if one in shown]
    marks += [(NOT_ASKED, "not asked", "dim")] if None in shown else []
    said = []
    for symbol, word, style in marks:
        said += [(symbol, style), (f"{GLUE}{word.replace(' ', GLUE)}   ", "")]
    return Text(said, indent=INDENT)
