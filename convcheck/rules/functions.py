"""`calls` of a spec file: which function of a library is the operator, and what it can be asked.

A library that runs no graphs has functions instead of operators, and none of the operator's
attributes: each function does one thing, which may be what some attribute values say. `calls`
names the function by runtime, and in `where` the questions that it answers:

    calls:
      torch:
        function: to
        where:
          - {to: float8e4m3fn, saturate: 1}
          - {from: float32, to: [float16, bfloat16], mode: any}

A row holds for a case of its types (all, where it names none) whose every attribute has a value
that the row names; a case without attributes needs a row without any. No `where` is one such row.
"""

from __future__ import annotations

from convcheck.rules.context import Context
from convcheck.rules.model import ANY, Calling, Case, FunctionRow, Spec
from convcheck.rules.source import Node


def read_functions(node: Node | None, context: Context) -> dict[str, Calling]:
    """Return the callings by runtime. Raises SpecError with file and line."""
    return {
        runtime: _calling(entry, context)
        for runtime, entry in (node.items() if node else {}).items()
    }


def why_not(spec: Spec | None, runtime: str, case: Case, types: str = "") -> str:
    """Return why a runtime's function cannot be asked a case; '' where it can.

    `types` is the runtime by whose names it calls its types, if these are not its own.
    """
    calling = spec.calls.get(runtime) if spec else None
    if calling is None:
        return f"{runtime} has no function for {case.spec}"
    for dtype in (*case.inputs, *case.outputs):
        if not dtype.name_in(types or runtime):
            return f"{runtime} has no type {dtype}"
    if any(row.holds(case) for row in calling.rows):
        return ""
    asked = ", ".join(f"{name}={value}" for name, value in case.attributes)
    does = " or ".join(filter(None, (str(c) for c in calling.rows if c.of_types(case))))
    beside = f": what it does is {does}" if does else ""
    return f"{runtime}'s {calling.function} has no {asked or 'such pair of types'}{beside}"


def _calling(node: Node, context: Context) -> Calling:
    node.only("function", "where")
    function = node.need("function", "the name of the runtime's function").text()
    where = node.get("where")
    if where is None:
        return Calling(function)
    return Calling(function, tuple(_row(row, context) for row in where.elements()))


def _row(node: Node, context: Context) -> FunctionRow:
    node.only("from", "to", *context.attributes)
    types = {key: frozenset(context.types.names(node.need(key))) for key in _types_of(node)}
    attributes = tuple(
        (name, _values(value, (*context.attributes[name], ANY)))
        for name, value in node.items().items()
        if name not in ("from", "to")
    )
    return FunctionRow(types.get("from"), types.get("to"), attributes)


def _types_of(node: Node) -> list[str]:
    return [key for key in ("from", "to") if node.get(key)]


def _values(node: Node, known: tuple[str, ...]) -> tuple[str, ...] | None:
    words = tuple(element.word(known, "value of an attribute") for element in node.elements())
    return None if ANY in words else words
