"""Send elements again: at other positions, in other lengths, at other addresses."""

import time
from collections.abc import Iterator
from functools import cached_property
from typing import cast

import numpy as np
from numpy.typing import NDArray

from convcheck.ask.again import (
    ALIGNMENT,
    UNREPEATABLE,
    AskingAgain,
    Items,
    Mask,
    OtherWay,
    WayDifference,
)
from convcheck.ask.elements import has_texts
from convcheck.backends.protocol import Outputs, Oversized, call_timeout
from convcheck.judge.answers import CHUNK, LARGE_CALLS, MANY_CALLS, Index
from convcheck.judge.digest import digest_of_pairs, digest_of_words
from convcheck.judge.matching import form_complaint
from convcheck.judge.ranges import joining, outermost
from convcheck.judge.result import Example, Word, entry_word
from convcheck.numerics.format import Text
from convcheck.records import replace
from convcheck.streams import plural
from convcheck.vectors.model import VectorSet

ROTATIONS = (1, 3, 7, 13, 31)
MISSING = (1, 3)
PIECES = (3, 7, 17, 33, 65)  # elements: tails of vectors of 4 to 64, with and without a body
OFFSETS = (1, 3, 7)
LARGE = 2 * CHUNK + 1  # elements: enough for a runtime to use several threads

POSITION, LENGTH = "position-dependent", "length-dependent"
THREADS = "threads"  # the option that is also tested with large tensors
_STEP = 8  # growth of the call that measures the pace
_PIECES, _TEXT_PIECES = 128, 8  # calls per length
# kind of a difference by the placement of the run; POSITION for all others
_PLACED = {
    **dict.fromkeys(("alone", "short", *LARGE_CALLS), LENGTH),
    **dict.fromkeys(("2-D", "3-D", "4-D"), "shape-dependent"),
    MANY_CALLS: UNREPEATABLE,
}


class ElementsAgain(AskingAgain[VectorSet]):
    """The answered elements of a case, or a sample; their second answers are the reference."""

    twice = ("bulk", "bulk again")

    @cached_property
    def pool(self) -> Index:
        """The elements to send."""
        return sample(self.asked, self.vectors.rows)

    def _ways(self) -> Iterator[OtherWay]:
        pool, before = self.pool, self.answers.got
        got = self._put(self.again, pool)
        if not isinstance(got, np.ndarray):
            self._add(self.again, pool, before[pool], got, np.full(len(pool), True))
            return
        self.reference[pool] = got
        yield replace(self.again, calls=(pool,))
        if not self.steady[pool].any():
            return
        self._recorded(POSITION, "bulk of all", pool, before[pool])
        elsewhere = replace(self.again, placement="other place")
        large = self._can_be_large(elsewhere)
        yield from self._places(elsewhere, large)
        random = any(found.way.kind == UNREPEATABLE for found in self.found)
        for other in self.answers.elsewhere:
            here = np.isin(other.index, pool)
            kind = UNREPEATABLE if random else _PLACED.get(other.placement, POSITION)
            self._recorded(kind, other.placement, other.index[here], other.got[here])
        yield from self._with_options(large)

    def _recorded(self, kind: str, words: str, index: Index, got: Items) -> None:
        """Compare earlier answers, which are not repeated, with the bulk."""
        due = self.reference[index]
        differs = self.steady[index] & self._differing(due, got)
        self._add(replace(self.again, kind=kind, other=words), index, due, got, differs)

    def _can_be_large(self, elsewhere: OtherWay) -> bool:
        """Whether a large call would beat its time-out, by the pace of smaller ones."""
        size = 0 if has_texts(self.vectors.case) else len(self.pool)
        while 0 < size < LARGE:
            begun = time.monotonic()
            got = self._put(elsewhere, np.resize(self.pool, size))
            if got is None or (time.monotonic() - begun) * _STEP**2 > call_timeout():
                return False
            size *= _STEP
        return size > 0

    def _places(self, elsewhere: OtherWay, large: bool) -> Iterator[OtherWay]:
        pool = self.pool

        def way(kind: str, words: str, *calls: Index, offset: int = 0) -> OtherWay:
            return replace(elsewhere, kind=kind, other=words, calls=calls, offset=offset)

        for by in dict.fromkeys((*ROTATIONS, len(pool) // 2)):
            if 0 < by < len(pool):
                words = f"rotated by {by}" if by in ROTATIONS else "rotated by half"
                yield way(POSITION, words, np.roll(pool, -by))
        for missing in MISSING:
            if missing < len(pool):
                yield way(LENGTH, f"all but the last {missing}", pool[:-missing])
        for length in PIECES:
            if length < len(pool):
                yield way(LENGTH, f"in pieces of {length}", *self._cut(length))
        if large:
            yield way(LENGTH, f"repeated to {LARGE:,} elements", np.resize(pool, LARGE))
        for offset in OFFSETS:
            words = f"{plural(offset, 'element')} into the buffer"
            yield way(ALIGNMENT, words, pool, offset=offset)

    def _cut(self, length: int) -> Iterator[Index]:
        calls = _TEXT_PIECES if has_texts(self.vectors.case) else _PIECES
        chosen = some(self.pool, length * calls)
        return (chosen[i : i + length] for i in range(0, len(chosen), length))

    def _with_options(self, large: bool) -> Iterator[OtherWay]:
        first: Items | None = None
        for name, way in self._options():
            yield replace(way, calls=(self.pool,))
            if name == THREADS and large:
                call = np.resize(self.pool, LARGE)
                if first is None:
                    got = self._put(replace(way, backend=self.backend), call)
                    first = got if isinstance(got, np.ndarray) else self.reference[call]
                yield replace(way, calls=(call,), due=first)

    def _plainly(self, way: OtherWay, before: tuple[Index, ...], index: Index) -> tuple[Index, ...]:
        return (self.pool,)

    def _read(self, answer: Outputs | Oversized, index: Index) -> Items | str:
        wrong = form_complaint(answer, self.vectors.case, index.shape)
        return f"{wrong[0]}: {wrong[1]}" if wrong else cast(Outputs, answer).arrays[0]

    def _differing(self, due: Items, got: Items) -> Mask:
        return np.asarray(got != due, bool)

    def _digest(self, index: Index, due: Items, got: Items, first: WayDifference) -> int:
        if first.silent:
            return digest_of_words((first.got[0],))
        return digest_of_pairs(self.vectors.inputs[0][index], got)

    def _example(self, difference: WayDifference, i: int) -> Example:
        element, way = int(difference.index[i]), difference.way
        inputs = tuple(entry_word(tensor[element]) for tensor in self.vectors.inputs)
        due, got = entry_word(difference.due[i]), entry_word(difference.got[i])
        came = f"nothing: {got}" if difference.silent else self._spelled(got)
        message = f"{way.one} gives {self._spelled(due)}, {way.other} gives {came}"
        return Example(inputs, due, None if difference.silent else got, message)

    def _spelled(self, word: Word) -> str:
        fmt = self.vectors.case.outputs[0].format
        if isinstance(word, str) or isinstance(fmt, Text):
            return repr(word)[:80]
        return f"0x{word:0{fmt.storage.itemsize * 2}x}"

    def _ranges(self, index: Index) -> tuple[tuple[tuple[Word, Word], ...], int]:
        inputs, asked = self.vectors.inputs[0], self.asked
        if inputs.dtype.hasobject:
            return (), 0
        runs = joining((int(i), int(i)) for i in np.searchsorted(asked, index))
        kept = outermost(list(runs))
        pairs = tuple((entry_word(inputs[asked[a]]), entry_word(inputs[asked[b]])) for a, b in kept)
        return pairs, len(runs) - len(kept)


def sample(pool: Index, rows: NDArray[np.int16]) -> Index:
    """Choose at most CHUNK of the pool, a share per row, in order. Deterministic."""
    if len(pool) <= CHUNK:
        return pool
    found = np.unique(rows[pool])
    members = (pool[rows[pool] == row] for row in found)
    return np.sort(np.concatenate([some(each, CHUNK // len(found)) for each in members]))


def some(pool: Index, count: int) -> Index:
    """Choose at most `count` of the pool, in order. Deterministic."""
    if len(pool) <= count:
        return pool
    return np.sort(np.random.default_rng(0).choice(pool, count, replace=False))
