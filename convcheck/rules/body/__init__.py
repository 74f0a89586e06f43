"""Read the body of a spec. `semantics.body` and `vectors.generate` find the same bodies."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pkgutil import resolve_name

from convcheck.rules.model import Attributes, Body, DType, Spec, TableExample
from convcheck.rules.rule import Context
from convcheck.rules.source import Node

# A spec file without any is a table.
KEYS = ("matrix", "formula", "steps")


def read_body(root: Node, context: Context) -> Body:
    """Return a body."""
    found = [key for key in KEYS if root.get(key)]
    if len(found) > 1:
        said = f"there is already a {found[0]} here"
        raise root.need(found[1]).error(said, "a spec has one body")
    if not found:
        return Tables(tuple(_example(entry, context) for entry in root.listed("examples")))
    read: Callable[[Node, Context], Body]
    read = resolve_name(f"{__name__}.{found[0]}:read_{found[0]}")
    return read(root, context)


@dataclass(frozen=True)
class Tables(Body):
    """The body of a spec whose rules decide."""

    name = "table"
    whole_calls = False
    examples: tuple[TableExample, ...]

    def check(self, spec: Spec, node: Node, types: Mapping[str, DType]) -> None:
        """Check that one input is converted."""
        if at := node.get("layouts"):
            raise at.error("a table converts elements, in any shape", "layouts are for whole calls")
        if len(spec.outputs) > 1:
            raise node.need("outputs").error("a table has one output", "whole calls may have more")
        inputs = dict(spec.inputs)
        others = list(inputs)[1:]
        for at, name in zip(node.listed("type-only"), spec.likes, strict=True):
            if name not in others:
                hint = f"one of {', '.join(others)}" if others else "there is one input"
                raise at.error(f"{name!r} is not an input after the first", hint)
            if inputs[name] != spec.outputs[0][1]:
                hint = f"write {name}: {spec.outputs[0][1]} in `inputs`"
                raise at.error(f"{name} does not have the type of the output", hint)
        for name in others:
            if name not in spec.likes:
                hint = f"type-only: [{name}] where its values do not count; else it is a whole call"
                raise node.need("inputs").need(name).error("a table converts one input", hint)


def _example(node: Node, context: Context) -> TableExample:
    node.only("from", "to", "x", "gives", *context.attributes)
    attributes: Attributes = tuple(
        (name, node.items()[name].text()) for name in context.attributes if node.get(name)
    )
    source, target = (context.types.names(node.need(key))[0] for key in ("from", "to"))
    types = context.types.types
    x, gives = node.need("x").text(), node.need("gives").text()
    return TableExample(types[source], types[target], attributes, x, gives, node.place)
