"""A node -> an edit of a chain of casts: what an optimiser makes of it.

chain: {without: float32}    # the cast to it is left out
chain: {with: float32}       # one to it is put in between
chain: reordered             # the middles come in another order
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations

from convcheck.rules.source import Node
from convcheck.rules.types import Types

WITHOUT, WITH, REORDERED = "without", "with", "reordered"
Names = tuple[str, ...]


@dataclass(frozen=True)
class ChainEdit:
    """What becomes of the types of a chain."""

    #: WITHOUT, WITH or REORDERED.
    word: str
    #: The type that is left out or put in; '' where the types stay.
    type: str = ""

    def edited(self, types: Sequence[str]) -> Iterator[Names]:
        """Yield each chain that it makes of one, given by its types from source to destination."""
        source, *middles, target = types
        if self.word == WITH:
            for i in range(len(types) - 1):
                if self.type not in types[i : i + 2]:
                    yield (*types[: i + 1], self.type, *types[i + 1 :])
            return
        for others in self._middles(tuple(middles)):
            yield source, *others, target

    def _middles(self, middles: Names) -> Iterator[Names]:
        """Yield what becomes of the middles where none is added."""
        if self.word == REORDERED:
            yield from (one for one in dict.fromkeys(permutations(middles)) if one != middles)
        else:
            left = (i for i, name in enumerate(middles) if name == self.type)
            yield from (middles[:i] + middles[i + 1 :] for i in left)


def read_chain_edit(node: Node, types: Types) -> ChainEdit | None:
    """Return what a cause makes of chains, None where it says nothing of them."""
    found = node.get("chain")
    if found is None:
        return None
    if isinstance(found.value, str):
        return ChainEdit(found.word((REORDERED,), "word"))
    found.only(WITHOUT, WITH)
    if len(found.items()) != 1:
        raise found.error("a chain is edited in one way", f"{WITHOUT}, or {WITH}")
    [(word, name)] = found.items().items()
    return ChainEdit(word, name.word(tuple(types.types), "type"))
