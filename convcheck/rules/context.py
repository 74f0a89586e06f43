"""Read levels and citations in the context of a spec file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from convcheck.rules.model import LEVELS, Cite, Level, Source
from convcheck.rules.source import Node
from convcheck.rules.types import Types
from convcheck.wording import meant


@dataclass(frozen=True)
class Context:
    """The parts of a spec that its rules refer to."""

    types: Types
    sources: Mapping[str, Source]
    #: source -> its sentence, for sources with a single one
    says: Mapping[str, str]
    #: foreign sentence -> English translation
    glosses: Mapping[str, str]
    #: attribute -> its values as written
    attributes: Mapping[str, tuple[str, ...]]


def read_level(node: Node) -> Level:
    """Read a level."""
    level: Level = node.word(LEVELS, "level")  # type: ignore[assignment]
    return level


def read_cite(node: Node, context: Context) -> Cite:
    """Read a citation: a sentence of the operator's text, or {of: source, says: sentence}.

    {of: source} alone takes the sentence from the source.
    """
    if isinstance(node.value, str):
        text, source = node.value, "text"
    else:
        node.only("of", "says")
        of = node.need("of")
        source = of.text()
        if source not in context.sources:
            raise of.error(f"unknown source {source!r}", meant(source, context.sources))
        says = node.get("says")
        text = says.text() if says else context.says[source]
    if not text.strip():
        raise node.error("an empty citation", "quote the sentence that the rule rests on")
    text = " ".join(text.split())
    return Cite(text, source, node.place, context.glosses.get(text, ""))
