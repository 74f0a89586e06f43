"""Read the attributes of an operator."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from convcheck.rules.model import (
    DEFAULT,
    LEVELS,
    Asking,
    Attribute,
    Attributes,
    Cite,
    Level,
    Source,
    TypeNames,
    Value,
)
from convcheck.rules.source import Node
from convcheck.rules.types import Types
from convcheck.streams import meant


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
