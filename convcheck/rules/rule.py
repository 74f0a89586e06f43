"""Read rules: tables with cells, readings, levels and citations."""

import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass

from convcheck.errors import Place
from convcheck.rules.attributes import Context, read_cite, read_level
from convcheck.rules.model import (
    DEFAULT,
    REAL,
    Cell,
    Cite,
    Level,
    Outcome,
    Rounding,
    Row,
    Rule,
    Spec,
    TypeNames,
    Value,
)
from convcheck.rules.source import Node, read_all
from convcheck.streams import plural

ELSE = "else"
OTHER = "other"  # an attribute value outside its list
PAIR = "pair"  # whether source and destination are in the listed `pairs`


def read_rule(node: Node, context: Context) -> Rule:
    """Return a rule."""
    node.only("name", "level", "cite", "when", "round", "columns", "table", "before", "after")
    level = read_level(node.need("level", "normative, implied, disputed or undefined"))
    cite = read_cite(node.need("cite", "every rule quotes the sentence it rests on"), context)
    return read_rule_of(node, context, level, cite)


def read_rule_of(node: Node, context: Context, level: Level, cite: Cite) -> Rule:
    """Return a rule. `cite` is the default of its cells."""
    columns = node.read("columns", lambda e: _columns(e, context), ())
    width = len(columns[0][1]) if columns else 1
    table = node.need("table")
    if not table.items():
        raise table.error("the table has no rows", "at least `else: OUTCOME`")
    rows = read_all(lambda row: _row(*row, width, (level, cite), context), table.items().items())
    when, same = read_condition(node.need("when"), context)
    rounding = node.read("round", lambda e: _rounding(e, context), Rounding())
    name = node.need("name").text()
    return Rule(name, when, same, rounding, columns, rows, level, cite, node.place)


def rule_of_all(name: str, outcome: Outcome, cite: Cite, place: Place) -> Rule:
    """Return a rule with a single outcome."""
    cell = Cell((outcome,), "undefined", cite, place, outcome.word)
    row = Row(ELSE, (cell,), place)
    return Rule(name, (), False, Rounding(), (), (row,), "undefined", cite, place)


def read_condition(
    node: Node, context: Context
) -> tuple[tuple[tuple[str, frozenset[Value]], ...], bool]:
    """Return allowed words by key, and whether it is `to: same`."""
    node.only("from", "to", PAIR, *context.attributes)
    conditions: list[tuple[str, frozenset[Value]]] = []
    same = False
    for key, value in node.items().items():
        if key == "to" and value.value == "same":
            same = True
        else:
            allowed = _allowed(key, value, context)
            named = TypeNames(map(str, allowed)) if key in ("from", "to") else frozenset(allowed)
            conditions.append((key, named))
    return tuple(conditions), same


def _allowed(key: str, node: Node, context: Context) -> tuple[Value, ...]:
    if key in ("from", "to"):
        return context.types.names(node, (REAL,) if key == "from" else ())
    known = ("listed", "unlisted") if key == PAIR else (*context.attributes[key], OTHER, DEFAULT)
    return tuple(e.word(known, f"value of {key}") for e in node.elements())


def _rounding(node: Node, context: Context) -> Rounding:
    if isinstance(node.value, str):
        return Rounding(mode=node.value)
    by = node.need("by").word(tuple(context.attributes), "attribute")
    node.only("by", *context.attributes[by])
    modes = tuple((k, v.text()) for k, v in node.items().items() if k != "by")
    return Rounding(by=by, modes=modes)


def _columns(node: Node, context: Context) -> tuple[tuple[str, tuple[Value, ...]], ...]:
    node.only("from", "to", *context.attributes)
    columns = tuple(
        (key, tuple(_allowed(key, each, context)[0] for each in value.elements()))
        for key, value in node.items().items()
    )
    if not columns or len({len(values) for _, values in columns}) != 1:
        raise node.error("the lists of `columns` differ in length", "one entry per column")
    return columns


def _row(label: str, node: Node, width: int, default: tuple[Level, Cite], context: Context) -> Row:
    whole = node
    if isinstance(node.value, dict) and "cells" in node.items():
        node.only("cells", "level", "cite")
        default = _defaults(node, default, context)
        whole = node.need("cells")
    cells = [_cell(e, default, context) for e in whole.elements()]
    if not isinstance(whole.value, list):
        cells *= width
    if len(cells) != width:
        has, wanted = plural(len(cells), "cell"), plural(width, "column")
        said = f"row {label!r} has {has}, the rule has {wanted}"
        raise node.error(said, "one cell per column, or a single one for all")
    return Row(label, tuple(cells), node.place)


def _defaults(node: Node, default: tuple[Level, Cite], context: Context) -> tuple[Level, Cite]:
    level = node.read("level", read_level, default[0])
    return level, node.read("cite", lambda e: read_cite(e, context), default[1])


def _cell(node: Node, default: tuple[Level, Cite], context: Context) -> Cell:
    if isinstance(node.value, str):
        word, _, argument = node.value.partition(" ")
        return Cell((Outcome(word, argument),), *default, node.place, node.value)
    node.only("gives", "readings", "level", "cite", "round")
    level, cite = _defaults(node, default, context)
    outcomes = tuple(_reading(e, context) for e in node.listed("readings"))
    if not node.get("readings"):
        outcomes = (_outcome(node, context, ""),)
    elif len(outcomes) < 2 or level not in ("disputed", "undefined"):
        raise node.error("readings need a disputed cell, and two or more", "level: disputed")
    text = " | ".join(f"{o.word} {o.argument}".strip() for o in outcomes)
    return Cell(outcomes, level, cite, node.place, text)


def _reading(node: Node, context: Context) -> Outcome:
    node.only("name", "gives", "round", "cite")
    return _outcome(node, context, node.need("name").text())


def _outcome(node: Node, context: Context, reading: str) -> Outcome:
    word, _, argument = node.need("gives").text().partition(" ")
    quoted = node.read("cite", lambda e: read_cite(e, context), None) if reading else None
    return Outcome(word, argument, node.read("round", Node.text, ""), reading, quoted)


_WRITTEN = ("LATIN", "GREEK")  # Greek letters occur in formulas


def citations(spec: Spec) -> Iterator[Cite]:
    """Yield the citations of a spec."""
    for field in fields(spec):
        if field.name != "parent":  # it has its own
            yield from _citations(getattr(spec, field.name))


def _citations(value: object) -> Iterator[Cite]:
    if isinstance(value, Cite):
        yield value
    elif isinstance(value, Mapping):
        yield from _citations(tuple(value.values()))
    elif isinstance(value, tuple):
        for one in value:
            yield from _citations(one)
    elif is_dataclass(value):
        yield from _citations(tuple(getattr(value, field.name) for field in fields(value)))


def is_foreign(text: str) -> bool:
    """Return whether a text has letters neither Latin nor Greek."""
    return any(c.isalpha() and not unicodedata.name(c, "").startswith(_WRITTEN) for c in text)
