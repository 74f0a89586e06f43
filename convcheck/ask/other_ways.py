"""The ways in which elements are asked again that have to give the same bits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

from convcheck.judge.answers import CHUNK, Index
from convcheck.numerics.format import Bits

ROTATIONS = (1, 3, 7, 13, 31)
MISSING = (1, 3)
PIECES = (3, 7, 17, 33, 65)  # elements: tails of vectors of 4 to 64, with and without a body
OFFSETS = (1, 3, 7)
LARGE = 2 * CHUNK + 1  # elements: so many that runtimes share them out among threads

POSITION, LENGTH, ALIGNMENT = "position-dependent", "length-dependent", "alignment-dependent"


@dataclass(frozen=True)
class Way:
    """Calls that ask elements another time. A difference that they show is of the `kind`.

    The inputs begin `offset` elements after the start of their buffers.
    """

    kind: str
    words: str
    calls: tuple[Index, ...]
    offset: int = 0


def sample(pool: Index, rows: NDArray[np.int16]) -> Index:
    """Choose at most CHUNK of the pool, the same every time, in order: of each row its share."""
    if len(pool) <= CHUNK:
        return pool
    found = np.unique(rows[pool])
    members = (pool[rows[pool] == row] for row in found)
    return np.sort(np.concatenate([some(each, CHUNK // len(found)) for each in members]))


def some(pool: Index, count: int) -> Index:
    """Choose at most `count` of the pool, the same every time, in order."""
    if len(pool) <= count:
        return pool
    return np.sort(np.random.default_rng(0).choice(pool, count, replace=False))


def ways(pool: Index, pieces: int, large: bool) -> Iterator[Way]:
    """Yield the ways to ask a pool, with at most so many pieces a length; `large`: repeated too."""
    for by in dict.fromkeys((*ROTATIONS, len(pool) // 2)):
        if 0 < by < len(pool):
            words = f"rotated by {by}" if by in ROTATIONS else "rotated by half"
            yield Way(POSITION, words, (np.roll(pool, -by),))
    for missing in MISSING:
        if missing < len(pool):
            yield Way(LENGTH, f"all but the last {missing}", (pool[:-missing],))
    for length in PIECES:
        if length < len(pool):
            yield Way(LENGTH, f"in pieces of {length}", _cut(pool, length, pieces))
    if large:
        yield Way(LENGTH, LARGE_WORDS, (repeated(pool),))
    for offset in OFFSETS:
        plural = "s" * (offset > 1)
        yield Way(ALIGNMENT, f"{offset} element{plural} into the buffer", (pool,), offset)


LARGE_WORDS = f"repeated to {LARGE:,} elements"


def repeated(pool: Index) -> Index:
    """Repeat a pool to LARGE elements."""
    return np.resize(pool, LARGE)


def at_offset(tensor: Bits, offset: int) -> Bits:
    """Copy a tensor, of any shape, into a buffer in which it begins so many elements after the
    start; of no offset, give it as it is.
    """
    if not offset:
        return tensor
    buffer = np.empty(tensor.size + offset, tensor.dtype)
    buffer[offset:] = tensor.reshape(-1)
    return cast(Bits, buffer[offset:].reshape(tensor.shape))


def _cut(pool: Index, length: int, pieces: int) -> tuple[Index, ...]:
    chosen = some(pool, length * pieces)
    return tuple(chosen[i : i + length] for i in range(0, len(chosen), length))
