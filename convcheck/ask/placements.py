"""In which shapes, lengths and positions elements are asked.

A vectorised kernel has different code for its body, its tail, short tensors and scalars. The
samples are irregular, so that no period in the inputs (a tie between its two neighbours) can hide
a kind of input from them, and the same in every run.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from itertools import accumulate, chain, pairwise

import numpy as np

from convcheck.judge.answers import CHUNK, Index
from convcheck.rules.model import Shapes

SHORT_LENGTHS = (7, 2, 5, 3, 6, 4)
ODD_TAILS = 4
FRONT = {2: (), 3: (3,), 4: (2, 3)}  # by rank, the dimensions before the last two
LEAST = 4 * 5  # elements in the last two dimensions
WITH_1 = {2: (1, 22), 3: (3, 1, 6), 4: (2, 1, 9, 1)}  # by rank: first, between others, last


@lru_cache(maxsize=8)
def calls(
    shapes: Shapes | None, told: bool, asked: bytes, usable: bytes, judged: bytes
) -> tuple[tuple[str, Index], ...]:
    """Return the calls of a case after those in bulk, each with its placement; the same objects for
    cases that are alike.

    The masks say, a byte an element, what may be asked at all, what may be asked with others, and
    what of that is to be judged. A case that is `told` the type of its output by an input has a
    sibling without that, which is asked in every length.
    """
    there, pool, due = (np.flatnonzero(np.frombuffer(m, bool)) for m in (asked, usable, judged))
    due = due if len(due) else pool
    due_there = due if len(due) else there
    scalars = shapes is None or 0 in shapes.ranks
    found: dict[str, Iterator[Index]] = {}
    if told:
        few = due_there[[0, len(due_there) // 2, -1]] if len(due_there) else due_there
        found["alone"] = alone(few, few, scalars)
    else:
        found["alone"] = alone(there, due_there, scalars)
        found["odd tail"] = odd_tails(pool, due)
        found["short"] = short(due)
    if shapes is None or 4 in shapes.ranks:
        found["4-D"] = shaped(pool, 4)
    for rank in WITH_1 if len(due) else ():
        if shapes is None or rank in shapes.ranks:
            found[f"{rank}-D"] = chain(found.get(f"{rank}-D", ()), with_1(due, rank))
    if len(pool) and (shapes is None or shapes.empty):
        found["empty"] = empty()
    made = tuple((placement, index) for placement, each in found.items() for index in each)
    for _, index in made:
        index.flags.writeable = False
    return made


def irregular_sample(pool: Index, count: int, start: int = 1) -> Index:
    """Choose about `count` of the pool, spread over it irregularly, in the pool's order."""
    return pool if len(pool) <= count else pool[_spread(len(pool), count, start)]


@lru_cache(maxsize=1024)
def _spread(size: int, count: int, start: int) -> Index:
    steps = np.arange(start, start + count, dtype=np.intp) * 610 % 987  # Fibonacci: golden ratio
    return np.unique(steps * size // 987)


def alone(pool: Index, judged: Index, scalars: bool = True) -> Iterator[Index]:
    """Ask a sample one by one: as a scalar, as a vector of one, and so on in turn."""
    chosen = np.concatenate(
        (pool[:1], pool[-1:], irregular_sample(pool, 2), irregular_sample(judged, 4, start=3))
    )
    for turn, element in enumerate(np.unique(chosen)):
        yield np.array(element if scalars and turn % 2 == 0 else [element], np.intp)


def odd_tails(pool: Index, judged: Index) -> Iterator[Index]:
    """Ask the pool rotated, in odd lengths unlike the pool's, each with another judged last.

    Of a large pool, only the first and the last chunk.
    """
    if len(pool) <= CHUNK:
        yield from _odd_tails(pool, judged, ODD_TAILS)
        return
    for part in (pool[:CHUNK], pool[-CHUNK:]):
        inside = judged[(judged >= part[0]) & (judged <= part[-1])]
        yield from _odd_tails(part, inside, ODD_TAILS // 2)


def _odd_tails(pool: Index, judged: Index, count: int) -> Iterator[Index]:
    longest = len(pool) - (2 if len(pool) % 2 else 1)
    for turn, last in enumerate(irregular_sample(judged, count)[:count]):
        length = longest - 2 * turn
        if length < 1:
            return
        place = int(np.searchsorted(pool, last))
        yield np.concatenate((pool[place + 1 :], pool[: place + 1]))[-length:]


def short(judged: Index) -> Iterator[Index]:
    """Ask a sample in tensors of two to seven elements."""
    chosen = irregular_sample(judged, sum(SHORT_LENGTHS), start=7)
    for begin, end in pairwise(accumulate(SHORT_LENGTHS, initial=0)):
        if len(chosen[begin:end]) > 1:
            yield chosen[begin:end]


def shaped(pool: Index, rank: int) -> Iterator[Index]:
    """Ask as much of the pool as fills a shape of the rank, of a small one some elements twice."""
    if len(pool):
        yield np.resize(pool, shape_of(rank, min(len(pool), CHUNK)))


def in_ranks(pool: Index, shapes: Shapes | None) -> Iterator[tuple[str, Index]]:
    """Ask in the ranks between, where they are supported."""
    for rank in (2, 3):
        if shapes is None or rank in shapes.ranks:
            yield from ((f"{rank}-D", index) for index in shaped(pool, rank))


def with_1(judged: Index, rank: int) -> Iterator[Index]:
    """Ask a sample in a shape with dimensions of 1, so that a kernel that drops them shows."""
    yield np.resize(irregular_sample(judged, math.prod(WITH_1[rank])), WITH_1[rank])


def shape_of(rank: int, size: int) -> tuple[int, ...]:
    """Return a shape of about so many elements whose dimensions are unequal and greater than one,
    so that one that is transposed or reversed shows.
    """
    room = max(size // math.prod(FRONT[rank]), LEAST)
    rows = math.isqrt(room)
    rows -= room // rows == rows
    return (*FRONT[rank], rows, room // rows)


def large(pool: Index, size: int) -> Index:
    """Return the pool again and again, each time in another order, so that loops over vectors and
    over threads are entered. The last time, it stands there as a whole.
    """
    return _large(pool.tobytes(), size)


@lru_cache(maxsize=4)  # cases that are alike come one after the other
def _large(memory: bytes, size: int) -> Index:
    pool, random = np.frombuffer(memory, np.intp), np.random.default_rng(0)
    order, turns = random.permutation(len(pool)), -(-size // len(pool))
    begins = random.integers(len(pool), size=(turns, 1))
    repeated: Index = np.concatenate((pool, pool))[begins + order].reshape(-1)
    repeated.flags.writeable = False
    return repeated[-size:]


def empty() -> Iterator[Index]:
    """Ask for nothing."""
    yield np.zeros(0, np.intp)


def parted(index: Index, together: tuple[tuple[int, ...], ...]) -> list[Index]:
    """Cut a call so that none of the sets of elements stands together in one piece."""
    pieces = [index]
    for culprits in together:
        pieces = [part for piece in pieces for part in _parted(piece, culprits)]
    return pieces


def _parted(piece: Index, culprits: tuple[int, ...]) -> list[Index]:
    if not np.isin(culprits, piece).all():
        return [piece]
    half = np.isin(piece, culprits[: len(culprits) // 2])
    return [piece[~half], piece[half]]
