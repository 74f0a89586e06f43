"""Read the shapes and combinations of types of whole calls."""

from __future__ import annotations

import re
from collections.abc import Sequence

from convcheck.rules.cases import OUTPUT
from convcheck.rules.model import Attribute, Layout, TypeNames, Value
from convcheck.rules.source import Node
from convcheck.rules.types import Types
from convcheck.wording import plural

Only = tuple[tuple[str, TypeNames | str], ...]


def read_layouts(
    node: Node | None,
    inputs: Sequence[str],
    attributes: Sequence[Attribute],
    variables: Sequence[str],
    types: Types,
) -> tuple[Layout, ...]:
    """Return the layouts of a call's inputs. Raises SpecError for unknown names.

    `attributes` and `variables` are the operator's attributes and type variables.
    """
    stated = {a.name: a for a in attributes if a.by_layout}
    layouts = []
    for name, entry in node.items().items() if node else ():
        if not re.fullmatch(r"[a-z0-9-]+", name):
            raise entry.error(f"{name!r} cannot stand in an id", "lower-case letters and -")
        entry.only(*inputs, *stated, *(["only"] if variables else []))
        shapes = ((i, entry.get(i)) for i in inputs)
        dims = tuple((i, tuple(_dim(e) for e in d.elements())) for i, d in shapes if d)
        own = [(attribute, said) for k, attribute in stated.items() if (said := entry.get(k))]
        layouts.append(Layout(
            name, dims, entry.place,
            tuple((a.name, _value(a, said)) for a, said in own if not a.carries),
            tuple(a.name for a, said in own if a.carries and said.word(("given",), "word")),
            tuple(_only(e, variables, types) for e in entry.listed("only")),
        ))  # fmt: skip
    return tuple(layouts)


def _value(attribute: Attribute, node: Node) -> Value:
    return node.integer() if attribute.kind == "int" else node.text()


def _only(node: Node, variables: Sequence[str], types: Types) -> Only:
    node.only(*variables)
    return tuple(
        (name, said.text() if said.value in variables else TypeNames(types.names(said)))
        for name, said in node.items().items()
    )


def _dim(node: Node) -> str:
    if not re.fullmatch(r"[a-z]|[0-9]{1,4}", node.text()):
        raise node.error(f"{node.text()!r} is not a dimension", "a number, or a letter")
    return node.text()


def read_combinations(node: Node | None, inputs: int, types: Types) -> tuple[tuple[str, ...], ...]:
    """Return the combinations of input types for each output type."""
    rows = []
    for row in node.elements() if node else ():
        words = tuple(e.word((*types.types, OUTPUT), "type") for e in row.elements())
        if len(words) != inputs:
            raise row.error(
                f"{plural(len(words), 'type')}, the operator has {plural(inputs, 'input')}",
                "one each",
            )
        rows.append(words)
    return tuple(rows)
