"""Read what runtimes promise about their graphs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from convcheck.errors import Place
from convcheck.rules.attributes import Context, read_cite
from convcheck.rules.load import GRAPHS, data_dir, read_sources
from convcheck.rules.source import Node, read_yaml
from convcheck.rules.types import Types


@dataclass(frozen=True)
class Promise:
    """A promise of a runtime about its graphs in some settings."""

    #: backend option -> values
    when: tuple[tuple[str, tuple[str, ...]], ...]
    #: whether casts may be removed; otherwise graphs equal their nodes run one by one
    leaves_out: bool
    #: the type that may hold intermediate floats, or ''
    floats_as: str
    #: the quoted sentence
    text: str
    #: title and section, with the date of access
    document: str
    place: Place

    @property
    def is_free(self) -> bool:
        """Whether a graph may differ from its nodes run one by one."""
        return self.leaves_out or bool(self.floats_as)

    def holds_of(self, setting: Sequence[tuple[str, str]]) -> bool:
        """Return whether the promise applies to a setting."""
        given = dict(setting)
        return all(given.get(name) in values for name, values in self.when)


def promises_of(backend: str, types: Types) -> tuple[Promise, ...]:
    """Return the promises of a backend's runtime. Raises SpecError."""
    folder = data_dir("specs") / GRAPHS
    nodes = (
        read_yaml(path, f"specs/{GRAPHS}/{path.name}") for path in sorted(folder.glob("*.yaml"))
    )
    return tuple(p for node in nodes for p in _promises(node, types)
                 if node.need("backend").text() == backend)  # fmt: skip


def _promises(node: Node, types: Types) -> Iterator[Promise]:
    node.only("backend", "sources", "settings")
    sources, says = read_sources(node.need("sources"))
    context = Context(types, sources, says, {}, {})
    for entry in node.listed("settings"):
        entry.only("when", "leaves-out", "floats-as", "cite")
        when = entry.need("when").items().items()
        cite = read_cite(entry.need("cite"), context)
        source = sources[cite.source]
        yield Promise(
            tuple((name, tuple(v.text() for v in values.elements())) for name, values in when),
            entry.says("leaves-out", "casts"),
            entry.read("floats-as", lambda held: held.word(tuple(types.types), "type"), ""),
            cite.text,
            f"{source.title}, {source.section}",
            entry.place,
        )
