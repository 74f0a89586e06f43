"""What a case expects of many codes in a row, found out with few evaluations.

The codes are cut into tiles. Within a tile that does not cross a power of two of the source, a
rounding boundary of a destination stands at every multiple of some power of two of codes. Either
that is half a tile or more: then what is expected is constant but for the first code of a half.
Or it is less: then codes of all tiles of a binade differ by a constant, and one of them is
evaluated whole. Nothing is known here of any rule: the evaluator is asked at some codes of every
tile, and a tile that does not answer as one of the two is evaluated code by code.

That rests on what the case words declare of themselves, see `CaseWord`. Where a table has one of
the nature `grid`, some of the codes are as far from the first of each half as each power of two:
among them are those on the grid, wherever these stand close enough to be in the half. Where it has
one of a nature that is not known here, every code is evaluated. One of the codes is at a third of
the half: in binary it is 0101..., so that of results that wrap round within a half, rounded to
nearest, it has another than its ends have.

All that holds of tiles of any size, so wide ones are asked about first: where what is expected is
constant, as of most codes of a narrow destination, these are enough.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from convcheck.numerics.codec import decode
from convcheck.numerics.codes import Codes
from convcheck.numerics.format import Numeric
from convcheck.rules.hop import MAGNITUDE, WHOLE, Hop
from convcheck.semantics.evaluate import run_conversion
from convcheck.semantics.expected import Expected, Reading
from convcheck.semantics.program import Program
from convcheck.semantics.vocabulary import Nature

TILE = 1 << 13  # codes; of float32, a binade has 2^23
_WIDE = 8  # tiles in one that is asked about first
GRID: Nature = "grid"  # which the probes show at powers of two
SHOWN: frozenset[Nature] = frozenset(("special", "threshold", GRID))  # which they show
_FLAT, _NEITHER = 0, -1  # kinds of tiles, next to those that may be of one shape
Index = NDArray[np.intp]


@dataclass(frozen=True)
class Flat:
    """Codes from `first` up to `end` of which the same is expected: a pair (code, pattern) a
    reading.
    """

    first: int
    end: int
    #: The row that decides, by its number among the decisions.
    row: int
    #: (code, pattern) of each reading.
    outcomes: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Shaped:
    """Whole tiles of which other codes are expected by one pattern, per reading `shape + base`,
    modulo the size of the destination's storage: shapes of TILE codes, bases of a code a tile.
    """

    #: The first code.
    first: int
    #: The code after the last.
    end: int
    #: The row that decides, by its number among the decisions.
    row: int
    #: The pattern of each reading.
    patterns: tuple[int, ...]
    shapes: tuple[Codes, ...]
    bases: tuple[Codes, ...]


@dataclass(frozen=True)
class Literal:
    """Codes that have to be evaluated one by one."""

    #: The first code.
    first: int
    #: The code after the last.
    end: int


Stretch = Flat | Shaped | Literal
Piece = tuple[Stretch, int, int]  # a stretch, and what of it lies in a chunk


def outline(
    program: Program, source: Numeric, target: Numeric, first: int, count: int, tile: int = TILE
) -> list[Stretch]:
    """Describe what is expected of `count` codes from `first` on, both multiples of `tile`.

    The stretches stand in the order of the codes, and leave none out.
    """
    if program.computed:
        return program.computed.outline(first, count)
    natures = natures_of(program)
    if not natures <= SHOWN:
        return [Literal(first, first + count)]
    probes = partial(_Probes, program, source, target, GRID in natures)
    if (first | count) % (_WIDE * tile):
        return list(probes(first, count, tile).stretches())
    wide = probes(first, count, _WIDE * tile)
    found: list[Stretch] = []
    for flat, group in wide.flat_groups():
        begin, end = wide.ends(group)
        closer = wide.flats(group) if flat else probes(begin, end - begin, tile).stretches()
        _append(found, closer)
    return found


def in_chunks(
    stretches: Iterable[Stretch], first: int, end: int, size: int
) -> Iterator[list[Piece]]:
    """Yield the pieces of stretches that lie in each chunk of so many codes."""
    more = iter(stretches)
    stretch = next(more)
    for begin in range(first, end, size):
        at, stop, pieces = begin, begin + size, []
        while stretch.end < stop:
            if at < stretch.end:
                pieces.append((stretch, at, stretch.end))
                at = stretch.end
            stretch = next(more)
        pieces.append((stretch, at, stop))
        yield pieces


def _append(found: list[Stretch], more: Iterable[Stretch]) -> None:
    """Put stretches to others; the last of them may go on in the first that is new."""
    more = list(more)
    last, new = found[-1] if found else None, more[0]
    if isinstance(last, Flat) and new == replace(last, first=new.first, end=new.end):
        found[-1] = replace(last, end=new.end)
        del more[0]
    found.extend(more)


class _Probes:
    """The probes of consecutive tiles, [tile, probe], and what follows from them.

    `facts` are the row, and of each reading the code, and of each the pattern.
    """

    def __init__(
        self, program: Program, source: Numeric, target: Numeric, grid: bool,
        first: int, count: int, tile: int,
    ) -> None:  # fmt: skip
        self.program, self.source, self.target = program, source, target
        self.tile, half = tile, tile // 2
        powers = [1 << j for j in range(2, half.bit_length() - 1)] if grid else []
        probes = [0, 1, 2, *powers, half // 3, half - 1]
        self.half = len(probes)
        self.offsets = np.array(probes + [half + probe for probe in probes])
        self.starts = np.arange(first, first + count, tile, dtype=np.int64)
        self.probes = (self.starts[:, None] + self.offsets).astype(source.storage)
        found = self._expected(self.probes.reshape(-1))
        shape = self.probes.shape
        self.rows = found.rows.reshape(shape)
        self.codes = [_codes(r).reshape(shape) for r in found.readings]
        self.patterns = [r.patterns.reshape(shape) for r in found.readings]
        self.facts = (self.rows, *self.codes, *self.patterns)

    def _expected(self, codes: Codes) -> Expected:
        return run_conversion(self.program, self.source, self.target, codes)

    def stretches(self) -> Iterator[Stretch]:
        kinds = self._kinds()
        edges = np.flatnonzero(np.diff(kinds)) + 1
        for group in np.split(np.arange(len(kinds)), edges):
            if kinds[group[0]] == _FLAT:
                yield from self.flats(group)
            elif kinds[group[0]] == _NEITHER:
                yield Literal(*self.ends(group))
            else:
                yield from self._shaped(group)

    def flat_groups(self) -> Iterator[tuple[bool, Index]]:
        """Part the tiles into those that are flat, and those that are not, next to each other."""
        flat = self._flat()
        for group in np.split(np.arange(len(flat)), np.flatnonzero(np.diff(flat)) + 1):
            yield bool(flat[group[0]]), group

    def ends(self, group: Index) -> tuple[int, int]:
        return int(self.starts[group[0]]), int(self.starts[group[-1]]) + self.tile

    def _kinds(self) -> NDArray[np.int64]:
        """Return the same number from 1 on to tiles of one binade that may be of one shape."""
        x = decode(self.source, self.probes[:, [1, -1]].reshape(-1))
        binades = np.stack([x.sign.reshape(-1, 2), x.exponent.reshape(-1, 2)])
        steady = (binades[..., 0] == binades[..., 1]).all(axis=0)
        change = np.ones(len(steady), bool)
        change[1:] = (binades[:, 1:, 0] != binades[:, :-1, 0]).any(axis=0)
        for fact in (self.rows, *self.patterns):
            steady &= (fact == fact[:, :1]).all(axis=1)
            change[1:] |= fact[1:, 0] != fact[:-1, 0]
        return np.where(self._flat(), _FLAT, np.where(steady, np.cumsum(change), _NEITHER))

    def _flat(self) -> NDArray[np.bool_]:
        """Return in which tiles the same is expected at all probes of a half but its first code."""
        flat = np.ones(len(self.starts), bool)
        for fact in self.facts:
            halves = fact.reshape(len(fact), 2, -1)
            flat &= (halves[..., 2:] == halves[..., 1:2]).all(axis=(1, 2))
        return flat

    def flats(self, group: Index) -> Iterator[Flat]:
        """Join neighbours of which the same is expected: a tile is code 0, the rest of its first
        half, the code in the middle, and the rest.
        """
        parts = [0, 1, self.half, self.half + 1]
        starts = (self.starts[group][:, None] + self.offsets[parts]).reshape(-1)
        facts = [fact[group][:, parts].reshape(-1) for fact in self.facts]
        change = np.ones(len(starts), bool)
        change[1:] = np.any([fact[1:] != fact[:-1] for fact in facts], axis=0)
        index = np.flatnonzero(change)
        ends = np.append(starts[index[1:]], self.ends(group)[1])
        rows, *others = [fact[index].tolist() for fact in facts]
        readings = len(self.codes)
        pairs = [zip(others[r], others[readings + r], strict=True) for r in range(readings)]
        yield from map(Flat, starts[index].tolist(), ends.tolist(), rows, zip(*pairs, strict=True))

    def _shaped(self, group: Index) -> Iterator[Stretch]:
        """Hold the tiles of a binade against the first of them, which is evaluated whole."""
        first, end = self.ends(group)
        codes = np.arange(first, first + self.tile, dtype=np.int64)
        whole = self._expected(codes.astype(self.source.storage))
        same = [bool((r.patterns == r.patterns[0]).all()) for r in whole.readings]
        if not (all(same) and (whole.rows == whole.rows[0]).all()):
            yield Literal(first, end)
            return
        shapes = tuple(_codes(r) - _codes(r)[1] for r in whole.readings)
        good = np.ones(len(group), bool)
        for found, shape in zip(self.codes, shapes, strict=True):
            good &= (found[group] - found[group, 1:2] == shape[self.offsets]).all(axis=1)
        edges = np.flatnonzero(np.diff(good)) + 1
        for part, fits in zip(np.split(group, edges), good[[0, *edges]], strict=True):
            yield self._of_shape(part, shapes) if fits else Literal(*self.ends(part))

    def _of_shape(self, part: Index, shapes: tuple[Codes, ...]) -> Shaped:
        patterns = tuple(int(found[part[0], 0]) for found in self.patterns)
        bases = tuple(found[part, 1] for found in self.codes)
        return Shaped(*self.ends(part), int(self.rows[part[0], 0]), patterns, shapes, bases)


def _codes(reading: Reading) -> Codes:
    return np.asarray(reading.codes)


def natures_of(program: Program) -> frozenset[Nature]:
    """Return the natures of a program's case words, those of programs handed on to included."""
    own = {entry.test.nature for entry in program.entries if entry.test}
    steps = (step for entry in program.entries for step in entry.steps)
    inner = (_through(step.hop, natures_of(step.program)) for step in steps if step.program)
    return frozenset(own).union(*inner)


def _through(hop: Hop | None, natures: frozenset[Nature]) -> frozenset[Nature]:
    """Return the natures of words of what x went through. They stay as they are where that rises
    with x, and where it has one value beyond a power of two: no tile has codes on both sides. Where
    it wraps round, it is zero on a grid. Of other ways there is nothing to conclude.
    """
    if hop is None or (_is_plain(hop) and hop.beyond != "wrap"):
        return natures
    if not _is_plain(hop):
        return natures | {"isolated"}
    again: Mapping[Nature, Nature] = {"special": GRID}
    return frozenset(again.get(nature, "isolated") for nature in natures)


def _is_plain(hop: Hop) -> bool:
    """Return whether x goes through a type that has all of its numbers, or becomes whole."""
    if isinstance(hop.type, str):
        return hop.type in (WHOLE, MAGNITUDE)
    return not (hop.subnormals or hop.no_specials or hop.normal_only or hop.by_code)
