"""Read `outside`: cases that a text excludes. They are tested, and nothing is expected.

outside:
  - name: strings
    from: [string]
    to: [float32, int32]
    cite: "Casting to and from strings is not supported yet."
  - {name: no such type, from: float32, to: float32, values: {to: [0, 99, default]}, cite: …}

An entry tests the pairs that the lists of types lack; with `values`, the pairs that it names, under
other attribute values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from convcheck.rules.attributes import Context, read_cite
from convcheck.rules.model import (
    DEFAULT,
    Attributes,
    Case,
    DType,
    Outcome,
    Spec,
    Uncovered,
    Value,
)
from convcheck.rules.rule import rule_of_all
from convcheck.rules.source import Node


def read_uncovered(root: Node, context: Context) -> tuple[Uncovered, ...]:
    """Return the excluded cases of a spec file's root node. Raises SpecError."""
    kinds = {name: each.need("type").text() for name, each in root.entries("attributes").items()}
    return tuple(_entry(e, kinds, context) for e in root.listed("outside"))


def _entry(node: Node, kinds: Mapping[str, str], context: Context) -> Uncovered:
    node.only("name", "from", "to", "values", "cite")
    sources, targets = (
        tuple(context.types.types[name] for name in context.types.names(node.need(key)))
        for key in ("from", "to")
    )
    node.read("values", lambda values: values.only(*kinds), None)
    values = (
        (name, tuple(_value(kinds[name], e) for e in values.elements()))
        for name, values in node.entries("values").items()
    )
    cite = read_cite(node.need("cite", "quote the sentence that leaves it out"), context)
    rule = rule_of_all(node.need("name").text(), Outcome("undefined"), cite, node.place)
    return Uncovered(sources, targets, tuple(values), rule)


def _value(kind: str, node: Node) -> Value:
    if kind == "int" and node.value != DEFAULT:
        return node.integer()
    return node.text()


def pairs_outside(spec: Spec, entry: Uncovered) -> Iterator[tuple[DType, DType, Attributes]]:
    """Yield the pairs of an entry with their attribute values."""
    for source in entry.sources:
        for target in entry.targets:
            if not entry.values and not is_listed(spec, source, target):
                yield source, target, ()
            for name, values in entry.values:
                yield from ((source, target, ((name, value),)) for value in values)


def is_listed(spec: Spec, source: DType, target: DType) -> bool:
    """Return whether a spec's lists have both types."""
    lists = (spec.types[spec.inputs[0][1]], spec.types[spec.outputs[0][1]])
    return source in lists[0] and target in lists[1]


def uncovered_by(spec: Spec, case: Case) -> Uncovered | None:
    """Return the exclusion of a case, None for none."""
    return next((entry for entry in spec.outside if _asks(spec, entry, case)), None)


def _asks(spec: Spec, entry: Uncovered, case: Case) -> bool:
    source, target = case.inputs[0], case.outputs[0]
    if source not in entry.sources or target not in entry.targets:
        return False
    if not entry.values:
        return not is_listed(spec, source, target)
    return any(
        (name, value) in case.attributes for name, values in entry.values for value in values
    )
