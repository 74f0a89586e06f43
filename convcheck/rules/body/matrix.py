"""Read `matrix` of a spec file: the common types of two inputs (docs/specs.md)."""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from math import prod

from convcheck.errors import Place, SpecError
from convcheck.numerics.format import Text
from convcheck.numerics.words import OutsideFormatError, code_of
from convcheck.rules.model import Attributes, Body, Cite, DType, Level, Spec, Value
from convcheck.rules.rule import Context, read_cite, read_level
from convcheck.rules.source import Node
from convcheck.rules.types import RUNTIMES
from convcheck.streams import meant, plural

LARGEST = 1 << 16  # elements of a tensor


def check_layouts(spec: Spec, node: Node, optional: Collection[str] = ()) -> None:
    """Refuse a layout that is too large or lacks an input."""
    if spec.likes:
        raise node.need("type-only").error("every input of a whole call counts", "leave it out")
    if not spec.layouts:
        at = node.get("layouts") or node.need(spec.body.name)
        raise at.error("a whole call needs layouts", "layouts: {NAME: {INPUT: [dimensions]}}")
    needed = [name for name, _ in spec.inputs if name not in optional]
    for layout in spec.layouts:
        at = node.need("layouts").need(layout.name)
        missing = [name for name in needed if name not in dict(layout.shapes)]
        if missing:
            said = f"the layout leaves out {', '.join(missing)}"
            raise at.error(said, f"{missing[0]}: [] for a scalar")
        for name, dims in layout.shapes:
            if prod(int(d) for d in dims if d.isdigit()) > LARGEST:
                raise at.need(name).error("a tensor with too many elements", f"{LARGEST} at most")


def check_one_output(spec: Spec, node: Node) -> None:
    """Refuse other than one output."""
    if len(spec.outputs) != 1:
        said = f"{plural(len(spec.outputs), 'output')} instead of 1"
        raise node.need("outputs").error(said, "NAME: TYPES")


def wrong_type(node: Node, variable: str, dtype: DType, said: str) -> SpecError:
    """Return the error for a type that a body cannot compute with."""
    at = node.need("types").need(variable)
    return at.error(f"{said}, {dtype} is none", f"leave {dtype} out of {variable}")


def check_numbers(words: Iterable[Node], types: Mapping[str, DType]) -> None:
    """Refuse words that are not numbers."""
    wide = types["float64"].format
    assert not isinstance(wide, Text)  # noqa: S101
    for at in words:
        try:
            code_of(wide, at.text())
        except OutsideFormatError as error:
            raise at.error(str(error), "a decimal, inf or nan") from None


RANKS = ("dimensioned", "scalar")  # nonzero rank, and rank 0
REFUSED = "refused"
_CELL = re.compile(r"(\$?[a-z0-9]+)(!?)(?:\|(\$?[a-z0-9]+)!)?")
_RULING_KEYS = ("level", "cite", "accepted", "refused", "disputed")


@dataclass(frozen=True)
class Ruling:
    """Level and citation of a cell."""

    level: Level
    cite: Cite


@dataclass(frozen=True)
class CellReading:
    """A reading: accept or refuse."""

    name: str
    refused: bool
    cite: Cite


@dataclass(frozen=True)
class CellAnswer:
    """An answer: one reading, or two disputed ones."""

    ruling: Ruling
    readings: tuple[CellReading, ...]  # 'accept' and 'refuse' if disputed


@dataclass(frozen=True)
class MatrixCell:
    """The common type of a pair."""

    gives: str  # a type, or a target such as '$u64'
    free: CellAnswer  # if the attributes allow everything
    guarded: CellAnswer  # otherwise
    text: str  # as written
    place: Place


@dataclass(frozen=True)
class MatrixTable:
    """A table of a matrix: a triangle, or a square with ranks."""

    name: str
    when: tuple[tuple[str, frozenset[Value]], ...]  # attribute -> values
    ranks: tuple[str, ...]  # of a square's rows and columns
    types: tuple[str, ...]
    cells: Mapping[tuple[str, str], MatrixCell]  # (row type, column type) -> cell
    place: Place


@dataclass(frozen=True)
class MatrixExample:
    """An example of the text. Layout '' is any."""

    inputs: tuple[str, ...]
    layout: str
    attributes: Attributes
    gives: str
    place: Place


@dataclass(frozen=True)
class Matrix(Body):
    """Tables, and what their cells refer to."""

    name = "matrix"
    gives_types = True
    refused_unless: tuple[tuple[str, str], ...]  # that allow what `!` marks
    targets: Mapping[str, str]  # '$u64' -> the attribute with the type
    named: Mapping[str, DType]  # by the spelling of the spec's runtime
    tables: tuple[MatrixTable, ...]  # the first with a pair decides
    examples: tuple[MatrixExample, ...]

    def check(self, spec: Spec, node: Node, types: Mapping[str, DType]) -> None:
        """Check for two inputs and outputs in all layouts."""
        check_layouts(spec, node)
        for key, tensors in (("inputs", spec.inputs), ("outputs", spec.outputs)):
            if len(tensors) != 2:
                said = f"{plural(len(tensors), key[:-1])} instead of 2"
                raise node.need(key).error(said, "each is converted")


@dataclass(frozen=True)
class _Names:
    named: Mapping[str, DType]
    targets: Mapping[str, str]
    context: Context

    def type_of(self, node: Node, word: str) -> str:
        if word in self.targets:
            return word
        if word not in self.named:
            raise node.error(f"unknown type {word!r}", meant(word, [*self.named, *self.targets]))
        return self.named[word].name

    def family(self, node: Node) -> frozenset[str]:
        found: set[str] = set()
        for element in node.elements():
            members = self.context.types.sets.get(element.text())
            found |= set(members) if members else {self.type_of(element, element.text())}
        return frozenset(found)


def read_matrix(node: Node, context: Context) -> Matrix:
    """Return a matrix."""
    body = node.need("matrix")
    body.only("names", "refused-unless", "targets", "tables")
    runtime = body.need("names", "whose spelling of types is used").word(RUNTIMES, "runtime")
    named: dict[str, DType] = {}
    # a user's type does not override a built-in name
    for dtype in context.types.types.values():
        named.setdefault(dtype.name_in(runtime), dtype)
    named.pop("", None)
    attributes = tuple(context.attributes)
    targets = {k: v.word(attributes, "attribute") for k, v in body.entries("targets").items()}
    names = _Names(named, targets, context)
    tables = tuple(_table(t, names) for t in body.need("tables").elements())
    layouts = tuple(node.entries("layouts"))
    examples = tuple(_example(e, layouts, names) for e in node.listed("examples"))
    body.read("refused-unless", lambda e: e.only(*attributes), None)
    unless = tuple(
        (name, value.word(context.attributes[name], f"value of {name}"))
        for name, value in body.entries("refused-unless").items()
    )
    values = {v for name in names.targets.values() for v in context.attributes[name]}
    cells = {cell.gives for table in tables for cell in table.cells.values()}
    used = cells.union(*(table.types for table in tables))
    own = {word: t for word, t in named.items() if t.name in used or word in values}
    return Matrix(unless, names.targets, own, tables, examples)


def _table(node: Node, names: _Names) -> MatrixTable:
    node.only("name", "when", "triangle", "square", "cells")
    when, ranks = node.read("when", lambda e: _when(e, names.context), ((), ()))
    kind, other = ("square", "triangle") if ranks else ("triangle", "square")
    if found := node.get(other):
        raise found.error(f"a {other} here", "`ranks` tells rows from columns of a square")
    rows = node.need(kind, "square with `ranks`, triangle without").items()
    types = tuple(names.type_of(row, label) for label, row in rows.items())
    blocks = node.need("cells", "what the cells rest on").elements()
    cells: dict[tuple[str, str], MatrixCell] = {}
    used = set()
    for index, row in enumerate(rows.values()):
        width = len(types) if ranks else index + 1
        listed = row.elements()
        if len(listed) != width:
            said = f"a row of {plural(len(listed), 'cell')} instead of {width}"
            raise row.error(said, "columns are as the rows")
        for column, cell in zip(types, listed, strict=False):
            pair = (types[index], column)
            block = _block_of(cell, pair, blocks, names)
            used.add(block.place)
            cells[pair] = _cell(cell, block, names)
    for block in blocks:
        if block.place not in used:
            raise block.error("this rules no cell", "the entries above it have all of its pairs")
    return MatrixTable(node.need("name").text(), when, ranks, types, cells, node.place)


def _when(
    node: Node, context: Context
) -> tuple[tuple[tuple[str, frozenset[Value]], ...], tuple[str, ...]]:
    node.only("ranks", *context.attributes)
    ranks = tuple(e.word(RANKS, "kind of rank") for e in node.listed("ranks"))
    if len(ranks) not in (0, 2):
        raise node.need("ranks").error("two ranks are needed", "of the row and of the column")
    conditions = []
    for key, value in node.items().items():
        if key != "ranks":
            allowed = (e.word(context.attributes[key], f"value of {key}") for e in value.elements())
            conditions.append((key, frozenset[Value](allowed)))
    return tuple(conditions), ranks


def _block_of(node: Node, pair: tuple[str, str], blocks: list[Node], names: _Names) -> Node:
    for block in blocks:
        block.only("of", *_RULING_KEYS)
        of = block.need("of").elements()
        if len(of) != 2:
            raise block.need("of").error("a pair is needed", "of: [types, types]")
        a, b = (names.family(side) for side in of)
        if (pair[0] in a and pair[1] in b) or (pair[0] in b and pair[1] in a):
            return block
    raise node.error(f"no entry of `cells` has {' and '.join(pair)}", "cite what the cell rests on")


def _cell(node: Node, block: Node, names: _Names) -> MatrixCell:
    written, rules = node, block
    if isinstance(node.value, dict):
        node.only("gives", *_RULING_KEYS)
        written = node.need("gives")
        rules = Node({**block.items(), **node.items()}, node.place)
    text = written.text()
    match = _CELL.fullmatch(text)
    if match is None or (match[3] and (match[2] or match[3] != match[1])):
        raise written.error(f"{text!r} is not a cell", "`i8`, `i8!`, or `i8|i8!` for either")
    ruling = _ruling(rules, names.context)
    word = "disputed" if match[3] else REFUSED if match[2] else "accepted"
    gives = names.type_of(written, match[1])
    free = CellAnswer(ruling, (CellReading("", False, ruling.cite),))
    return MatrixCell(gives, free, _guarded(rules, word, ruling, names.context), text, node.place)


def _ruling(node: Node, context: Context, default: Ruling | None = None) -> Ruling:
    if default is None:
        return Ruling(read_level(node.need("level")), read_cite(node.need("cite"), context))
    level = node.read("level", read_level, default.level)
    return Ruling(level, node.read("cite", lambda e: read_cite(e, context), default.cite))


def _guarded(rules: Node, word: str, ruling: Ruling, context: Context) -> CellAnswer:
    own = rules.get(word)
    if word == "disputed":
        own = rules.need(word, "cite what either reading rests on")
        own.only("accept", "refuse")
        readings = tuple(
            CellReading(name, name == "refuse", read_cite(own.need(name).need("cite"), context))
            for name in ("accept", "refuse")
        )
        return CellAnswer(Ruling("disputed", readings[0].cite), readings)
    if own:
        own.only("level", "cite")
    elif word == REFUSED:
        raise rules.error("a refusal is not cited", "refused: {cite: the sentence}")
    found = _ruling(own, context, ruling) if own else ruling
    return CellAnswer(found, (CellReading("", word == REFUSED, found.cite),))


def _example(node: Node, layouts: tuple[str, ...], names: _Names) -> MatrixExample:
    attributes = names.context.attributes
    node.only("inputs", "layout", "gives", *attributes)
    inputs = tuple(names.type_of(e, e.text()) for e in node.need("inputs").elements())
    said = ((k, node.items()[k].word(v, k)) for k, v in attributes.items() if node.get(k))
    gives = node.need("gives")
    return MatrixExample(
        inputs,
        node.read("layout", lambda e: e.word(layouts, "layout"), ""),
        tuple(said),
        REFUSED if gives.text() == REFUSED else names.type_of(gives, gives.text()),
        node.place,
    )
