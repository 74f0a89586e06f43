"""Structs to JSON text and back. What is read is held to its types; an error names the path.

Texts from outside may hold half of a surrogate pair, which msgspec does not json_text in JSON: the
standard library writes and parses the text, msgspec turns it into structs and holds it to them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec

from convcheck.errors import UsageError
from convcheck.files import MOST_OF_REPORT, read_text
from convcheck.judge.result import Word
from convcheck.numerics.format import Format, Text


class Shape(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """A JSON object of a public format. A field that has a default is left out where it is that."""


S = TypeVar("S")
Count = Annotated[int, msgspec.Meta(ge=0)]
Digest = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{32}$")]


def plain(struct: object) -> Any:
    """Return a struct as dicts, lists, texts and numbers."""
    return msgspec.to_builtins(struct)


def struct(document: object, kind: type[S]) -> S:
    """Return plain JSON data as a struct. Raises ValueError, which names the path in the data."""
    return msgspec.convert(document, kind)


def text_in(path: str, hint: str) -> str:
    """Return the text of a file. Raises UsageError for one that cannot be read."""
    try:
        return read_text(Path(path), MOST_OF_REPORT)
    except (OSError, UnicodeDecodeError) as error:
        said = getattr(error, "strerror", None) or error
        raise UsageError(f"cannot read {path}: {said}", hint=hint) from None


def parsed(text: str, path: str, hint: str) -> Any:
    """Return the JSON in the text of a file. Raises UsageError for what is no JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is not JSON: {error}", hint=hint) from None


def parse(path: str, hint: str) -> Any:
    """Return the JSON in a file. Raises UsageError for one that cannot be read, or is no JSON."""
    return parsed(text_in(path, hint), path, hint)


def struct_in(text: str, kind: type[S]) -> S | None:
    """Return JSON text as a struct, a third of the time that `parsed` and `struct` take; None for
    text that msgspec does not take: these two say why, or take it.
    """
    try:
        return msgspec.json.decode(text, type=kind)
    except (ValueError, RecursionError):
        return None


def json_text(document: Mapping[str, Any], rows: str, nested: str = "") -> str:
    """Return JSON text with each member of the list `rows` on a line, so that a difference between
    two files is a line too; where `rows` have a list `nested`, each member of that.
    """
    head = json.dumps({k: v for k, v in document.items() if k != rows}, indent=1)
    lines = ",\n".join("  " + _line(row, nested) for row in document[rows])
    said = f'{head[:-2]},\n "{rows}": [' + (f"\n{lines}\n " if lines else "") + "]\n}\n"
    return said.replace("##", "#\\u0023")  # only texts have it, and CI systems obey ##[ in a log


def _line(row: Mapping[str, Any], nested: str) -> str:
    if not nested:
        return json.dumps(row)
    head = json.dumps({k: v for k, v in row.items() if k != nested})
    lines = ",\n".join("   " + json.dumps(one) for one in row[nested])
    return f'{head[:-1]}, "{nested}": [\n{lines}]}}'


def word_of(text: str, fmt: Format | None) -> Word:
    """Return a code, a text, or a pattern's word in angle brackets, as it was written.

    Raises ValueError for what is no code of the format; `fmt` is None for a type not known.
    """
    if isinstance(fmt, Text) or text.startswith("<"):
        return text
    code = int(text, 16)
    if code < 0 or (fmt is not None and code >> 8 * fmt.storage.itemsize):
        raise ValueError(f"{text} is not a code of its type")
    return code
