"""The hash of what decides a spec's vectors."""

from __future__ import annotations

import hashlib
import json
from dataclasses import fields, is_dataclass

from convcheck.errors import Place
from convcheck.rules.model import Attribute, Cell, Cite, DType, Spec


def digest(spec: Spec) -> str:
    """Hash what decides a spec's vectors: formats, attributes, literals, rules.

    Citations, notes and places are left out, so that a better wording regenerates nothing.
    """
    cells = [
        [
            rule.name, [[k, sorted(map(str, v))] for k, v in rule.when], rule.same_type,
            repr(rule.rounding), repr(rule.columns),
            [[row.label, [_cell_key(cell) for cell in row.cells]] for row in rule.rows],
        ]
        for rule in spec.rules
    ]  # fmt: skip
    types = {v: [[t.name, repr(t.format)] for t in ts] for v, ts in spec.types.items()}
    attributes = [
        [a.name, a.kind, a.carries, a.values, a.default, sorted(a.applies), _also_key(a)]
        for a in spec.attributes
    ]
    literals = {name: literal.matches for name, literal in spec.literals.items()}
    content: list[object] = [spec.id, types, spec.inputs, spec.outputs, attributes, literals, cells]
    if spec.pairs:
        content.append(sorted(spec.pairs.listed))
    if spec.likes:
        content.append(spec.likes)
    if spec.layouts:
        body = spec.matrix or spec.formula or spec.steps
        content += [_key(spec.layouts), spec.combinations, _key(body)]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _cell_key(cell: Cell) -> object:
    return [[o.word, o.argument, o.round, o.reading] for o in cell.outcomes], cell.level


def _also_key(attribute: Attribute) -> object:
    return [[a.values, sorted(a.sources), sorted(a.targets), a.refusal] for a in attribute.also]


def _key(value: object) -> object:
    """Give what a body says as JSON's types, without citations, places and examples."""
    if isinstance(value, DType):
        return value.name
    if is_dataclass(value):
        parts = {f.name: getattr(value, f.name) for f in fields(value)}
        left = {k: v for k, v in parts.items() if not isinstance(v, Cite | Place)}
        return {k: _key(v) for k, v in left.items() if k != "examples"}
    if isinstance(value, dict):
        return {str(k): _key(v) for k, v in value.items()}
    if isinstance(value, tuple | list):
        return [_key(v) for v in value]
    if isinstance(value, frozenset | set):
        return sorted(str(v) for v in value)
    return str(value)
