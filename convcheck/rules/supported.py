"""Read the pairs of types and the shapes that a text supports."""

from __future__ import annotations

from convcheck.rules.context import Context, read_cite
from convcheck.rules.model import PairList, Pairs, Shapes, TypeNames
from convcheck.rules.source import Node, refuse
from convcheck.wording import meant


def read_pairs(node: Node | None, context: Context) -> Pairs | None:
    """Return the supported pairs. Raises SpecError for unknown names.

    Format: `{when: {ATTRIBUTE: VALUES}, cite: SENTENCE, listed: {SOURCE: [DESTINATION, ...]}}`, or
    a list of these, with `only: yes` in each to skip other pairs.
    """
    if node is None:
        return None
    lists = node.elements()
    flags = [one.get("only") for one in lists]
    only = all(flag is not None and flag.flag() for flag in flags)
    return Pairs(tuple(_pair_list(one, context) for one in lists), only)


def _pair_list(node: Node, context: Context) -> PairList:
    node.only("when", "cite", "only", "listed")
    rows = node.need("listed", "source -> its destinations")
    listed = {
        source: TypeNames(context.types.names(targets)) for source, targets in rows.items().items()
    }
    known = context.types.types
    refuse(
        rows.error(f"unknown type {source!r}", meant(source, known))
        for source in rows.items()
        if source not in known
    )
    return PairList(
        _values(node.get("when"), context), listed, read_cite(node.need("cite"), context)
    )


def _values(node: Node | None, context: Context) -> tuple[tuple[str, frozenset[str]], ...]:
    if node is None:
        return ()
    node.only(*context.attributes)
    return tuple(
        (name, frozenset(e.word(context.attributes[name], "value") for e in values.elements()))
        for name, values in node.items().items()
    )


def read_shapes(shape: Node, context: Context) -> Shapes | None:
    """Return the supported shapes: `supported: {ranks: [1, 2], empty: no, cite: SENTENCE}`.

    Raises SpecError for an invalid rank.
    """
    shape.only("cite", "supported")
    node = shape.get("supported")
    if node is None:
        return None
    node.only("ranks", "empty", "cite")
    ranks = frozenset(e.integer() for e in node.need("ranks").elements())
    empty = node.need("empty", "whether a tensor may have no elements: yes or no").flag()
    return Shapes(ranks, empty, read_cite(node.need("cite"), context))
