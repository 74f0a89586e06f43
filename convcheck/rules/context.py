"""What every part of a spec file is read with: its types, sources and attributes; citations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from convcheck.rules.model import LEVELS, Cite, Level, Source
from convcheck.rules.source import Node
from convcheck.rules.types import Types
from convcheck.wording import meant


@dataclass(frozen=True)
class Context:
    """What a rule needs to know of its spec."""

    types: Types
    #: The documents by key.
    sources: Mapping[str, Source]
    #: Source -> its sentence, where only one sentence of it is cited.
    says: Mapping[str, str]
    #: Sentence in another language -> the same in English.
    glosses: Mapping[str, str]
    #: Attribute -> its values as written.
    attributes: Mapping[str, tuple[str, ...]]


def read_level(node: Node) -> Level:
    """Read a level."""
    level: Level = node.word(LEVELS, "level")  # type: ignore[assignment]
    return level


def read_cite(node: Node, context: Context) -> Cite:
    """Read a citation: a sentence of the operator's text, or {of: source, says: sentence}.

    Of {of: source} alone it is what the source says, as a quotation or as a paraphrase.
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
