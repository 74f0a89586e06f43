"""The hash of what decides a spec's vectors.

It is made of the types that the spec can be asked or computes in, with the parameters of their
formats, and of what its rules say of these. Of other types it knows nothing: a new row in the
dtypes, or a new member of a family, changes the hash of the specs that can be asked it alone.
Citations, notes, examples and places are left out, so that a better wording changes nothing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Set, ValuesView
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from typing import Any

from convcheck.errors import Place
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
Key = dict[str, "Key"] | list["Key"] | str | int | None


def digest_of_spec(spec: Spec) -> str:
    """Return the SHA-256 of what decides a spec's vectors, as hexadecimal digits."""
    parts = {name: getattr(spec, name) for name in _DECIDES} | dict.fromkeys(_BODIES)
    if spec.outside:  # not in the digest of every spec: most have nothing of the kind
        parts["outside"] = spec.outside
    if spec.body.whole_calls:  # a table is its rules
        parts[spec.body.name] = spec.body
    known = frozenset({REAL, *(dtype.name for dtype in _types(parts))})
    content = [spec.id, _key(parts, known)]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _parts(value: object) -> Mapping[str, object] | None:
    """Return the entries of a mapping, or the fields of a data class that decide; else None."""
    if isinstance(value, Mapping):
        return {str(k): v for k, v in value.items()}
    if not is_dataclass(value):
        return None
    found = {
        name: part
        for name, absent in _names(value.__class__)
        if (part := getattr(value, name)) != absent
    }
    return {k: v for k, v in found.items() if not isinstance(v, Cite | Place)}


@cache
def _names(kind: Any) -> tuple[tuple[str, object], ...]:
    """Return the names of fields, each with the value of which a digest does not tell."""
    return tuple(
        (field.name, field.default if field.metadata == LATER else MISSING)
        for field in fields(kind)
        if field.name not in _TELLS
    )


def _types(value: object) -> Iterator[DType]:
    """Find the types in what decides."""
    if isinstance(value, DType):
        yield value
        return
    parts = _parts(value)
    inner = parts.values() if parts is not None else value
    if isinstance(inner, tuple | ValuesView):
        for one in inner:
            yield from _types(one)


def _key(value: object, known: frozenset[str]) -> Key:
    """Return what decides as JSON has it; of conditions on types what they say of known ones."""
    if isinstance(value, DType):
        return [value.name, repr(value.format)]
    if isinstance(value, TypeNames):
        return [*sorted(value & known)]
    if (parts := _parts(value)) is not None:
        return {k: _key(v, known) for k, v in parts.items()}
    if isinstance(value, tuple):
        return [_key(v, known) for v in value]
    if isinstance(value, Set):
        return [*sorted(map(str, value))]
    return value if isinstance(value, str | int | None) else str(value)
