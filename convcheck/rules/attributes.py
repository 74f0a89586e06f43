"""Nodes -> the smaller parts of a spec: attributes, examples, spellings."""

from __future__ import annotations

import re
from collections.abc import Sequence

from convcheck.rules.body.table import Context, read_cite
from convcheck.rules.cases import OUTPUT
from convcheck.rules.model import (
    Asking,
    Attribute,
    Attributes,
    Example,
    Layout,
    Spelling,
    TypeNames,
    Value,
)
from convcheck.rules.source import Node
from convcheck.rules.types import Types


def elements(node: Node | None) -> list[Node]:
    """Give the entries of a list that may be absent."""
    return node.elements() if node else []


def read_spellings(node: Node | None) -> dict[str, Spelling]:
    """Build the spellings. Raises SpecError for what is no regular expression."""
    literals = {}
    for name, entry in node.items().items() if node else ():
        entry.only("matches", "such-as")
        matches = entry.need("matches")
        try:
            re.compile(matches.text())
        except re.error as error:
            raise matches.error(f"not a regular expression: {error}", "Python's syntax") from None
        samples = tuple(e.text() for e in entry.need("such-as").elements())
        literals[name] = Spelling(matches.text(), samples, entry.place)
    return literals


def read_attribute(name: str, node: Node, context: Context) -> Attribute:
    """Build an attribute. Raises SpecError."""
    node.only("type", "carries", "values", "default", "applies", "also")
    kind = node.need("type").word(("int", "string", "bool"), "type of attribute")
    carries = node.get("carries")
    values = tuple(_value(kind, e) for e in elements(node.get("values")))
    if not carries and not values:
        raise node.error(f"attribute {name} has no values", "list them: values: [0, 1]")
    default, applies = node.get("default"), node.get("applies")
    if applies:
        applies.only("to")
    return Attribute(
        name,
        kind,  # type: ignore[arg-type]  # `word` checked it
        carries.text() if carries else "",
        values,
        _value(kind, default) if default else None,
        TypeNames(context.types.names(applies.need("to"))) if applies else None,
        tuple(_asking(kind, e, context) for e in elements(node.get("also"))),
        node.place,
    )


def _asking(kind: str, node: Node, context: Context) -> Asking:
    node.only("values", "from", "to", "refusal", "cite")
    refusal = node.get("refusal")
    return Asking(
        tuple(_value(kind, e) for e in node.need("values").elements()),
        TypeNames(context.types.names(node.need("from"))),
        TypeNames(context.types.names(node.need("to"))),
        refusal is not None and refusal.word(("accepted",), "refusal") == "accepted",
        read_cite(node.need("cite"), context),
    )


def _value(kind: str, node: Node) -> Value:
    if kind == "bool":
        return node.word(("true", "false"), "value of a bool")
    return node.integer() if kind == "int" else node.text()


def read_example(node: Node, context: Context) -> Example:
    """Build an example. Raises SpecError."""
    node.only("from", "to", "x", "gives", *context.attributes)
    attributes: Attributes = tuple(
        (name, node.items()[name].text()) for name in context.attributes if node.get(name)
    )
    source, target = (context.types.names(node.need(key))[0] for key in ("from", "to"))
    x, gives = node.need("x").text(), node.need("gives").text()
    return Example(source, target, attributes, x, gives, node.place)


def read_layouts(node: Node | None, inputs: Sequence[str]) -> tuple[Layout, ...]:
    """Build the layouts of a whole call's inputs. Raises SpecError for an unknown input."""
    layouts = []
    for name, entry in node.items().items() if node else ():
        if not re.fullmatch(r"[a-z0-9-]+", name):
            raise entry.error(f"{name!r} cannot stand in an id", "lower-case letters and -")
        entry.only(*inputs)
        shapes = ((i, entry.get(i)) for i in inputs)
        dims = tuple((i, tuple(_dim(e) for e in d.elements())) for i, d in shapes if d)
        layouts.append(Layout(name, dims, entry.place))
    return tuple(layouts)


def _dim(node: Node) -> str:
    if not re.fullmatch(r"[a-z]|[0-9]{1,4}", node.text()):
        raise node.error(f"{node.text()!r} is not a dimension", "a number, or a letter")
    return node.text()


def read_combinations(node: Node | None, inputs: int, types: Types) -> tuple[tuple[str, ...], ...]:
    """Build the combinations of input types that are asked with each output type."""
    rows = []
    for row in elements(node):
        words = tuple(e.word((*types.types, OUTPUT), "type") for e in row.elements())
        if len(words) != inputs:
            raise row.error(f"{len(words)} types, the operator has {inputs} inputs", "one each")
        rows.append(words)
    return tuple(rows)
