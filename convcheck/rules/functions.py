"""Read `calls` of a spec file: a library's function and its cases."""

from collections.abc import Mapping

from convcheck.rules.attributes import Context
from convcheck.rules.model import ANY, Calling, Case, FunctionRow, Spec
from convcheck.rules.source import Node


def read_functions(nodes: Mapping[str, Node], context: Context) -> dict[str, Calling]:
    """Return the functions by runtime."""
    found = {}
    for runtime, node in nodes.items():
        node.only("function", "where")
        function = node.need("function", "the name of the runtime's function").text()
        rows = tuple(_row(row, context) for row in node.listed("where"))
        found[runtime] = Calling(function, rows) if node.get("where") else Calling(function)
    return found


def why_not(spec: Spec | None, runtime: str, case: Case, types: str = "") -> str:
    """Return why a runtime, with type names of `types`, cannot run a case, or ''."""
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


def _row(node: Node, context: Context) -> FunctionRow:
    node.only("from", "to", *context.attributes)
    sources, targets = (
        node.read(key, lambda types: frozenset(context.types.names(types)), None)
        for key in ("from", "to")
    )
    attributes: dict[str, tuple[str, ...] | None] = {}
    for name, value in node.items().items():
        if name not in ("from", "to"):
            known = (*context.attributes[name], ANY)
            words = tuple(e.word(known, "value of an attribute") for e in value.elements())
            attributes[name] = None if ANY in words else words
    return FunctionRow(sources, targets, tuple(attributes.items()))
