"""Check that the parts of a spec fit together.

These errors would make a case meaningless or crash a run. Lint checks completeness and
reachability.
"""

from __future__ import annotations

from collections.abc import Mapping

from convcheck.errors import SpecError
from convcheck.rules.cases import OUTPUT
from convcheck.rules.model import DType, Spec
from convcheck.rules.source import Node


def check_spec(spec: Spec, node: Node, types: Mapping[str, DType]) -> None:
    """Check a spec against its file's root node. Raises SpecError."""
    _names(spec)
    _types(spec, node)
    if spec.combinations or node.get("combinations"):
        _combinations(spec, node)
    if spec.outside and spec.body.whole_calls:
        hint = "a body of whole calls says what is undefined in a place of its own"
        raise node.need("outside").error("only a table has `outside`", hint)
    spec.body.check(spec, node, types)


def _names(spec: Spec) -> None:
    seen: set[str] = set()
    for rule in (*spec.rules, *(entry.rule for entry in spec.outside)):
        if rule.name in seen:
            message, hint = (
                f"two rules are named {rule.name!r}",
                "to change a parent's rule, state it once",
            )
            raise SpecError(message, place=rule.place, hint=hint)
        seen.add(rule.name)


def _types(spec: Spec, node: Node) -> None:
    for key, tensors in (("inputs", spec.inputs), ("outputs", spec.outputs)):
        if not tensors:
            raise node.need(key).error(f"no {key}", "write NAME: TYPES")
        for name, variable in tensors:
            answer = key == "outputs" and spec.body.gives_types
            if (variable in spec.types) == answer:
                message = f"`types` does not list {variable}, the type of {name}"
                hint = f"{variable}: [TYPE, …]"
                if answer:
                    message = f"`types` lists {variable}, the type that the {spec.body.name} gives"
                    hint = "leave it out there"
                raise node.need(key).need(name).error(message, hint)
    for name in spec.types:
        if not spec.types[name]:
            raise node.need("types").need(name).error(f"{name} has no types", "list them")


def _combinations(spec: Spec, node: Node) -> None:
    at = node.need("combinations")
    if not spec.combinations:
        raise at.error("no combinations", "list some, or leave `combinations` out for all")
    output = spec.outputs[0][1]
    if output not in spec.types or output in dict(spec.inputs).values():
        raise at.error("they are made with types of the output alone", "leave `combinations` out")
    for row, words in zip(at.elements(), spec.combinations, strict=True):
        for cell, word, (name, variable) in zip(row.elements(), words, spec.inputs, strict=True):
            known = [t.name for t in spec.types[variable]]
            if word not in (*known, OUTPUT):
                raise cell.error(f"{word} is not a type of {name}", f"output, {', '.join(known)}")
