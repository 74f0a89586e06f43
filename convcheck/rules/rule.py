"""Read rules (tables with cells, readings, levels and citations) and attributes."""

import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import cast

from convcheck.errors import Place
from convcheck.rules.model import (
    DEFAULT,
    LEVELS,
    REAL,
    Asking,
    Attribute,
    Attributes,
    Cell,
    Cite,
    Level,
    Outcome,
    Rounding,
    Row,
    Rule,
    Source,
    Spec,
    TypeNames,
    Value,
)
from convcheck.rules.source import Node, read_all
from convcheck.rules.types import Types
from convcheck.streams import meant, plural


@dataclass(frozen=True)
class Context:
    """The parts of a spec that rules refer to."""

    types: Types
    sources: Mapping[str, Source]
    says: Mapping[str, str]  # source -> its only sentence
    glosses: Mapping[str, str]  # foreign sentence -> translation
    attributes: Mapping[str, tuple[str, ...]]  # attribute -> values as written


def read_level(node: Node) -> Level:
    """Return a level."""
    return cast(Level, node.word(LEVELS, "level"))


def read_cite(node: Node, context: Context) -> Cite:
    """Return a citation, by default of the operator's own text."""
    if isinstance(node.value, str):
        text, source = node.value, "text"
    else:
        node.only("of", "says")
        of = node.need("of")
        source = of.text()
        if source not in context.sources:
            raise of.error(f"unknown source {source!r}", meant(source, context.sources))
        says = node.get("says")
        text = says.text() if says else context.says[source]
    if not text.strip():
        raise node.error("an empty citation", "quote the sentence that the rule rests on")
    text = " ".join(text.split())
    return Cite(text, source, node.place, context.glosses.get(text, ""))


def read_attribute(name: str, node: Node, context: Context) -> Attribute:
    """Return an attribute."""
    node.only("type", "carries", "values", "default", "usual", "applies", "also", "by")
    kind = node.need("type").word(("int", "string", "bool"), "type of attribute")
    carries = node.read("carries", Node.text, "")
    values = tuple(_value(kind, e) for e in node.listed("values"))
    by = node.get("by")
    if by and values:
        raise by.error(f"{name} has values, too", "layouts give its values")
    if not carries and not values and not by:
        raise node.error(f"attribute {name} has no values", "list them: values: [0, 1]")
    stated, usual = node.get("default"), node.get("usual")
    if stated and usual:
        raise usual.error(f"{name} has a default, too", "leave one of them out")
    default = stated or usual
    for value in node.listed("values"):
        if value.text() == DEFAULT:
            raise value.error(f"`{DEFAULT}` is not a value: it says that {name} is left out",
                              "name the value under `default`")  # fmt: skip
    if applies := node.get("applies"):
        applies.only("to")
    return Attribute(
        name,
        kind,  # type: ignore[arg-type]  # `word` checked it
        carries,
        values,
        _value(kind, default) if default else None,
        TypeNames(context.types.names(applies.need("to"))) if applies else None,
        tuple(_asking(name, node, e, context) for e in node.listed("also")),
        node.place,
        node.says("by", "layout"),
        usual is None,
    )


def _asking(name: str, attribute: Node, node: Node, context: Context) -> Asking:
    node.only("values", "from", "to", "with", "refusal", "cite")
    kind = attribute.need("type").text()
    return Asking(
        tuple(_asked(name, attribute, kind, e) for e in node.need("values").elements()),
        TypeNames(context.types.names(node.need("from"))),
        node.read("to", lambda e: TypeNames(context.types.names(e)), None),
        node.read("with", lambda e: _others(name, e, context), ()),
        node.says("refusal", "accepted"),
        read_cite(node.need("cite"), context),
    )


def _asked(name: str, attribute: Node, kind: str, node: Node) -> Value:
    if node.value != DEFAULT:
        return _value(kind, node)
    if not attribute.get("default"):
        raise node.error(f"{name} has no default to be left out for", "state it: default: VALUE")
    return DEFAULT


def _others(name: str, node: Node, context: Context) -> Attributes:
    known = {other: values for other, values in context.attributes.items() if other != name}
    node.only(*known)
    return tuple((k, v.word(known[k], f"value of {k}")) for k, v in node.items().items())


def _value(kind: str, node: Node) -> Value:
    if kind == "bool":
        return node.word(("true", "false"), "value of a bool")
    return node.integer() if kind == "int" else node.text()


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
