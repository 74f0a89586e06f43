"""Read YAML as strings with places. Duplicate keys, tags and aliases are errors.

YAML's typing turns `-0` into 0, `off` into False and `0x7e` into 126.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import yaml

from convcheck.errors import Place, SpecError, SpecFaultsError
from convcheck.files import MOST_OF_SPEC, read_text
from convcheck.streams import meant

T = TypeVar("T")
R = TypeVar("R")
_DEEPEST = 20
_TOO_DEEP = "maximum nesting depth"  # from libyaml 0.2.6 on, after 1,000 levels
_LOADER = getattr(yaml, "CBaseLoader", yaml.BaseLoader)


@dataclass(frozen=True)
class Node:
    """A YAML value with its place."""

    value: "str | list[Node] | dict[str, Node]"
    place: Place
    keys: dict[str, Place] | None = None

    def text(self) -> str:
        """Return a scalar's string."""
        if not isinstance(self.value, str):
            raise self.error(f"expected a word, found a {self.kind}", "quote it if it is one")
        return self.value

    def items(self) -> "dict[str, Node]":
        """Return a mapping's entries."""
        if not isinstance(self.value, dict):
            raise self.error(f"expected a mapping, found a {self.kind}", "write {key: value}")
        return self.value

    def elements(self) -> "list[Node]":
        """Return a list's entries, or a single value."""
        return self.value if isinstance(self.value, list) else [self]

    def listed(self, key: str) -> "list[Node]":
        """Return a key's list, empty if absent."""
        return self.read(key, Node.elements, [])

    def words(self, key: str) -> tuple[str, ...]:
        """Return the words of a key's list, empty if absent."""
        return tuple(each.text() for each in self.listed(key))

    def entries(self, key: str) -> "dict[str, Node]":
        """Return a key's mapping, empty if absent."""
        return self.read(key, Node.items, {})

    def read(self, key: str, reader: "Callable[[Node], T]", default: R) -> T | R:
        """Apply a reader to a key's value, if present."""
        found = self.get(key)
        return default if found is None else reader(found)

    def says(self, key: str, word: str) -> bool:
        """Return whether a key is present; it allows one word."""
        return self.read(key, lambda value: bool(value.word((word,), "word")), False)

    def integer(self) -> int:
        """Return a scalar as an integer."""
        try:
            return int(self.text())
        except ValueError:
            said = f"expected a whole number, found {self.text()!r}"
            raise self.error(said, "write digits") from None

    def flag(self) -> bool:
        """Return whether a scalar is `yes`."""
        if self.text() not in ("yes", "no"):
            raise self.error(f"expected yes or no, found {self.text()!r}", "write yes or no")
        return self.text() == "yes"

    def word(self, allowed: tuple[str, ...], what: str) -> str:
        """Return an allowed word."""
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

    def get(self, key: str) -> "Node | None":
        """Return an entry, None if absent."""
        return self.items().get(key)

    def need(self, key: str, hint: str = "") -> "Node":
        """Return an entry that must be present."""
        found = self.get(key)
        if found is None:
            raise self.error(f"missing `{key}`", hint)
        return found

    def only(self, *allowed: str) -> None:
        """Refuse unknown keys."""
        places = self.keys or {}
        unknown = ((k, places.get(k, self.place)) for k in self.items() if k not in allowed)
        refuse(
            SpecError(f"unknown key `{key}`", place=place, hint=meant(key, allowed))
            for key, place in unknown
        )


def refuse(errors: Iterable[SpecError]) -> None:
    """Raise the distinct errors, if any."""
    flat = [e for error in errors for e in getattr(error, "errors", (error,))]
    found = list({str(error): error for error in flat}.values())
    if found:
        raise found[0] if len(found) == 1 else SpecFaultsError(found)


def read_all(read: Callable[[T], R], things: Iterable[T]) -> tuple[R, ...]:
    """Apply `read` to all things. Raises SpecError with all failures."""
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
    """Return a YAML file's root, with `head` read up to these keys."""
    return parse_yaml(yaml_text(path, name), name, head)


def yaml_text(path: Path, name: str) -> str:
    """Return a YAML file's text."""
    try:
        return read_text(path, MOST_OF_SPEC)
    except (OSError, UnicodeDecodeError) as error:
        said = getattr(error, "strerror", None) or error
        message = f"cannot be read: {said}"
        raise SpecError(message, place=Place(name, 0), hint="a UTF-8 text file") from error


def parse_yaml(text: str, name: str, head: Collection[str] = ()) -> Node:
    """Return the root of YAML text."""
    faults: list[SpecError] = []
    try:
        root = _Reader(yaml.parse(text, Loader=_LOADER), name, faults).root(head)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = Place(name, mark.line + 1 if mark else 0)
        faults.append(_syntax(error.problem or str(error), place))
    except yaml.YAMLError as error:
        faults.append(_syntax(str(error).splitlines()[0], Place(name, 0)))
    except SpecError as error:
        faults.append(error)
    refuse(faults)
    return root


def _syntax(problem: str, place: Place) -> SpecError:
    if _TOO_DEEP in problem:
        return _too_deep(place)
    hint = "check brackets, quotes and indentation"
    return SpecError(f"not YAML: {problem}", place=place, hint=hint)


def _too_deep(place: Place) -> SpecError:
    return SpecError("nested too deeply", place=place, hint="a spec needs a few levels")


@dataclass(frozen=True)
class _Reader:
    events: Iterator[yaml.Event]
    name: str
    faults: list[SpecError]

    def root(self, head: Collection[str]) -> Node:
        next(self.events)  # the start of the stream
        if isinstance(next(self.events), yaml.StreamEndEvent):
            place = Place(self.name, 1)
            raise SpecError("the file is empty", place=place, hint="start with `op:`")
        start = next(self.events)
        if head and isinstance(start, yaml.MappingStartEvent):
            return self._mapping(self._place(start), 0, head)
        root = self._node(start)
        next(self.events)  # the end of the document
        if not isinstance(more := next(self.events), yaml.StreamEndEvent):
            self._fault(self._place(more), "a second document", "one file, one spec: no `---`")
        return root

    def _fault(self, place: Place, message: str, hint: str) -> None:
        self.faults.append(SpecError(message, place=place, hint=hint))

    def _place(self, event: yaml.Event) -> Place:
        place = Place(self.name, event.start_mark.line + 1 if event.start_mark else 0)
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            said = "anchors and aliases are not used in spec files"
            self._fault(place, said, "write the value out, or quote it")
        if tag := getattr(event, "tag", None):
            said = f"tag {tag!r}: spec files are data and have no tags"
            self._fault(place, said, "quote the value")
        return place

    def _node(self, event: yaml.Event, depth: int = 0) -> Node:
        place = self._place(event)
        if depth > _DEEPEST:
            raise _too_deep(place)
        if isinstance(event, yaml.ScalarEvent):
            return Node(event.value, place)
        if isinstance(event, yaml.AliasEvent):
            return Node("", place)
        if isinstance(event, yaml.MappingStartEvent):
            return self._mapping(place, depth)
        inner = self._until(yaml.SequenceEndEvent)
        return Node([self._node(item, depth + 1) for item in inner], place)

    def _until(self, end: type[yaml.Event]) -> Iterator[yaml.Event]:
        while not isinstance(event := next(self.events), end):
            yield event

    def _mapping(self, place: Place, depth: int, head: Collection[str] = ()) -> Node:
        entries: dict[str, Node] = {}
        keys: dict[str, Place] = {}
        for event in self._until(yaml.MappingEndEvent):
            at = self._place(event)
            if not isinstance(event, yaml.ScalarEvent):
                raise SpecError("a key has to be a word", place=at, hint="key: value")
            key, value = event.value, self._node(next(self.events), depth + 1)
            if key in entries:
                said = f"duplicate key `{key}` (first on line {keys[key].line})"
                self._fault(at, said, "keep one of them")
                continue
            entries[key], keys[key] = value, at
            if head and not self.faults and all(wanted in entries for wanted in head):
                break
        return Node(entries, place, keys)
