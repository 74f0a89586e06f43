"""Read what is supported: types, shapes, layouts of whole calls, functions of libraries."""

import re
from collections.abc import Mapping, Sequence

from convcheck.rules.cases import OUTPUT
from convcheck.rules.model import (
    ANY,
    Attribute,
    Calling,
    Case,
    FunctionRow,
    Layout,
    PairList,
    Pairs,
    Shapes,
    Spec,
    TypeNames,
)
from convcheck.rules.rule import Context, read_cite
from convcheck.rules.source import Node, refuse
from convcheck.rules.types import Types
from convcheck.streams import meant, plural

Only = tuple[tuple[str, TypeNames | str], ...]


def read_layouts(
    nodes: Mapping[str, Node],
    inputs: Sequence[str],
    attributes: Sequence[Attribute],
    variables: Sequence[str],
    types: Types,
) -> tuple[Layout, ...]:
    """Return the layouts of a call's inputs."""
    stated = {a.name: a for a in attributes if a.by_layout}
    layouts = []
    for name, entry in nodes.items():
        if not re.fullmatch(r"[a-z0-9-]+", name):
            raise entry.error(f"{name!r} cannot stand in an id", "lower-case letters and -")
        entry.only(*inputs, *stated, *(["only"] if variables else []))
        shapes = ((i, entry.get(i)) for i in inputs)
        dims = tuple((i, tuple(map(_dim, d.elements()))) for i, d in shapes if d)
        own = [(attribute, said) for k, attribute in stated.items() if (said := entry.get(k))]
        layouts.append(Layout(
            name, dims, entry.place,
            tuple(
                (a.name, said.integer() if a.kind == "int" else said.text())
                for a, said in own if not a.carries
            ),
            tuple(a.name for a, said in own if a.carries and said.word(("given",), "word")),
            tuple(_only(e, variables, types) for e in entry.listed("only")),
        ))  # fmt: skip
    return tuple(layouts)


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


def read_combinations(
    nodes: Sequence[Node], inputs: int, types: Types
) -> tuple[tuple[str, ...], ...]:
    """Return the combinations of input types for each output type."""
    rows = []
    for row in nodes:
        words = tuple(e.word((*types.types, OUTPUT), "type") for e in row.elements())
        if len(words) != inputs:
            said = f"{plural(len(words), 'type')}, the operator has {plural(inputs, 'input')}"
            raise row.error(said, "one each")
        rows.append(words)
    return tuple(rows)


def read_pairs(node: Node, context: Context) -> Pairs:
    """Return the supported pairs."""
    lists = node.elements()
    only = all(one.read("only", Node.flag, False) for one in lists)
    return Pairs(tuple(_pair_list(one, context) for one in lists), only)


def _pair_list(node: Node, context: Context) -> PairList:
    node.only("when", "cite", "only", "listed")
    rows = node.need("listed", "source -> its destinations")
    listed = {
        source: TypeNames(context.types.names(targets)) for source, targets in rows.items().items()
    }
    known = context.types.types
    unknown = (source for source in rows.items() if source not in known)
    refuse(rows.error(f"unknown type {source!r}", meant(source, known)) for source in unknown)
    node.read("when", lambda when: when.only(*context.attributes), None)
    when = (
        (name, frozenset(e.word(context.attributes[name], "value") for e in values.elements()))
        for name, values in node.entries("when").items()
    )
    return PairList(tuple(when), listed, read_cite(node.need("cite"), context))


def read_shapes(shape: Node, context: Context) -> Shapes | None:
    """Return the supported shapes."""
    shape.only("cite", "supported")
    node = shape.get("supported")
    if node is None:
        return None
    node.only("ranks", "empty", "cite")
    ranks = frozenset(e.integer() for e in node.need("ranks").elements())
    empty = node.need("empty", "whether a tensor may have no elements: yes or no").flag()
    return Shapes(ranks, empty, read_cite(node.need("cite"), context))


def read_functions(nodes: Mapping[str, Node], context: Context) -> dict[str, Calling]:
    """Return the functions by runtime."""
    found = {}
    for runtime, node in nodes.items():
        node.only("function", "where")
        function = node.need("function", "the name of the runtime's function").text()
        rows = tuple(_function_row(row, context) for row in node.listed("where"))
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


def _function_row(node: Node, context: Context) -> FunctionRow:
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
