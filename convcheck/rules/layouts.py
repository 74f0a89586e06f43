"""Nodes -> the shapes and the combinations of types in which whole calls are asked."""

from __future__ import annotations

import re
from collections.abc import Sequence

from convcheck.rules.cases import OUTPUT
from convcheck.rules.model import Layout
from convcheck.rules.source import Node
from convcheck.rules.types import Types
from convcheck.wording import plural


def read_layouts(node: Node | None, inputs: Sequence[str]) -> tuple[Layout, ...]:
    """Return the layouts of a whole call's inputs. Raises SpecError for an unknown input."""
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
    """Return the combinations of input types that are asked with each output type."""
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
