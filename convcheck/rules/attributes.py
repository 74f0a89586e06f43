"""Nodes -> the attributes of an operator."""

from __future__ import annotations

from convcheck.rules.context import Context, read_cite
from convcheck.rules.model import Asking, Attribute, TypeNames, Value
from convcheck.rules.source import Node


def read_attribute(name: str, node: Node, context: Context) -> Attribute:
    """Return an attribute. Raises SpecError."""
    node.only("type", "carries", "values", "default", "applies", "also")
    kind = node.need("type").word(("int", "string", "bool"), "type of attribute")
    carries = node.get("carries")
    values = tuple(_value(kind, e) for e in node.listed("values"))
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
        tuple(_asking(kind, e, context) for e in node.listed("also")),
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
