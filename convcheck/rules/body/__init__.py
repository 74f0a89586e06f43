"""Which body a spec has, read by the file of its kind when there is one of that kind."""

from __future__ import annotations

from typing import Any

from convcheck.rules.body.table import Context
from convcheck.rules.source import Node

BODIES = ("matrix", "formula", "steps")


def whole_calls(node: Node) -> bool:
    """Tell whether the operator's question is a whole call, not one element."""
    return any(node.get(key) for key in BODIES)


def read_body(node: Node, context: Context) -> dict[str, Any]:
    """Read the body by the key that it stands under; {} for a table. Raises SpecError."""
    found = [key for key in BODIES if node.get(key)]
    if len(found) > 1:
        raise node.need(found[1]).error(f"a {found[0]} stands here already", "one body a spec")
    if "matrix" in found:
        from convcheck.rules.body.matrix import read_matrix

        return {"matrix": read_matrix(node, context)}
    if "formula" in found:
        from convcheck.rules.body.formula import read_formula

        return {"formula": read_formula(node, context)}
    if "steps" in found:
        from convcheck.rules.body.steps import read_steps

        return {"steps": read_steps(node, context)}
    return {}
