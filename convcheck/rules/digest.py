"""Hash the parts of a spec that determine its vectors, with the types that they use only."""

import hashlib
import json
from collections.abc import Mapping, Set
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
_BODIES = ("matrix", "formula", "steps")  # null in others' digests
_TELLS = {"examples", "samples", "text", "cite", "undone_by"}  # do not affect vectors
_PLAIN = (str, int, NoneType)
Key = dict[str, "Key"] | list["Key"] | str | int | None


@lru_cache(256)  # called for each case
def digest_of_spec(spec: Spec) -> str:
    """Return the SHA-256 of a spec, in hexadecimal."""
    parts = {name: getattr(spec, name) for name in _DECIDES} | dict.fromkeys(_BODIES)
    if spec.outside:  # keeps other specs' digests
        parts["outside"] = spec.outside
    if spec.body.whole_calls:  # a table consists of its rules
        parts[spec.body.name] = spec.body
    tree = _tree(parts)
    known = frozenset({REAL, *{dtype.name for dtype in _types(tree)}})
    content = [spec.id, _key(tree, known)]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


@cache
def _names(kind: Any) -> tuple[tuple[str, object], ...]:
    kept = (field for field in fields(kind) if field.name not in _TELLS)
    return tuple((f.name, f.default if f.metadata == LATER else MISSING) for f in kept)


def _tree(value: Any) -> object:
    if isinstance(value, str | DType | TypeNames):
        return value
    if isinstance(value, tuple):
        return [_tree(one) for one in value]
    if isinstance(value, Mapping):
        return {str(k): _tree(v) for k, v in value.items()}
    if not is_dataclass(value):
        return value
    return {
        name: _tree(part)
        for name, absent in _names(value.__class__)
        if (part := getattr(value, name)) != absent and not isinstance(part, Cite | Place)
    }


def _types(tree: object) -> set[DType]:
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
