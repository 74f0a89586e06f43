"""Data classes to JSON text and back: how a worker's messages cross to its parent.

A backend is code that nobody has read, and it lives in the worker. What comes from there is
therefore data and never objects that are made as the sender likes (pickle): only classes that are
named here in advance, each field held to its type. The form of a class is derived from its
annotations, so that the two cannot come apart: a class is the list of its fields, and one of
several has its name first. A case travels as its id, since the parent has the case. A decision is
the same in thousands of messages: it travels as a text of its own, which is made and read once.
"""

from __future__ import annotations

import base64
import json
import types
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import cache, lru_cache
from operator import attrgetter
from typing import Any, Generic, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec
import numpy as np

from convcheck.numerics.format import Bool, Text
from convcheck.rules.model import Case
from convcheck.semantics.expected import Decision

Cases = Mapping[str, Case]
_PLAIN = (int, str, float, bool, types.NoneType)
_FORMATS = (Bool, Text)  # they have no parameters
_CODES = "BHILQbhilqO?"  # the characters of the numpy types that an array may have
T = TypeVar("T")
_UNION: Any = Union  # types that are made here, of which a type checker knows nothing
_TUPLE: Any = tuple


class _Array(msgspec.Struct, frozen=True, array_like=True):
    """An array: of numbers, its memory in base 64; of texts, these."""

    type: str
    shape: tuple[int, ...]
    memory: str = ""
    texts: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Form:
    """How values of an annotation travel: the type there, and the two ways; None for as is."""

    type: Any
    pack: Callable[[Any], Any] | None = None
    unpack: Callable[[Any, Cases], Any] | None = None


class Codec(Generic[T]):
    """Messages of one class or several to text and back.

    Where a field holds a base class, one of `also` may stand there as well.
    """

    def __init__(self, *kinds: type[T], also: tuple[type, ...] = ()) -> None:
        self._form = _form(_UNION[kinds], also)
        self._decoder = msgspec.json.Decoder(self._form.type)

    def encode(self, message: T) -> bytes:
        """Return a message as text."""
        return _text(self._form.pack(message) if self._form.pack else message)

    def decode(self, text: bytes, cases: Cases) -> T:
        """Return the message in a text that is about some of the cases, by their ids.

        Raises ValueError for anything else.
        """
        try:
            found = _read(text, self._decoder)
            message: T = self._form.unpack(found, cases) if self._form.unpack else found
        except (LookupError, TypeError, OverflowError, RecursionError) as error:
            raise ValueError(f"no message: {error}") from error
        return message


def _text(packed: Any) -> bytes:
    try:
        return msgspec.json.encode(packed)
    except UnicodeEncodeError:  # half of a surrogate pair, which is no text for msgspec
        return json.dumps(msgspec.to_builtins(packed)).encode()


def _read(text: bytes, decoder: msgspec.json.Decoder[Any]) -> Any:
    try:
        return decoder.decode(text)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError:  # as `_text`
        return msgspec.convert(json.loads(text), decoder.type)


@cache
def _form(kind: Any, also: tuple[type, ...]) -> _Form:
    """Return the form of an annotation."""
    origin = get_origin(kind)
    if kind in _PLAIN or origin is Literal:
        return _Form(kind)
    if kind is Case:
        return _Form(str, attrgetter("id"), lambda name, cases: cases[name])
    if kind is Decision:
        return _repeated(kind)
    if origin is np.ndarray:
        return _Form(_Array, _array, _array_of)
    if origin in (Union, types.UnionType):
        return _union(get_args(kind), also)
    if origin is not None and issubclass(origin, Mapping):
        return _mapping(_TUPLE[get_args(kind)], also)
    if origin is not None and issubclass(origin, Collection):
        return _sequence(origin, get_args(kind), also)
    return _union((kind,), also)


def _object(kind: type, also: tuple[type, ...], tag: bool) -> _Form:
    """Return the form of a data class: the list of its fields, with its name first if `tag`."""
    assert _is_class(kind), kind  # noqa: S101  the classes are convcheck's own
    hints = get_type_hints(kind)
    names = [] if kind in _FORMATS else [field.name for field in fields(kind)]
    forms = [_form(hints[name], also) for name in names]
    if not tag and not any(form.pack for form in forms) and kind not in _FORMATS:
        return _Form(kind)
    wire = [(name, form.type) for name, form in zip(names, forms, strict=True)]
    struct = msgspec.defstruct(kind.__name__, wire, frozen=True, array_like=True, tag=tag)
    head = (kind.__name__,) if tag else ()
    packs = [(len(head) + n, form.pack) for n, form in enumerate(forms) if form.pack]
    unpacks = [(name, form.unpack) for name, form in zip(names, forms, strict=True) if form.unpack]
    fields_of = _fields_of(names)

    def pack(value: Any) -> list[Any]:
        packed = [*head, *fields_of(value)]
        for n, function in packs:
            if packed[n] is not None:
                packed[n] = function(packed[n])
        return packed

    def unpack(found: Any, cases: Cases) -> Any:
        made: Any = object.__new__(kind)  # as pickle does: a frozen class sets its fields slowly
        values = made.__dict__
        values.update(zip(names, fields_of(found), strict=True))
        for name, function in unpacks:
            if values[name] is not None:
                values[name] = function(values[name], cases)
        return made

    return _Form(struct, pack, unpack)


_KEPT = 1 << 14  # objects that were sent, or received


def _repeated(kind: type) -> _Form:
    """Return the form of a data class of which equal objects are sent again and again: a text."""
    form = _object(kind, (), tag=False)
    pack, unpack, decoder = form.pack, form.unpack, msgspec.json.Decoder(form.type)
    assert pack is not None  # noqa: S101  a decision has fields that are packed
    assert unpack is not None  # noqa: S101
    packed = lru_cache(_KEPT)(lambda value: _text(pack(value)).decode())
    made = lru_cache(_KEPT)(lambda text: unpack(_read(text.encode(), decoder), {}))
    return _Form(str, packed, lambda text, _: made(text))


def _fields_of(names: Sequence[str]) -> Callable[[Any], Sequence[Any]]:
    """Return a function that gives the fields of an object, quickly."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda value: [getattr(value, name) for name in names]


def _union(kinds: tuple[Any, ...], also: tuple[type, ...]) -> _Form:
    """Return the form of one of several. Where that does not tell them apart, they have names."""
    plain = [kind for kind in kinds if kind in _PLAIN]
    others = list(dict.fromkeys(one for kind in kinds for one in _with_subclasses(kind, also)))
    if others and all(get_origin(kind) is np.ndarray for kind in others):
        others = others[:1]  # an array says what it is of
    if not others:
        return _Form(_UNION[tuple(plain)])
    alone = len(others) == 1
    forms = {_class(k): _alone(k, also) if alone else _named(k, also) for k in others}
    wire = _UNION[(*(form.type for form in forms.values()), *plain)]
    packs = {kind: form.pack for kind, form in forms.items() if form.pack}
    unpacks = {_class(form.type): form.unpack for form in forms.values() if form.unpack}

    def pack(value: Any) -> Any:
        function = packs.get(type(value))
        return function(value) if function else value

    def unpack(found: Any, cases: Cases) -> Any:
        function = unpacks.get(type(found))
        return function(found, cases) if function else found

    return _Form(wire, pack, unpack)


def _with_subclasses(kind: Any, also: tuple[type, ...]) -> list[Any]:
    if kind in _PLAIN:
        return []
    return [kind, *(one for one in also if isinstance(kind, type) and issubclass(one, kind))]


def _is_class(kind: Any) -> bool:
    return isinstance(kind, type) and is_dataclass(kind)


def _class(kind: Any) -> type:
    found: type = get_origin(kind) or kind
    return found


def _alone(kind: Any, also: tuple[type, ...]) -> _Form:
    return _object(kind, also, tag=False) if _is_class(kind) else _form(kind, also)


def _named(kind: Any, also: tuple[type, ...]) -> _Form:
    """Return the form of one of several: a data class, or a sequence, with a name first."""
    if _is_class(kind):
        return _object(kind, also, tag=True)
    form, name = _form(kind, also), _class(kind).__name__
    struct = msgspec.defstruct(name, [("value", form.type)], frozen=True, array_like=True, tag=True)
    return _Form(
        struct,
        lambda value: [name, form.pack(value) if form.pack else value],
        lambda found, cases: form.unpack(found.value, cases) if form.unpack else found.value,
    )


def _mapping(pair: Any, also: tuple[type, ...]) -> _Form:
    """Return the form of a mapping: its pairs."""
    form = _form(_TUPLE[pair, ...], also)
    pack, unpack = form.pack, form.unpack

    def pairs(value: Mapping[Any, Any]) -> Any:
        items = tuple(value.items())
        return pack(items) if pack else items

    return _Form(
        form.type,
        pairs,
        lambda found, cases: dict(unpack(found, cases) if unpack else found),
    )


def _sequence(kind: type, of: tuple[Any, ...], also: tuple[type, ...]) -> _Form:
    """Return the form of a tuple, of a set, or of a tuple of so many."""
    if of[-1] is Ellipsis or kind is not tuple:
        return _many(kind, _form(of[0], also))
    forms = [_form(one, also) for one in of]
    wire = _TUPLE[tuple(form.type for form in forms)]
    if not any(form.pack for form in forms):
        return _Form(wire)
    return _Form(
        wire,
        lambda value: [f.pack(v) if f.pack else v for f, v in zip(forms, value, strict=True)],
        lambda found, cases: tuple(
            f.unpack(v, cases) if f.unpack else v for f, v in zip(forms, found, strict=True)
        ),
    )


def _many(kind: type, form: _Form) -> _Form:
    wire, pack, unpack = _TUPLE[form.type, ...], form.pack, form.unpack
    if not (pack and unpack):
        return _Form(wire) if kind is tuple else _Form(wire, tuple, lambda found, _: kind(found))
    return _Form(
        wire,
        lambda value: [pack(one) for one in value],
        lambda found, cases: kind(unpack(one, cases) for one in found),
    )


# Arrays -------------------------------------------------------------------------------------------


def _array(array: Any) -> tuple[Any, ...]:
    if array.dtype.hasobject:
        return array.dtype.char, array.shape, "", tuple(array.reshape(-1).tolist())
    memory = base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()
    return array.dtype.char, array.shape, memory


def _array_of(found: _Array, cases: Cases) -> Any:
    if found.type not in _CODES:
        raise ValueError(f"an array of {found.type!r}")
    if found.type == "O":
        array = np.empty(len(found.texts), object)
        array[:] = found.texts
        return array.reshape(found.shape)
    memory = base64.b64decode(found.memory, validate=True)
    return np.frombuffer(bytearray(memory), found.type).reshape(found.shape)
