"""Merge ranges of positions from several parts."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from convcheck.records import Record

Pair = tuple[int, int]

KEPT = 8  # ranges shown of a group, half of them from each end
_FEW = 64  # up to this number, all ranges become objects


class Ranges(Record, frozen=True):
    """Disjoint ranges that do not touch.

    `kept` are the lowest and highest of `count`, sorted. `loose` ranges end at the edge of the
    covered part and may continue in another. `count` excludes them.
    """

    kept: tuple[Pair, ...] = ()
    count: int = 0
    loose: tuple[Pair, ...] = ()

    def shown(self) -> tuple[tuple[Pair, ...], int]:
        """Return the outermost ranges, and the number left out between them."""
        kept = outermost(sorted((*self.kept, *self.loose)))
        return kept, self.count + len(self.loose) - len(kept)


def merged(parts: Iterable[Ranges], edges: frozenset[int]) -> Ranges:
    """Merge the ranges of disjoint parts.

    `edges` are the ends of everything covered. A range that ends there stays loose.
    """
    parts = list(parts)
    joined = joining(run for part in parts for run in part.loose)
    closed = [run for run in joined if not edges & set(run)]
    kept = [run for part in parts for run in part.kept]
    return Ranges(
        outermost(sorted([*kept, *closed])),
        sum(part.count for part in parts) + len(closed),
        tuple(run for run in joined if edges & set(run)),
    )


def joining(runs: Iterable[Pair]) -> tuple[Pair, ...]:
    """Sort ranges and join those that touch or overlap."""
    joined: list[Pair] = []
    for first, last in sorted(runs):
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(last, joined[-1][1]))
        else:
            joined.append((first, last))
    return tuple(joined)


def outermost(runs: list[Pair]) -> tuple[Pair, ...]:
    """Return the lowest and highest of sorted ranges."""
    return tuple(runs) if len(runs) <= KEPT else (*runs[: KEPT // 2], *runs[-KEPT // 2 :])


def ranges_of(at: NDArray[np.uint64], edges: frozenset[int]) -> Ranges:
    """Return the ranges of sorted positions, shape (n,), n > 0. `edges` are the ends covered."""
    cuts = np.flatnonzero(np.diff(at) != 1)
    firsts = np.concatenate([at[:1], at[cuts + 1]])
    lasts = np.concatenate([at[cuts], at[-1:]])
    chosen = np.arange(len(firsts))
    if len(firsts) > _FEW:
        outer = (chosen < KEPT) | (chosen >= len(firsts) - KEPT)
        loose = [np.isin(ends, list(edges)) for ends in (firsts, lasts)]
        chosen = chosen[outer | loose[0] | loose[1]]
    runs = tuple(zip(firsts[chosen].tolist(), lasts[chosen].tolist(), strict=True))
    some = merged([Ranges(loose=runs)], edges)
    return Ranges(some.kept, some.count + len(firsts) - len(chosen), some.loose)
