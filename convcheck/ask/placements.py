"""The shapes, lengths and positions in which elements are sent.

A vectorised kernel has different code for its body, its tail, short tensors and scalars. Samples
are irregular, so that no period hides from them, and the same in every run.
"""

import math
from collections.abc import Iterable, Iterator
from itertools import accumulate, chain, pairwise

import numpy as np

from convcheck.judge.answers import CHUNK, Index
from convcheck.rules.model import Shapes

SHORT_LENGTHS = (7, 2, 5, 3, 6, 4)
ODD_TAILS = 4
FRONT = {2: (), 3: (3,), 4: (2, 3)}  # by rank, the dimensions before the last two
LEAST = 4 * 5  # minimum elements of the last two dimensions
WITH_1 = {2: (1, 22), 3: (3, 1, 6), 4: (2, 1, 9, 1)}  # by rank; 1 is first, between others, last


def calls(
    shapes: Shapes | None, told: bool, there: Index, pool: Index, judged: Index
) -> Iterator[tuple[str, Index]]:
    """Yield the calls of a case after the bulk, each with its placement.

    `there` are the elements to send at all, the `pool` is sent with others, and some are `judged`.
    If an input only tells (`told`) the output's type, a sibling without it has all lengths.
    """
    due = judged if len(judged) else pool
    due_there = due if len(due) else there
    scalars = shapes is None or 0 in shapes.ranks
    found: dict[str, Iterable[Index]] = {}
    if told:
        few = due_there[[0, len(due_there) // 2, -1]] if len(due_there) else due_there
        found["alone"] = alone(few, few, scalars)
    else:
        found["alone"] = alone(there, due_there, scalars)
        found["odd tail"] = odd_tails(pool, due)
        found["short"] = short(due)
    if shapes is None or 4 in shapes.ranks:
        found["4-D"] = shaped(pool, 4)
    for rank, shape in WITH_1.items() if len(due) else ():  # for kernels that drop these dimensions
        if shapes is None or rank in shapes.ranks:
            sample = np.resize(irregular_sample(due, math.prod(shape)), shape)
            found[f"{rank}-D"] = chain(found.get(f"{rank}-D", ()), [sample])
    if len(pool) and (shapes is None or shapes.empty):
        found["empty"] = [np.zeros(0, np.intp)]
    yield from ((placement, index) for placement, each in found.items() for index in each)


def irregular_sample(pool: Index, count: int, start: int = 1) -> Index:
    """Choose about `count` of the pool, irregularly spread, in order."""
    if len(pool) <= count:
        return pool
    steps = np.arange(start, start + count, dtype=np.intp) * 610 % 987  # Fibonacci: golden ratio
    return pool[np.unique(steps * len(pool) // 987)]


def alone(pool: Index, judged: Index, scalars: bool = True) -> Iterator[Index]:
    """Send a sample one by one, as scalars and vectors of one in turn."""
    chosen = np.concatenate(
        (pool[:1], pool[-1:], irregular_sample(pool, 2), irregular_sample(judged, 4, start=3))
    )
    for turn, element in enumerate(np.unique(chosen)):
        yield np.array(element if scalars and turn % 2 == 0 else [element], np.intp)


def odd_tails(pool: Index, judged: Index) -> Iterator[Index]:
    """Send the pool, or both ends of it, in odd lengths, each ending in another judged element."""
    parts = [pool] if len(pool) <= CHUNK else [pool[:CHUNK], pool[-CHUNK:]]
    for part in parts:
        longest, count = len(part) - (2 if len(part) % 2 else 1), ODD_TAILS // len(parts)
        inside = judged[np.isin(judged, part)]
        for turn, last in enumerate(irregular_sample(inside, count)[:count]):
            if (length := longest - 2 * turn) >= 1:
                place = int(np.searchsorted(part, last)) + 1
                yield np.concatenate((part[place:], part[:place]))[-length:]


def short(judged: Index) -> Iterator[Index]:
    """Send a sample in tensors of two to seven elements."""
    chosen = irregular_sample(judged, sum(SHORT_LENGTHS), start=7)
    for begin, end in pairwise(accumulate(SHORT_LENGTHS, initial=0)):
        if len(chosen[begin:end]) > 1:
            yield chosen[begin:end]


def shaped(pool: Index, rank: int) -> Iterator[Index]:
    """Send a shape of this rank, with the pool repeated if it is small."""
    if len(pool):
        yield np.resize(pool, shape_of(rank, min(len(pool), CHUNK)))


def shape_of(rank: int, size: int) -> tuple[int, ...]:
    """Return unequal dimensions above one for about `size` elements, which show a transposition."""
    room = max(size // math.prod(FRONT[rank]), LEAST)
    rows = math.isqrt(room)
    rows -= room // rows == rows
    return (*FRONT[rank], rows, room // rows)


def large(pool: Index, size: int) -> Index:
    """Return the pool repeated to `size`, each time rotated in a shuffled order, last whole."""
    random = np.random.default_rng(0)
    order, turns = random.permutation(len(pool)), -(-size // len(pool))
    begins = random.integers(len(pool), size=(turns, 1))
    repeated: Index = np.concatenate((pool, pool))[begins + order].reshape(-1)
    return repeated[-size:]


def parted(index: Index, together: tuple[tuple[int, ...], ...]) -> list[Index]:
    """Split a call so that none of the sets of elements is in one piece."""
    pieces = [index]
    for culprits in together:
        pieces = [part for piece in pieces for part in _parted(piece, culprits)]
    return pieces


def _parted(piece: Index, culprits: tuple[int, ...]) -> list[Index]:
    if not np.isin(culprits, piece).all():
        return [piece]
    half = np.isin(piece, culprits[: len(culprits) // 2])
    return [piece[~half], piece[half]]
