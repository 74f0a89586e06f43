"""Results as structs, which are also their JSON and message formats."""

import dataclasses
import sys
from abc import ABC
from collections.abc import Hashable, Iterable
from typing import Annotated, Any, TypeVar

import msgspec

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)
Count = Annotated[int, msgspec.Meta(ge=0)]
Digest = Annotated[str, msgspec.Meta(pattern="^([0-9a-f]{32})?$")]


class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A result. JSON omits fields with default values."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle without defaults, and intern texts: msgspec recognises a default by identity."""
        fields, defaults = self.__struct_fields__, self.__struct_defaults__
        default = dict(zip(fields[len(fields) - len(defaults) :], defaults, strict=True))
        values = ((name, getattr(self, name)) for name in fields)
        given = {n: v for n, v in values if v is not default.get(n, msgspec.NODEFAULT)}
        return _remade, (type(self), given)


def _remade(kind: type[T], given: dict[str, Any]) -> T:
    return kind(**{n: sys.intern(v) if type(v) is str else v for n, v in given.items()})


def by_hook(*kinds: type) -> type:
    """Return a field type for these classes, which a decoder's hook converts."""
    hooked = type("Hooked", (ABC,), {})
    for kind in kinds:
        hooked.register(kind)  # type: ignore[attr-defined]
    return hooked


def replace(thing: T, /, **changes: Any) -> T:
    """Return a struct or dataclass instance with other fields."""
    of = msgspec.structs if isinstance(thing, msgspec.Struct) else dataclasses
    made: T = of.replace(thing, **changes)
    return made


def grouped(pairs: Iterable[tuple[K, T]]) -> dict[K, list[T]]:
    """Group the second parts of pairs by the first."""
    found: dict[K, list[T]] = {}
    for key, thing in pairs:
        found.setdefault(key, []).append(thing)
    return found
