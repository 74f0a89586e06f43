"""Results are structs: the class is the domain's, the form in JSON and that of a message."""

from __future__ import annotations

import dataclasses
from abc import ABC
from typing import Annotated, Any, TypeVar

import msgspec

T = TypeVar("T")
Count = Annotated[int, msgspec.Meta(ge=0)]
Digest = Annotated[str, msgspec.Meta(pattern="^([0-9a-f]{32})?$")]


class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A result. In JSON, a field that has its default is left out."""


def by_hook(*kinds: type) -> type:
    """Return the type of a field whose values, of these classes, a decoder's hook makes."""
    hooked = type("Hooked", (ABC,), {})
    for kind in kinds:
        hooked.register(kind)  # type: ignore[attr-defined]
    return hooked


def replace(thing: T, /, **changes: Any) -> T:
    """Return a struct, or an instance of a data class, with other fields."""
    of = msgspec.structs if isinstance(thing, msgspec.Struct) else dataclasses
    made: T = of.replace(thing, **changes)
    return made
