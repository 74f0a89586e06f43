"""The shortest list of globs that matches some cases and no other."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from convcheck.gate.glob_match import Index

_PARTS = re.compile(r"([/=-])")
_KEPT = frozenset(("", "to"))  # words that are no choice of the case


def globs_of(wanted: Sequence[str], free: frozenset[str], index: Index) -> tuple[str, ...]:
    """Return globs that match the wanted ids and no other of the index but `free` ones, in order.

    Each is made of the first id that none has matched so far, with '*' for the words (version,
    types, attribute values) that bring most of the others in.
    """
    allowed = free.union(wanted)
    left = dict.fromkeys(wanted)
    chosen: list[str] = []
    while left:
        wider = _wider(next(iter(left)), allowed, index)
        found = [(glob, index.candidates(glob)) for glob in wider]
        glob = min(found, key=lambda g: (-len(g[1] & left.keys()), g[0].count("*"), g[0]))[0]
        chosen.append(glob)
        for name in index.matches(glob):
            left.pop(name, None)
    return tuple(_needed(chosen, frozenset(wanted), index))


def _wider(name: str, allowed: frozenset[str], index: Index) -> Iterator[str]:
    """Return the id, and with '*' for some of its words what matches none but the allowed.

    A glob that matches too much does so with one more '*', too.
    """
    parts = _PARTS.split(name)
    axes = [i for i in range(2, len(parts), 2)
            if parts[i] not in _KEPT and parts[i + 1 : i + 2] != ["="]]  # fmt: skip
    yield name
    fitting: list[tuple[int, ...]] = [()]
    while fitting:
        longer = [(*stars, a) for stars in fitting for a in axes if not stars or a > stars[-1]]
        fitting = []
        for stars in longer:
            glob = "".join("*" if i in stars else part for i, part in enumerate(parts))
            if index.candidates(glob) <= allowed:
                fitting.append(stars)
                yield glob


def _needed(globs: list[str], wanted: frozenset[str], index: Index) -> list[str]:
    """Leave out globs whose cases the others match."""
    kept = {glob: index.matches(glob) & wanted for glob in globs}
    for glob in globs:
        others = frozenset[str]().union(*(m for g, m in kept.items() if g != glob))
        if kept[glob] <= others:
            del kept[glob]
    return list(kept)
