"""Read the attributes of an operator."""

from __future__ import annotations

from convcheck.rules.context import Context, read_cite
from convcheck.rules.model import DEFAULT, Asking, Attribute, Attributes, TypeNames, Value
from convcheck.rules.source import Node


def read_attribute(name: str, node: Node, context: Context) -> Attribute:
    """Return an attribute. Raises SpecError."""
    node.only("type", "carries", "values", "default", "usual", "applies", "also", "by")
    kind = node.need("type").word(("int", "string", "bool"), "type of attribute")
    carries = node.get("carries")
    values = tuple(_value(kind, e) for e in node.listed("values"))
    by = node.get("by")
    if by and values:
        raise by.error(f"{name} has values, too", "layouts give its values")
    if not carries and not values and not by:
        raise node.error(f"attribute {name} has no values", "list them: values: [0, 1]")
    stated, usual, applies = (node.get(key) for key in ("default", "usual", "applies"))
    if stated and usual:
        raise usual.error(f"{name} has a default, too", "leave one of them out")
    default = stated or usual
    for value in node.listed("values"):
        if value.text() == DEFAULT:
            raise value.error(f"`{DEFAULT}` is not a value: it says that {name} is left out",
                              "name the value under `default`")  # fmt: skip
    if applies:
        applies.only("to")
    return Attribute(
        name,
        kind,  # type: ignore[arg-type]  # `word` checked it
        carries.text() if carries else "",
        values,
        _value(kind, default) if default else None,
        TypeNames(context.types.names(applies.need("to"))) if applies else None,
        tuple(_asking(name, node, e, context) for e in node.listed("also")),
        node.place,
        by is not None and bool(by.word(("layout",), "word")),
        usual is None,
    )


def _asking(name: str, attribute: Node, node: Node, context: Context) -> Asking:
    node.only("values", "from", "to", "with", "refusal", "cite")
    kind, refusal, to = attribute.need("type").text(), node.get("refusal"), node.get("to")
    return Asking(
        tuple(_asked(name, attribute, kind, e) for e in node.need("values").elements()),
        TypeNames(context.types.names(node.need("from"))),
        TypeNames(context.types.names(to)) if to else None,
        _others(name, node.get("with"), context),
        refusal is not None and refusal.word(("accepted",), "refusal") == "accepted",
        read_cite(node.need("cite"), context),
    )


def _asked(name: str, attribute: Node, kind: str, node: Node) -> Value:
    if node.value != DEFAULT:
        return _value(kind, node)
    if not attribute.get("default"):
        raise node.error(f"{name} has no default to be left out for", "state it: default: VALUE")
    return DEFAULT


def _others(name: str, node: Node | None, context: Context) -> Attributes:
    if node is None:
        return ()
    known = {other: values for other, values in context.attributes.items() if other != name}
    node.only(*known)
    return tuple((k, v.word(known[k], f"value of {k}")) for k, v in node.items().items())


def _value(kind: str, node: Node) -> Value:
    if kind == "bool":
        return node.word(("true", "false"), "value of a bool")
    return node.integer() if kind == "int" else node.text()
