"""YAML -> strings with places. No scalar is guessed at, nothing is executed, nothing is lost.

YAML's own typing turns `-0` into 0, `off` into False and `0x7e` into 126, and drops the first of
two equal keys; so every scalar stays the string that was written, duplicate keys are refused, and
so are tags and aliases, which a data file has no use for.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import yaml

from convcheck.errors import Place, SpecError, SpecFaultsError
from convcheck.files import MOST_OF_SPEC, read_text
from convcheck.wording import meant

T = TypeVar("T")
R = TypeVar("R")
_DEEPEST = 20
_LOADER = getattr(yaml, "CBaseLoader", yaml.BaseLoader)


@dataclass(frozen=True)
class Node:
    """A YAML value: a string, a list or a mapping of nodes, with the place it stands at."""

    value: str | list[Node] | dict[str, Node]
    place: Place
    #: Where each key of a mapping stands.
    keys: dict[str, Place] | None = None

    def text(self) -> str:
        """Return a scalar's string; raises SpecError for a list or mapping."""
        if not isinstance(self.value, str):
            raise self.error(f"expected a word, found a {self.kind}", "quote it if it is one")
        return self.value

    def items(self) -> dict[str, Node]:
        """Return a mapping's entries; raises SpecError for anything else."""
        if not isinstance(self.value, dict):
            raise self.error(f"expected a mapping, found a {self.kind}", "write {key: value}")
        return self.value

    def elements(self) -> list[Node]:
        """Return a list's entries; a single value is a list of one."""
        return self.value if isinstance(self.value, list) else [self]

    def listed(self, key: str) -> list[Node]:
        """Return the entries of the list under a key of a mapping, none where it is absent."""
        found = self.get(key)
        return found.elements() if found else []

    def integer(self) -> int:
        """Return a scalar as an integer. Raises SpecError for another word."""
        try:
            return int(self.text())
        except ValueError:
            raise self.error(
                f"expected a whole number, found {self.text()!r}", "write digits"
            ) from None

    def flag(self) -> bool:
        """Return whether a scalar is `yes`. Raises SpecError for what is not yes or no."""
        if self.text() not in ("yes", "no"):
            raise self.error(f"expected yes or no, found {self.text()!r}", "write yes or no")
        return self.text() == "yes"

    def word(self, allowed: tuple[str, ...], what: str) -> str:
        """Return a scalar. Raises SpecError where it is not one of the allowed words."""
        if self.text() not in allowed:
            raise self.error(f"unknown {what} {self.text()!r}", meant(self.text(), allowed))
        return self.text()

    @property
    def kind(self) -> str:
        """The YAML kind, in words."""
        return {str: "word", list: "list", dict: "mapping"}[type(self.value)]

    def error(self, message: str, hint: str = "") -> SpecError:
        """Return an error at this place."""
        return SpecError(message, place=self.place, hint=hint)

    def get(self, key: str) -> Node | None:
        """Return an entry of a mapping, None where it is absent."""
        return self.items().get(key)

    def need(self, key: str, hint: str = "") -> Node:
        """Return an entry of a mapping. Raises SpecError where it is absent."""
        found = self.get(key)
        if found is None:
            raise self.error(f"missing `{key}`", hint)
        return found

    def only(self, *allowed: str) -> None:
        """Refuse unknown keys of a mapping, so that a misspelled one is not ignored."""
        places = self.keys or {}
        refuse(
            SpecError(
                f"unknown key `{key}`", place=places.get(key, self.place), hint=meant(key, allowed)
            )
            for key in self.items()
            if key not in allowed
        )


def refuse(errors: Iterable[SpecError]) -> None:
    """Raise what is wrong, if anything is: each fault once, though several files may have it."""
    flat = [e for error in errors for e in getattr(error, "errors", (error,))]
    found = list({str(error): error for error in flat}.values())
    if found:
        raise found[0] if len(found) == 1 else SpecFaultsError(found)


def read_all(read: Callable[[T], R], things: Iterable[T]) -> tuple[R, ...]:
    """Return what is read of each thing. Raises SpecError for all that cannot be read."""
    found: list[R] = []
    errors: list[SpecError] = []
    for thing in things:
        try:
            found.append(read(thing))
        except SpecError as error:
            errors.append(error)
    refuse(errors)
    return tuple(found)


def read_yaml(path: Path, name: str, head: Collection[str] = ()) -> Node:
    """Return the root node of a YAML file; `name` is the file as places name it.

    With `head` the file is read no further than it takes to find these keys of the root, and the
    node has what was read. Raises SpecError with file and line for a file that cannot be read, a
    syntax error, a duplicate key, a tag, an anchor or an alias.
    """
    try:
        text = read_text(path, MOST_OF_SPEC)
    except (OSError, UnicodeDecodeError) as error:
        said = getattr(error, "strerror", None) or error
        raise SpecError(
            f"cannot be read: {said}", place=Place(name, 0), hint="a UTF-8 text file"
        ) from error
    return parse_yaml(text, name, head)


def parse_yaml(text: str, name: str, head: Collection[str] = ()) -> Node:
    """Return the root node of YAML text. Raises SpecError as `read_yaml` does."""
    try:
        return _root(yaml.parse(text, Loader=_LOADER), name, head)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 0
        problem = error.problem or str(error)
        raise SpecError(
            f"not YAML: {problem}",
            place=Place(name, line),
            hint="check brackets, quotes and indentation",
        ) from None
    except yaml.YAMLError as error:
        message = str(error).splitlines()[0]
        raise SpecError(
            f"not YAML: {message}",
            place=Place(name, 0),
            hint="check brackets, quotes and indentation",
        ) from None


def _root(events: Iterator[yaml.Event], name: str, head: Collection[str]) -> Node:
    next(events)  # the start of the stream
    if isinstance(next(events), yaml.StreamEndEvent):
        raise SpecError("the file is empty", place=Place(name, 1), hint="start with `op:`")
    start = next(events)
    if head and isinstance(start, yaml.MappingStartEvent):
        return _mapping(events, _place_of(start, name), 0, head)
    root = _node(start, events, name)
    next(events)  # the end of the document
    if not isinstance(more := next(events), yaml.StreamEndEvent):
        place = _place_of(more, name)
        raise SpecError("a second document", place=place, hint="one file, one spec: no `---`")
    return root


def _place_of(event: yaml.Event, name: str) -> Place:
    """Return where an event stands. Raises SpecError for an alias, an anchor and a tag."""
    place = Place(name, event.start_mark.line + 1 if event.start_mark else 0)
    if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
        raise SpecError(
            "anchors and aliases are not used in spec files",
            place=place,
            hint="write the value out, or quote it",
        )
    if tag := getattr(event, "tag", None):
        raise SpecError(
            f"tag {tag!r}: spec files are data and have no tags",
            place=place,
            hint="quote the value",
        )
    return place


def _node(event: yaml.Event, events: Iterator[yaml.Event], name: str, depth: int = 0) -> Node:
    """Return the node that starts with an event; the rest of it is taken from the events."""
    place = _place_of(event, name)
    if depth > _DEEPEST:
        raise SpecError("nested too deeply", place=place, hint="a spec needs a few levels")
    if isinstance(event, yaml.ScalarEvent):
        return Node(event.value, place)
    if isinstance(event, yaml.MappingStartEvent):
        return _mapping(events, place, depth)
    inner = _until(yaml.SequenceEndEvent, events)
    return Node([_node(item, events, name, depth + 1) for item in inner], place)


def _until(end: type[yaml.Event], events: Iterator[yaml.Event]) -> Iterator[yaml.Event]:
    while not isinstance(event := next(events), end):
        yield event


def _mapping(
    events: Iterator[yaml.Event], place: Place, depth: int, head: Collection[str] = ()
) -> Node:
    entries: dict[str, Node] = {}
    keys: dict[str, Place] = {}
    for event in _until(yaml.MappingEndEvent, events):
        at = _place_of(event, place.file)
        if not isinstance(event, yaml.ScalarEvent):
            raise SpecError("a key has to be a word", place=at, hint="key: value")
        key = event.value
        if key in entries:
            raise SpecError(
                f"duplicate key `{key}` (first in line {keys[key].line})",
                place=at,
                hint="keep one of them",
            )
        entries[key], keys[key] = _node(next(events), events, place.file, depth + 1), at
        if head and all(wanted in entries for wanted in head):
            break
    return Node(entries, place, keys)
