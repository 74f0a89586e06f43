"""Read edits of a chain of casts, as an optimiser makes them.

chain: {without: float}      # removes intermediate casts to these types
chain: {with: float32}       # inserts a cast to this type
chain: {of: uint16, through: {type: int32, beyond: wrap}}  # replaces casts to this type
chain: reordered             # permutes the intermediate types
chain: own                   # adds to another edit: casts are those of the backend, run alone
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations

from convcheck.rules.hop import Hop, read_hop
from convcheck.rules.model import DType
from convcheck.rules.source import Node
from convcheck.rules.types import Types

WITHOUT, WITH, OF, REORDERED, OWN = "without", "with", "of", "reordered", "own"
Link = str | Hop  # a type's name, for a cast by the rules; or the hop in its place
Links = tuple[Link, ...]


@dataclass(frozen=True)
class ChainEdit:
    """An edit of a chain's types."""

    #: WITHOUT, WITH, OF, REORDERED or OWN
    word: str
    #: the types to remove, to insert, or to hold in another way
    types: tuple[str, ...] = ()
    #: how the type is held
    through: Hop | None = None

    def edited(self, types: Sequence[Link]) -> Iterator[Links]:
        """Yield the edited chains, given the types from source to destination."""
        if self.word == OWN:  # the types stay
            return
        source, *middles, target = types
        if self.through:
            yield from self._held(types, self.through)
            return
        if self.word == WITH:
            [added] = self.types
            for i in range(len(types) - 1):
                if added not in types[i : i + 2]:
                    yield (*types[: i + 1], added, *types[i + 1 :])
            return
        for others in self._middles(tuple(middles)):
            yield source, *others, target

    def _held(self, types: Sequence[Link], hop: Hop) -> Iterator[Links]:
        """Yield chains that hold a type in another way, except the destination."""
        last = len(types) - 1
        for i, name in enumerate(types):
            same = isinstance(hop.type, DType) and hop.type.name == name
            if i and name in self.types and (same or i < last):
                yield (*types[:i], hop, *types[i + 1 :])

    def _middles(self, middles: Links) -> Iterator[Links]:
        if self.word == REORDERED:
            yield from (one for one in dict.fromkeys(permutations(middles)) if one != middles)
        else:
            left = [i for i, name in enumerate(middles) if name in self.types]
            for count in range(len(left)):
                for some in combinations(left, count + 1):
                    yield tuple(name for i, name in enumerate(middles) if i not in some)


def read_chain_edit(node: Node, types: Types) -> ChainEdit | None:
    """Return the chain edit of a cause, None if it has none."""
    found = node.get("chain")
    if found is None:
        return None
    if isinstance(found.value, str):
        return ChainEdit(found.word((REORDERED, OWN), "word"))
    if found.get(OF):
        found.only(OF, "through")
        named, hop = found.need(OF), read_hop(found.need("through"), types)
        if not isinstance(hop.type, DType):
            raise found.need("through").error("a chain goes through types", "through: int32")
        return ChainEdit(OF, (named.word(tuple(types.types), "type"),), hop)
    found.only(WITHOUT, WITH)
    if len(found.items()) != 1:
        raise found.error("a chain is edited in one way", f"{WITHOUT}, {WITH} or {OF}")
    [(word, name)] = found.items().items()
    if word == WITHOUT:
        return ChainEdit(WITHOUT, types.names(name))
    return ChainEdit(word, (name.word(tuple(types.types), "type"),))
