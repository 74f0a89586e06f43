"""Requirement sets: named, frozen sets of cases with a date."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path

from convcheck.errors import UsageError
from convcheck.rules.cases import cases
from convcheck.rules.load import REQUIREMENTS, Catalog, files_in
from convcheck.rules.model import Case
from convcheck.rules.source import Node, read_all, read_yaml
from convcheck.streams import meant


@dataclass(frozen=True)
class Requirements:
    """A set of cases that a backend is held to."""

    name: str
    title: str
    date: str
    members: Mapping[str, str]  # case id -> a cause that the case catches
    node: Node

    @cached_property
    def digest(self) -> str:
        """A hash of the members, in hexadecimal: a published set keeps it."""
        lines = (f"{case} {cause}\n" for case, cause in self.members.items())
        return sha256("".join(lines).encode()).hexdigest()

    def cases(self, catalog: Catalog) -> tuple[list[Case], int]:
        """Return the cases, and how many others their specs have. Raises SpecError."""
        specs = dict.fromkeys(name.partition("/")[0] for name in self.members)
        known = {c.id: c for s in specs if s in catalog.specs for c in cases(catalog.specs[s])}
        listed = self.node.need("cases").items()
        for name in self.members:
            if name not in known:
                raise listed[name].error(f"no case {name}", meant(name, known))
        return [known[name] for name in self.members], len(known) - len(self.members)


def requirements_of(catalog: Catalog) -> dict[str, Requirements]:
    """Return a catalogue's requirement sets by name."""
    found = read_all(lambda each: _read(*each), files_in(catalog, REQUIREMENTS))
    return {one.name: one for one in found}


def _read(path: Path, shown: str) -> Requirements:
    node = read_yaml(path, shown)
    node.only("title", "date", "sha256", "cases")
    title, date = (node.need(key).text() for key in ("title", "date"))
    members = {case: cause.text() for case, cause in node.need("cases").items().items()}
    made = Requirements(path.stem, title, date, members, node)
    given = node.need("sha256", f"of this set: {made.digest}")
    if given.text() != made.digest:
        hint = f"a published set never changes: make a new one; a new one has {made.digest}"
        raise given.error("the cases are not those of this sha256", hint)
    return made


def named_requirements(catalog: Catalog, name: str) -> Requirements:
    """Return a set by name. Raises UsageError."""
    if name not in (known := requirements_of(catalog)):
        raise UsageError(f"no requirement set {name!r}", hint=meant(name, known))
    return known[name]


def check_requirements(catalog: Catalog, causes: Mapping[str, object]) -> None:
    """Raise SpecError for an unknown case or cause of a set."""
    for one in requirements_of(catalog).values():
        one.cases(catalog)
        for case, cause in one.members.items():
            if cause not in causes:
                node = one.node.need("cases").items()[case]
                raise node.error(f"no cause {cause!r} in the catalogue", meant(cause, causes))
