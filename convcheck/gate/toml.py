"""Read TOML files of tables such as [[known]], with line numbers."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from convcheck.errors import Place, UsageError
from convcheck.files import MOST_OF_LIST, read_file
from convcheck.wording import meant


@dataclass(frozen=True)
class Table:
    """One [[table]] of a file, with its values and its place."""

    name: str
    values: Mapping[str, Any]
    place: Place  # of the header
    #: All lines of the file.
    around: Sequence[str]
    #: The number of lines above the next table.
    end: int

    @property
    def lines(self) -> tuple[str, ...]:
        """Its lines from the header on, without the next table's comment."""
        lines = self.around[self.place.line - 1 : self.end]
        end = len(lines)
        while end > 1 and (not lines[end - 1].strip() or _is_comment(lines[end - 1])):
            end -= 1
        return tuple(lines[:end])

    @property
    def lead(self) -> int:
        """The number of comment lines above the header."""
        first = start = self.place.line - 1
        while first and _is_comment(self.around[first - 1]):
            first -= 1
        return start - first

    @property
    def last(self) -> int:
        """The number of its last line."""
        return self.place.line + len(self.lines) - 1

    @property
    def span(self) -> str:
        """Its lines, such as known.toml:12-24."""
        return f"{self.place.file}:{self.place.line}-{self.last}"

    def wrong(self, key: str, message: str, hint: str = "") -> UsageError:
        """Return an error at the line of a key."""
        line = _line_of(key, self.lines, self.place.line)
        return UsageError(message, place=Place(self.place.file, line), hint=hint)


def read_tables(path: str, names: Sequence[str], what: str) -> tuple[str, list[Table]]:
    """Read a file's text and its tables, in order. `what` describes the file in errors.

    Raises UsageError if the file cannot be read, is not TOML, or has anything but these tables.
    """
    try:
        content = read_file(Path(path), MOST_OF_LIST)
        text = content.decode("utf-8-sig")  # some editors write a byte order mark
    except (OSError, UnicodeDecodeError) as error:
        said = getattr(error, "strerror", None) or error
        raise UsageError(f"cannot read {path}: {said}", hint=f"{path} should be {what}") from None
    lines = lines_of(text)
    headers = " and ".join(f"[[{name}]]" for name in names)
    document = _parsed(text, path, f"{path} should be {what}: it has {headers} tables")
    for key, value in document.items():
        place = Place(path, _line_of(key, lines))
        if key not in names:
            hint = meant(key, names, f"the file has {headers} tables")
            raise UsageError(f"unknown key {key!r}", place=place, hint=hint)
        if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
            hint = f"write each entry under a line [[{key}]]"
            raise UsageError(f"{key!r} is not a table", place=place, hint=hint)
    return text, _tables(document, names, path, lines)


def lines_of(text: str) -> list[str]:
    """Split a text into lines as TOML does."""
    return text.replace("\r\n", "\n").removesuffix("\n").split("\n") if text else []


def _parsed(text: str, path: str, hint: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except RecursionError:
        said = "not readable as TOML: nested too deeply"
        raise UsageError(said, place=Place(path, 1), hint=hint) from None
    except ValueError as error:  # including a number that is too long
        said, at, where = str(error).partition(" (at ")
        found = re.match(r"line (\d+)", where)
        line = int(found[1]) if found else max(len(lines_of(text)), 1) if at else 1
        raise UsageError(f"not TOML: {said}", place=Place(path, line), hint=hint) from None


def _line_of(key: str, lines: Sequence[str], first: int = 1) -> int:
    spelled = re.compile(rf"\s*(\[+\s*)?[\"']?{re.escape(key)}[\"']?\s*[\].=]").match
    return next((number for number, line in enumerate(lines, first) if spelled(line)), first)


def _tables(
    document: Mapping[str, Any], names: Sequence[str], path: str, lines: list[str]
) -> list[Table]:
    header = re.compile(rf"\s*\[\[\s*({'|'.join(names)})\s*\]\]").match
    starts = [(at, found[1]) for at, line in enumerate(lines) if (found := header(line))]
    for name in names:
        if sum(n == name for _, n in starts) != len(document.get(name, [])):
            hint = f"write each entry under its own line [[{name}]]"
            raise UsageError(f"cannot locate the {name!r} entries",
                             place=Place(path, 1), hint=hint)  # fmt: skip
    entries = {name: iter(document.get(name, [])) for name in names}
    ends = [*(at for at, _ in starts), len(lines)][1:]
    return [
        Table(name, next(entries[name]), Place(path, start + 1), lines, end)
        for (start, name), end in zip(starts, ends, strict=True)
    ]


def _is_comment(line: str) -> bool:
    return line.lstrip().startswith("#")
