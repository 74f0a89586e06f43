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
from convcheck.records import by_hook
from convcheck.rules.model import Case
from convcheck.streams import OBEYED

S = TypeVar("S")


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


def json_text(struct: object, rows: str = "") -> str:
    """Return a struct as JSON text, with each member of the list `rows` on its own line."""
    lines = []
    for key, raw in msgspec.json.decode(encoded(struct), type=dict[str, msgspec.Raw]).items():
        said = msgspec.json.format(bytes(raw), indent=1).decode().replace("\n", "\n ")
        if key == rows and said != "[]":
            members = msgspec.json.decode(raw, type=list[msgspec.Raw])
            said = "[\n  " + ",\n  ".join(bytes(one).decode() for one in members) + "\n ]"
        lines.append(f'"{key}": {said}')
    return _inert("{\n " + ",\n ".join(lines) + "\n}\n")


def _inert(text: str) -> str:
    text = OBEYED.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
    return text.replace("##", "#\\u0023")  # only texts have ##, and CI systems obey ##[ in a log


def text_in(path: str, hint: str) -> str:
    """Return the text of a file. Raises UsageError if it cannot be read."""
    try:
        return read_text(Path(path), MOST_OF_REPORT)
    except (OSError, UnicodeDecodeError) as error:
        said = getattr(error, "strerror", None) or error
        raise UsageError(f"cannot read {path}: {said}", hint=hint) from None
