"""TOML files of tables such as [[known]], with the line of every table and key."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomli

from convcheck.errors import Place, UsageError
from convcheck.files import MOST_OF_LIST, read_file
from convcheck.wording import meant


@dataclass(frozen=True)
class Table:
    """One [[table]] of a file: what it says, and where it stands.

    Its lines are cut out of the file's when they are wanted: of a long list, few are.
    """

    name: str
    #: What each key has, as TOML reads it.
    values: Mapping[str, Any]
    place: Place  # of the header
    #: All lines of the file.
    around: Sequence[str]
    #: How many lines of the file stand above the next table.
    end: int

    @property
    def lines(self) -> tuple[str, ...]:
        """Its lines as written, the header's first, without the next table's comment."""
        lines = self.around[self.place.line - 1 : self.end]
        end = len(lines)
        while end > 1 and (not lines[end - 1].strip() or _is_comment(lines[end - 1])):
            end -= 1
        return tuple(lines[:end])

    @property
    def lead(self) -> int:
        """How many comment lines stand right above the header."""
        first = start = self.place.line - 1
        while first and _is_comment(self.around[first - 1]):
            first -= 1
        return start - first

    @property
    def last(self) -> int:
        """The number of the table's last line."""
        return self.place.line + len(self.lines) - 1

    @property
    def span(self) -> str:
        """Where it stands: known.toml:12-24."""
        return f"{self.place.file}:{self.place.line}-{self.last}"

    def wrong(self, key: str, message: str, hint: str = "") -> UsageError:
        """Return the error of a key, with the key's line."""
        spelled = re.compile(rf"\s*[\"']?{re.escape(key)}[\"']?\s*[=.]")
        found = (i for i, line in enumerate(self.lines) if spelled.match(line))
        place = Place(self.place.file, self.place.line + next(found, 0))
        return UsageError(message, place=place, hint=hint)


def read_tables(path: str, names: Sequence[str], what: str) -> tuple[str, list[Table]]:
    """Read a file's text and its tables, in the order of the file; `what` says what it should be.

    Raises UsageError for a file that cannot be read, is no TOML, or has anything but these tables.
    """
    try:
        content = read_file(Path(path), MOST_OF_LIST)
        text = content.decode("utf-8-sig")  # some editors begin with a mark
    except (OSError, UnicodeDecodeError) as error:
        said = getattr(error, "strerror", None) or error
        raise UsageError(f"cannot read {path}: {said}", hint=f"{path} should be {what}") from None
    headers = " and ".join(f"[[{name}]]" for name in names)
    hint = f"{path} should be {what}: it has {headers} tables"
    document = _parsed(text, path, hint)
    _only(document, names, path, text)
    return text, _tables(document, names, path, lines_of(text))


def lines_of(text: str) -> list[str]:
    """Cut a text into lines as TOML does, without their ends."""
    return text.replace("\r\n", "\n").removesuffix("\n").split("\n") if text else []


def _parsed(text: str, path: str, hint: str) -> dict[str, Any]:
    try:
        return tomli.loads(text)
    except RecursionError:
        said = "not readable as TOML: nested too deeply"
        raise UsageError(said, place=Place(path, 1), hint=hint) from None
    except ValueError as error:  # of a number that is too long, too
        message = str(error)
        found = re.search(r" \(at (?:line (\d+), column \d+|end of document)\)", message)
        number = found[1] if found else None
        line = int(number) if number else max(len(lines_of(text)), 1) if found else 1
        said = message[: found.start()] if found else message
        raise UsageError(f"not TOML: {said}", place=Place(path, line), hint=hint) from None


def _only(document: Mapping[str, Any], names: Sequence[str], path: str, text: str) -> None:
    """Refuse what is not one of the tables."""
    headers = " and ".join(f"[[{name}]]" for name in names)
    for key, value in document.items():
        if key not in names:
            hint = meant(key, names, f"the file has {headers} tables")
            raise UsageError(f"unknown key {key!r}", place=_line_of(key, path, text), hint=hint)
        if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
            said = f"{key!r} is not a table"
            hint = f"write each entry under a line [[{key}]]"
            raise UsageError(said, place=_line_of(key, path, text), hint=hint)


def _line_of(key: str, path: str, text: str) -> Place:
    spelled = re.compile(rf"\s*(\[+\s*)?[\"']?{re.escape(key)}\b")
    lines = enumerate(lines_of(text), 1)
    return Place(path, next((number for number, line in lines if spelled.match(line)), 1))


def _tables(
    document: Mapping[str, Any], names: Sequence[str], path: str, lines: list[str]
) -> list[Table]:
    header = re.compile(rf"\s*\[\[\s*({'|'.join(names)})\s*\]\]").match
    found = [(number, header(line)) for number, line in enumerate(lines) if "[[" in line]
    starts = [(number, match[1]) for number, match in found if match]
    for name in names:
        if sum(n == name for _, n in starts) != len(document.get(name, [])):
            hint = f"write each entry under a line [[{name}]] of its own, and nowhere else"
            raise UsageError(f"cannot tell the lines of the {name!r} entries",
                             place=Place(path, 1), hint=hint)  # fmt: skip
    entries = {name: iter(document.get(name, [])) for name in names}
    ends = [*(number for number, _ in starts), len(lines)][1:]
    return [
        Table(name, next(entries[name]), Place(path, start + 1), lines, end)
        for (start, name), end in zip(starts, ends, strict=True)
    ]


def _is_comment(line: str) -> bool:
    return line.lstrip().startswith("#")


def check_keys(table: Table, required: Sequence[str], optional: Sequence[str]) -> None:
    """Refuse keys that are unknown or missing. Raises UsageError."""
    known = (*required, *optional)
    for key in table.values:
        if key not in known:
            hint = meant(key, known, f"[[{table.name}]] has {', '.join(known)}")
            raise table.wrong(key, f"unknown key {key!r} in [[{table.name}]]", hint)
    missing = [key for key in required if key not in table.values]
    if missing:
        said = f"[[{table.name}]] has no {' and no '.join(map(repr, missing))}"
        raise UsageError(said, place=table.place)


def text_of(table: Table, key: str, hint: str = "") -> str:
    """Return a text, '' where there is none. Raises UsageError for anything else."""
    value = table.values.get(key, "")
    if not isinstance(value, str):
        raise table.wrong(key, f"{key!r} is not a text in quotes", hint)
    return value


def texts_of(table: Table, key: str, hint: str = "") -> tuple[str, ...]:
    """Return a text or a list of texts as a tuple, () where there is none. Raises UsageError."""
    value = table.values.get(key, [])
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list) or not all(isinstance(t, str) and t for t in texts):
        raise table.wrong(key, f"{key!r} is not a text or a list of texts", hint)
    if key in table.values and not texts:
        raise table.wrong(key, f"{key!r} is empty", hint)
    return tuple(texts)
