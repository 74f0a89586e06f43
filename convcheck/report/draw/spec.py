"""Draw specs, and changes between two versions."""

import dataclasses
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from convcheck.errors import Place
from convcheck.judge.words import cited, translated
from convcheck.report.blocks import BLANK, Block, Table, Text, field, styled
from convcheck.rules.body.formula import FormulaWay
from convcheck.rules.body.matrix import REFUSED, Matrix, MatrixCell, MatrixTable
from convcheck.rules.body.steps import StepsLine
from convcheck.rules.cases import OUTPUT, pairs_outside
from convcheck.rules.expression import Expression
from convcheck.rules.model import (
    Cell,
    Cite,
    DType,
    Layout,
    Level,
    Pairs,
    Rule,
    Spec,
    TypeNames,
    Uncovered,
)
from convcheck.rules.types import Change, Types, attribute_text, condition, rounding
from convcheck.streams import GLUE, plural

_Pair = tuple[str, str]
_ATOMS = (Cite, DType, Expression)
_CONDITIONS = {
    "not scalar": "an argument is not a scalar",
    "not finite": "an argument is not a finite number",
    "-0": "an argument is -0",
    "overflow": "an argument or a computation, under any reading, leaves its type",
    "zero": "this argument is 0 in the output's type",
}
# Field of a formula, of steps or of a part of them -> label and sentence. Others are not shown.
_SHOWN: Mapping[str, tuple[str, str]] = {
    "lines": ("", ""),
    "when": ("when", "{}"),
    "argument": ("argument", "{}"),
    "to": ("when", "to {}"),
    "all": ("", "all inputs {}"),
    "any": ("", "any input {}"),
    "length": ("length", "{}"),
    "element": ("element", "{}   (i from 0)"),
    "next": ("next", "{}   (by a running sum)"),
    "to_float": ("convert", "to a float {}"),
    "to_integer": ("", "to an integer {}"),
    "convert_cite": ("", "{}"),
    "interval": ("", ""),
    "limit": ("interval", "no element reaches {}; disputed if a rounded one does"),
    "rules": ("", ""),
    "line": ("values", "those of {}"),
    "input": ("input", "{}"),
    "condition": ("when", "{}"),
    "where": ("where", "{}"),
    "layouts": ("layouts", "{}"),
    "types": ("types", "{}"),
    "sign_only": ("only", "the sign of a zero"),
    "within": ("in", "a wider type ({})"),
    "fixed": ("in", "{}"),
    "exact": ("in", "exact arithmetic"),
    "of": ("in", "the type of {}"),
    "by": ("in", "the type that {} names, if it is given"),
    "named": ("", "{}"),
    "operands": ("operands", "{} rounded to that type first"),
    "once": ("once", "{} rounded as a whole"),
    "narrow": ("narrow", "{} rounded to the type of the first input"),
    "whole": ("round(x)", "{}"),
    "open_near_ties": ("near ties", "undefined within an ulp of a tie, if rounded to a wider type"),
    "level": ("level", "{}"),
    "cite": ("cite", "{}"),
    "agreed": ("rounded", "{} if all readings round to the same, else disputed"),
    "differing": ("", "{}"),
    "between": ("allows", "results between the readings at every index, an ulp wider: tolerated"),
    "free_zero": ("zero", "an output that is zero has either sign"),
    "free_rest": ("other", "an output that is not a finite number is undefined"),
    "others": ("outputs", "{} too, of one element"),
    "along": ("", ""),
    "axis": ("along", "a vector goes along {}"),
    "block": ("", "each element is repeated as {} says"),
    "values": ("values", "{}"),
    "readings": ("reading: ", "one of them has to hold for the whole tensor"),
    "undefined": ("undefined: ", ""),
    "outside": ("outside: ", ""),
}


def _titled(name: str, place: Place) -> Text:
    return Text(name, "bold", right=[(str(place), "dim")])


def _fields(name: str, values: Sequence[str]) -> Iterator[Block]:
    for i, value in enumerate(values):
        yield field("" if i else name, value)


def _quoted(spec: Spec, cite: Cite) -> str:
    gloss = f"; {translated(cite.gloss)}" if cite.gloss else ""
    return f"{cited(cite.text)} — {spec.document_of(cite)}{gloss}"


def _grid(rows: Sequence[Sequence[str]]) -> Table:
    """Return a table with heads in the first row and labels in the first column.

    Short rows are padded. Rows that are empty in a part of a split table are skipped there.
    """
    heads, *lines = [[*row, *[""] * (len(rows[0]) - len(row))] for row in rows]
    return Table([styled("underline", heads)], lines, 2, empty="")


def _body_blocks(spec: Spec, types: Types) -> Iterator[Block]:
    body: Any = spec.body
    if isinstance(body, Matrix):
        yield from _matrix(spec, body, types)
    elif body.name != "table":
        yield BLANK
        yield _titled(body.name, body.place)
        yield from _parts(spec, types, body)


def _parts(spec: Spec, types: Types, of: Any) -> Iterator[Block]:
    named: list[tuple[str, Any]] = []
    for name, (label, said) in _SHOWN.items():
        value = getattr(of, name, None)
        if not value or value == getattr(type(of), name, None):  # the default
            continue
        items = value if isinstance(value, tuple) else (value,)
        if isinstance(items[0], StepsLine):
            for line in items:
                yield from _fields(f"  {line.name}", list(_line(line, types)))
        elif isinstance(items[0], tuple) and isinstance(items[0][0], FormulaWay):
            yield from _ways(spec, items)
        elif not dataclasses.is_dataclass(items[0]) or isinstance(items[0], _ATOMS):
            words = _text(spec, types, _CONDITIONS.get(value, value) if name == "when" else value)
            yield field(f"  {label}" if label else "", said.format(words))
        elif hasattr(items[0], "name"):
            yield from [field(f"  {name}", said)] if said else []
            named += [(f"{label}{item.name}", item) for item in items]
        else:
            for item in items:
                yield from _parts(spec, types, item)
    for title, item in named:
        yield BLANK
        yield _titled(title, item.place)
        yield from _parts(spec, types, item)


def _text(spec: Spec, types: Types, value: Any) -> str:
    if isinstance(value, Cite):
        return _quoted(spec, value)
    if isinstance(value, TypeNames):
        return ", ".join(types.folded(value))
    if isinstance(value, frozenset):
        return ", ".join(sorted(value))
    if not isinstance(value, tuple):
        return str(value)
    pairs = (one if isinstance(one, tuple) else (None, one) for one in value)
    said = ((name, _text(spec, types, each)) for name, each in pairs)
    return ", ".join(f"{name}:{GLUE}{each}" if name else each for name, each in said)


def _line(line: StepsLine, types: Types) -> Iterator[str]:
    if line.be is None:
        by = f"rule {line.rule}" if line.rule else "the rules"
        targets = ", ".join(f"{value}:{GLUE}{target}" for value, target in line.targets)
        to = f"the type that {line.to} names ({targets})" if line.to else "the type of the output"
        yield f"{line.source} converted by {by} to {to}"
    else:
        yield f"{line.be}" + (", not rounded" if line.exact else "")
    for branch in line.branches:
        yield f"if {branch.condition}: {branch.be}"
    if line.elsewhere:
        only = ", ".join(types.folded(line.only or ()))
        yield f"unless the output is of {only}: {line.elsewhere}"
    if line.needs:
        yield f"without {line.needs}: {line.otherwise or 'nothing'}"


def _ways(spec: Spec, readings: Sequence[tuple[FormulaWay, FormulaWay]]) -> Iterator[Block]:
    for lengths, elements in products(readings):
        yield BLANK
        yield from _fields("  length", [_way(way) for way in lengths])
        yield from _fields("  element", [_way(way) for way in elements])
        cites = dict.fromkeys(_quoted(spec, way.cite) for way in (*lengths, *elements))
        yield from _fields("  cite", list(cites))


def _way(way: FormulaWay) -> str:
    form = ", by a running sum" if way.running else ""
    return f"{way}{form}" + (f": {way.expression}" if way.conversions else "")


def products(
    readings: Sequence[tuple[FormulaWay, FormulaWay]],
) -> list[tuple[list[FormulaWay], tuple[FormulaWay, ...]]]:
    """Return lists of lengths and elements whose combinations are all readings."""
    by_length: dict[FormulaWay, list[FormulaWay]] = {}
    for length, element in readings:
        by_length.setdefault(length, []).append(element)
    found: dict[tuple[FormulaWay, ...], list[FormulaWay]] = {}
    for length, elements in by_length.items():
        found.setdefault(tuple(elements), []).append(length)
    return [(lengths, elements) for elements, lengths in found.items()]


def _matrix(spec: Spec, matrix: Matrix, types: Types) -> Iterator[Block]:
    yield BLANK
    yield Text("matrix", "bold")
    for sign, said in _legend(matrix):
        yield field(f"  {sign}", said)
    for table in matrix.tables:
        yield BLANK
        yield _titled(table.name, table.place)
        yield field("  when", _when(table))
        yield BLANK
        yield _grid(rows(table, matrix))
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
    found: dict[tuple[str, Level, str], list[_Pair]] = {}
    for pair, cell in table.cells.items():
        for about, level, cite in _of(cell):
            found.setdefault((about, level, _quoted(spec, cite)), []).append(pair)
    for (about, level, said), pairs in sorted(found.items(), key=lambda f: f[0][0] == REFUSED):
        yield field("  cite", f"{about}, {level}, {_where(table, pairs, types)}: {said}")


def _of(cell: MatrixCell) -> Iterator[tuple[str, Level, Cite]]:
    free, guarded = cell.free.ruling, cell.guarded
    yield "type", free.level, free.cite
    for reading in guarded.readings:
        if (reading.cite.text, guarded.ruling.level) != (free.cite.text, free.level):
            about = REFUSED if reading.refused else "accepted"
            yield about, guarded.ruling.level, reading.cite


def _where(table: MatrixTable, pairs: list[_Pair], types: Types) -> str:
    if len(pairs) == len(table.cells):
        return "every cell"
    rows, columns = (list(dict.fromkeys(p[i] for p in pairs)) for i in (0, 1))
    inside = {(r, c) for r in rows for c in columns if (r, c) in table.cells}
    if inside == set(pairs):
        return " with ".join(_named(names, table, types) for names in (rows, columns))
    return f"{plural(len(pairs), 'cell')} such as {' with '.join(pairs[0])}"


def _named(names: list[str], table: MatrixTable, types: Types) -> str:
    return "any type" if set(names) == set(table.types) else ", ".join(types.folded(names))


def spec_page(spec: Spec, types: Types) -> Iterator[Block]:
    """Yield a spec: document, types, attributes, rules, notes."""
    source = spec.sources["text"]
    yield Text([(spec.id, "bold"), (f"  {source.title}, {source.section}", "")], hang=2)
    yield field("text", source.url)
    if spec.extends:
        yield field("extends", spec.extends)
    for variable, listed in spec.types.items():
        yield field(variable, ", ".join(t.name for t in listed))
    for attribute in spec.attributes:
        yield field(attribute.name, attribute_text(attribute, types))
    yield from _asked(spec)
    yield from _body_blocks(spec, types)
    for rule in spec.rules:
        yield BLANK
        yield from _rule(spec, rule, types)
    if spec.notes:
        yield BLANK
        yield Text("Notes", "bold")
        for note in spec.notes:
            yield Text(f"- {note}", indent=2, hang=2)


def _asked(spec: Spec) -> Iterator[Block]:
    if spec.body.whole_calls or spec.likes:
        yield field("inputs", "; ".join(_tensor(spec, *pair) for pair in spec.inputs))
        yield field("outputs", "; ".join(_tensor(spec, *pair) for pair in spec.outputs))
    yield from _fields("layouts", [_layout(layout) for layout in spec.layouts])
    yield from _fields("asked", [_combination(types) for types in spec.combinations])
    if spec.shapes:
        ranks = ", ".join(map(str, sorted(spec.shapes.ranks)))
        empty = "" if spec.shapes.empty else "; no empty tensors"
        yield field("shapes", f"of rank {ranks}{empty}; others are undefined")
        yield field("", _quoted(spec, spec.shapes.cite))
    if spec.pairs:
        yield from _pairs(spec, spec.pairs)
    for entry in spec.outside:
        yield from _outside(spec, entry)


def _tensor(spec: Spec, name: str, variable: str) -> str:
    only = ", of which only the type counts" if name in spec.likes else ""
    answer = "" if variable in spec.types else ", which is the answer"
    return f"{name}: {variable}{only}{answer}"


def _layout(layout: Layout) -> str:
    said = ((name, f"[{'×'.join(dims)}]" if dims else "scalar") for name, dims in layout.shapes)
    return f"{layout.name}: {', '.join(f'{name}{GLUE}{shape}' for name, shape in said)}"


def _combination(types: tuple[str, ...]) -> str:
    own = "   (the output's own type)" if OUTPUT in types else ""
    return f"{', '.join(types)}{own}"


def _pairs(spec: Spec, pairs: Pairs) -> Iterator[Block]:
    order = [t.name for types in spec.types.values() for t in types]
    for one in pairs.lists:
        when = "; ".join(f"{name} {', '.join(sorted(values))}" for name, values in one.when)
        said = [
            f"{source} to {', '.join(sorted(targets, key=order.index))}"
            for source, targets in sorted(one.listed.items(), key=lambda e: order.index(e[0]))
        ]
        yield from _fields("pairs", [*([f"where {when}:"] if when else []), *said])
        yield field("", _quoted(spec, one.cite))
    yield field("", "others are asked with the defaults, and may be refused")


def _outside(spec: Spec, entry: Uncovered) -> Iterator[Block]:
    asked: dict[str, dict[str, None]] = {}  # source -> its destinations
    sources: dict[str, list[str]] = {}  # destinations -> sources with them
    values: dict[str, None] = {}
    for source, target, own in pairs_outside(spec, entry):
        asked.setdefault(source.name, {})[target.name] = None
        values |= dict.fromkeys(f"{name}={value}" for name, value in own)
    for name, targets in asked.items():
        sources.setdefault(", ".join(targets), []).append(name)
    said = [f"{', '.join(names)} to {targets}" for targets, names in sources.items()]
    if said:
        said += [", ".join(values)] if values else []
        yield from _fields("outside", [f"{entry.rule.name}: undefined", *said])
        yield field("", _quoted(spec, entry.rule.cite))


def _rule(spec: Spec, rule: Rule, types: Types) -> Iterator[Block]:
    cells = [cell for row in rule.rows for cell in row.cells]
    feet = [foot for foot, _ in Counter(_foot(spec, cell) for cell in cells).most_common()]
    yield _titled(rule.name, rule.place)
    yield field("  when", condition(rule, types) or "always")
    if rounding(rule):
        yield field("  round", rounding(rule))
    if rule.cite.text not in {cell.cite.text for cell in cells}:  # some rows lack a citation
        yield field("  text", _quoted(spec, rule.cite))
    marked = [f"[{number}] {foot}" for number, foot in enumerate(feet, 1)]
    yield from _fields("  cite", marked if len(feet) > 1 else feet)
    for outcome in {o.reading: o for cell in cells for o in cell.outcomes if o.cite}.values():
        if outcome.cite:
            yield field("  reading", f"{outcome.reading}: {_quoted(spec, outcome.cite)}")
    yield BLANK
    lines = [["x", *_headings(rule)]]
    for row in rule.rows:
        lines.append(
            [row.label, *(_said(cell, feet.index(_foot(spec, cell))) for cell in row.cells)]
        )
    yield _grid(lines)


def _foot(spec: Spec, cell: Cell) -> str:
    return f"{cell.level}: {_quoted(spec, cell.cite)}"


def _headings(rule: Rule) -> list[str]:
    if not rule.columns:
        return ["gives"]
    parts = zip(*(values for _, values in rule.columns), strict=True)
    names = [name for name, _ in rule.columns]
    if names == ["to"]:
        return [str(part[0]) for part in parts]
    return [" ".join(f"{n}={v}" for n, v in zip(names, values, strict=True)) for values in parts]


def _said(cell: Cell, foot: int) -> str:
    said = " | ".join(
        f"{o.word} {o.argument}".strip()
        + (f" {o.round}" if o.round and o.round != o.reading else "")
        + (f" ({o.reading})" if o.reading else "")
        for o in cell.outcomes
    )
    return f"{said} [{foot + 1}]" if foot else said


def changes(old: Spec, new: Spec, found: list[Change]) -> Iterator[Block]:
    """Yield changes between two versions, each with its text before (-) and after (+)."""
    yield Text([(f"{old.id} → {new.id}", "bold"), (f"  {plural(len(found), 'change')}", "")])
    for change in found:
        yield BLANK
        yield Text(change.about)
        for sign, said, style in (("-", change.before, "red"), ("+", change.after, "green")):
            if said:
                yield Text(f"{sign} {said}", style, 2, 2)
