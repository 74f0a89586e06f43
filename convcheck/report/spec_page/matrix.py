"""Draw a promotion matrix, the meaning of its signs, and its citations."""

from __future__ import annotations

from collections.abc import Iterator

from convcheck.report.blocks import BLANK, Block, Text, field
from convcheck.report.spec_page.fields import grid, quoted, titled
from convcheck.rules.body.matrix import REFUSED, Matrix, MatrixCell, MatrixTable
from convcheck.rules.model import Cite, Level, Spec
from convcheck.rules.types import Types
from convcheck.wording import plural

_Foot = tuple[Level, Cite, str]  # level, citation, and its subject: the type or a refusal
_Pair = tuple[str, str]


def matrix_body_blocks(spec: Spec, types: Types) -> Iterator[Block]:
    """Yield a matrix: the legend, then the tables in order of precedence."""
    matrix = spec.body_as(Matrix)
    yield BLANK
    yield Text("matrix", "bold")
    for sign, said in _legend(matrix):
        yield field(f"  {sign}", said)
    for table in matrix.tables:
        yield BLANK
        yield titled(table.name, table.place)
        yield field("  when", _when(table))
        yield BLANK
        yield grid(rows(table, matrix))
        yield BLANK
        yield from _feet(spec, table, types)


def _legend(matrix: Matrix) -> Iterator[tuple[str, str]]:
    unless = " and ".join(f"{name} is {value}" for name, value in matrix.refused_unless)
    words = {cell.text for table in matrix.tables for cell in table.cells.values()}
    if any("!" in word and "|" not in word for word in words):
        yield "T!", f"refused unless {unless}, and then T"
    if any("|" in word for word in words):
        yield "T|T!", f"T, or T!: which of them is disputed; T where {unless}"
    for target, attribute in matrix.targets.items():
        yield target, f"the type that {attribute} names"


def _when(table: MatrixTable) -> str:
    parts = [f"{name} {', '.join(sorted(map(str, allowed)))}" for name, allowed in table.when]
    if table.ranks:
        row, column = table.ranks
        parts.append(f"a row is the {row} input, a column the {column} one")
    else:
        parts.append("either order of the inputs")
    return "; ".join(parts)


def rows(table: MatrixTable, matrix: Matrix) -> list[list[str]]:
    """Return heads and cells in the spec's spelling. Triangles have empty cells."""
    said = {dtype.name: word for word, dtype in matrix.named.items()}
    made = [["", *(said[name] for name in table.types)]]
    for row in table.types:
        cells = (table.cells.get((row, column)) for column in table.types)
        made.append([said[row], *(cell.text if cell else "" for cell in cells)])
    return made


def _feet(spec: Spec, table: MatrixTable, types: Types) -> Iterator[Block]:
    """Yield each level and citation, with the cells that they support."""
    found: dict[tuple[str, str, str, str], tuple[_Foot, list[_Pair]]] = {}
    for pair, cell in table.cells.items():
        for foot in _of(cell):
            level, cite, about = foot
            key = (about, level, cite.source, cite.text)
            found.setdefault(key, (foot, []))[1].append(pair)
    for (level, cite, about), pairs in sorted(found.values(), key=lambda f: f[0][2] == REFUSED):
        where = _where(table, pairs, types)
        yield field("  cite", f"{about}, {level}, {where}: {quoted(spec, cite)}")


def _of(cell: MatrixCell) -> Iterator[_Foot]:
    """Yield the citations of a cell: for its type, and for refusal or acceptance."""
    free, guarded = cell.free.ruling, cell.guarded
    yield free.level, free.cite, "type"
    for reading in guarded.readings:
        about = REFUSED if reading.refused else "accepted"
        same = (reading.cite.text, guarded.ruling.level) == (free.cite.text, free.level)
        if not same:
            yield guarded.ruling.level, reading.cite, about


def _where(table: MatrixTable, pairs: list[_Pair], types: Types) -> str:
    """Describe cells: all, a product of families, or their number."""
    if len(pairs) == len(table.cells):
        return "every cell"
    rows, columns = (list(dict.fromkeys(p[i] for p in pairs)) for i in (0, 1))
    inside = {(r, c) for r in rows for c in columns if (r, c) in table.cells}
    if inside == set(pairs):
        return " with ".join(_named(names, table, types) for names in (rows, columns))
    return f"{plural(len(pairs), 'cell')} such as {' with '.join(pairs[0])}"


def _named(names: list[str], table: MatrixTable, types: Types) -> str:
    return "any type" if set(names) == set(table.types) else ", ".join(types.folded(names))
