"""Read the spellings of texts."""

from __future__ import annotations

import re

from convcheck.rules.model import Spelling
from convcheck.rules.source import Node


def read_spellings(node: Node | None) -> dict[str, Spelling]:
    """Return the spellings. Raises SpecError for an invalid regular expression."""
    literals = {}
    for name, entry in node.items().items() if node else ():
        entry.only("matches", "such-as")
        matches = entry.need("matches")
        try:
            re.compile(matches.text())
        except re.error as error:
            raise matches.error(f"not a regular expression: {error}", "Python's syntax") from None
        samples = tuple(e.text() for e in entry.need("such-as").elements())
        literals[name] = Spelling(matches.text(), samples, entry.place)
    return literals
