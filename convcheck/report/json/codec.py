"""Convert structs to JSON text and back.

Decoding checks types; errors name the path.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from convcheck.errors import UsageError
from convcheck.files import MOST_OF_REPORT, read_text
from convcheck.judge.reading import plain
from convcheck.records import Count as Count
from convcheck.records import Record, by_hook
from convcheck.rules.model import Case
from convcheck.streams import OBEYED

S = TypeVar("S")
_FIRST = ("format", "convcheck")
_Members = dict[str, msgspec.Raw]


class Shape(Record, frozen=True, kw_only=True):
    """A JSON object derived from results."""


if TYPE_CHECKING:
    Named = str
    Pairs = dict[str, str]
else:
    Named = by_hook(str)  # a case, type or cause by its name
    Pairs = by_hook(dict)  # pairs as an object


def derived(kind: type[S], found: object) -> S:
    """Convert a result to a struct with attributes of the same names, or to a tuple of structs."""
    return msgspec.convert(found, kind, from_attributes=True, dec_hook=_named)


def _named(kind: type, found: Any) -> Any:
    if kind is Pairs:
        return dict(found)
    return found.id if isinstance(found, Case) else found.name


def encoded(struct: object) -> bytes:
    """Return a struct as JSON on a line."""
    try:
        return msgspec.json.encode(struct, enc_hook=plain)
    except UnicodeEncodeError:  # a lone surrogate, for example in a file name
        data = msgspec.to_builtins(struct, enc_hook=plain, str_keys=True)
        return json.dumps(data, ensure_ascii=False).encode("utf-8", "replace")


def line_text(struct: object) -> str:
    """Return a struct as a line of JSON, with control characters and CI commands escaped."""
    return _inert(encoded(struct).decode()) + "\n"


def json_text(struct: object, *rows: str) -> str:
    """Return a struct as JSON text, with each member of the lists `rows` on its own line."""
    found = msgspec.json.decode(encoded(struct), type=_Members)
    keys = sorted(
        found, key=lambda key: (key not in _FIRST, rows.index(key) if key in rows else -1)
    )
    members = ((key, _rows(found[key]) if key in rows else _head(found[key])) for key in keys)
    lines = (f'"{key}": {said}' for key, said in members)
    return _inert("{\n " + ",\n ".join(lines) + "\n}\n")


def _inert(text: str) -> str:
    text = OBEYED.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
    return text.replace("##", "#\\u0023")  # only texts have ##, and CI systems obey ##[ in a log


def _head(raw: msgspec.Raw) -> str:
    return msgspec.json.format(bytes(raw), indent=1).decode().replace("\n", "\n ")


def _rows(raw: msgspec.Raw) -> str:
    rows = msgspec.json.decode(raw, type=list[msgspec.Raw])
    lines = ",\n  ".join(bytes(row).decode() for row in rows)
    return f"[\n  {lines}\n ]" if rows else "[]"


def text_in(path: str, hint: str) -> str:
    """Return the text of a file. Raises UsageError if it cannot be read."""
    try:
        return read_text(Path(path), MOST_OF_REPORT)
    except (OSError, UnicodeDecodeError) as error:
        said = getattr(error, "strerror", None) or error
        raise UsageError(f"cannot read {path}: {said}", hint=hint) from None
