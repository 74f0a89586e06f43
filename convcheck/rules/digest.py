"""The hash of what decides a spec's vectors.

It is made of the types that the spec can be asked or computes in, with the parameters of their
formats, and of what its rules say of these. Of other types it knows nothing: a new row in the
dtypes, or a new member of a family, changes the hash of the specs that can be asked it alone.
Citations, notes, examples and places are left out, so that a better wording changes nothing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Set
from dataclasses import MISSING, fields, is_dataclass
from functools import cache, lru_cache
from types import NoneType
from typing import Any

from convcheck.errors import Place
from convcheck.numerics.format import text_of_format
from convcheck.rules.model import LATER, REAL, Cite, DType, Spec, TypeNames

_DECIDES = (
    "types", "inputs", "outputs", "likes", "attributes", "literals", "rules", "pairs", "layouts",
    "combinations",
)  # fmt: skip
_BODIES = ("matrix", "formula", "steps")  # null in the digest of every spec that has another body
_TELLS = {
    "examples",
    "samples",
    "text",
    "cite",
    "undone_by",
}  # fields of which the vectors know nothing
_PLAIN = (str, int, NoneType)
Key = dict[str, "Key"] | list["Key"] | str | int | None


@lru_cache(256)  # asked for with each case
def digest_of_spec(spec: Spec) -> str:
    """Return the SHA-256 of what decides a spec's vectors, as hexadecimal digits."""
    parts = {name: getattr(spec, name) for name in _DECIDES} | dict.fromkeys(_BODIES)
    if spec.outside:  # not in the digest of every spec: most have nothing of the kind
        parts["outside"] = spec.outside
    if spec.body.whole_calls:  # a table is its rules
        parts[spec.body.name] = spec.body
    tree = _tree(parts)
    known = frozenset({REAL, *{dtype.name for dtype in _types(tree)}})
    content = [spec.id, _key(tree, known)]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


@cache
def _names(kind: Any) -> tuple[tuple[str, object], ...]:
    """Return the names of fields, each with the value of which a digest does not tell."""
    return tuple(
        (field.name, field.default if field.metadata == LATER else MISSING)
        for field in fields(kind)
        if field.name not in _TELLS
    )


def _tree(value: Any) -> object:
    """Return what decides as dicts and lists, whose leaves are as they were."""
    made = _made(value.__class__)
    return value if made is None else made(value)


@cache  # a spec has thousands of values, of few classes
def _made(kind: Any) -> Callable[[Any], object] | None:
    """Return what makes the tree of values of a class; None for leaves."""
    if issubclass(kind, str | DType | TypeNames):
        return None
    if issubclass(kind, Mapping):
        return lambda value: {str(k): _tree(v) for k, v in value.items()}
    if is_dataclass(kind):
        return _of_fields
    return (lambda value: [_tree(one) for one in value]) if issubclass(kind, tuple) else None


def _of_fields(value: Any) -> object:
    """Return the tree of a data class: of its fields that decide."""
    return {
        name: _tree(part)
        for name, absent in _names(value.__class__)
        if (part := getattr(value, name)) != absent and not isinstance(part, Cite | Place)
    }


def _types(tree: object) -> set[DType]:
    """Find the types in what decides."""
    found, left = set[DType](), [tree]
    while left:
        one = left.pop()
        if isinstance(one, dict):
            left += one.values()
        elif isinstance(one, list):
            left += one
        elif isinstance(one, DType):
            found.add(one)
    return found


def _key(tree: object, known: frozenset[str]) -> Key:
    """Return what decides as JSON has it; of conditions on types what they say of known ones."""
    if isinstance(tree, dict):
        return {name: _key(one, known) for name, one in tree.items()}
    if isinstance(tree, list):
        return [_key(one, known) for one in tree]
    if isinstance(tree, _PLAIN):
        return tree
    if isinstance(tree, DType):
        return [tree.name, text_of_format(tree.format)]
    if isinstance(tree, TypeNames):
        return [*sorted(tree & known)]
    if isinstance(tree, Set):
        return [*sorted(map(str, tree))]
    return str(tree)
