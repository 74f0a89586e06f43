"""What a case expects of any code of a wide source, looked up where the destination is narrow.

The codes of a binade of the source are cut into tiles of one size: as few as it takes for the
same to be expected of all codes of a tile but its first one, which may be a boundary of the
destination. A *slot* is such a first code, or the rest of a tile: what is expected of its codes
depends on its number alone, which a few shifts find from the code. Where an integer wraps round,
no such tiles are found: there, a slot is what has the same low bits.

As for outlines, nothing is known here of any rule: the evaluator is asked at the first code of each
tile, and at the ends, the second and a third of the rest. That rests on what the case words declare
of themselves (see `CaseWord`). Binades for which neither way works have no slots, and their codes
are evaluated.

Where a word changes nothing but the level, by which row it is said, the rest of a tile is three
slots: the codes near its first one, as many near its end, and those between. How many are near is
one power of two for all tiles of a binade, and codes on both sides of every power of two are asked.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convcheck.numerics.codes import Codes
from convcheck.numerics.format import Float, Numeric
from convcheck.numerics.number import bit_length
from convcheck.semantics.evaluate import run_conversion
from convcheck.semantics.expected import Expected, Reading
from convcheck.semantics.outline import GRID, SHOWN, natures_of
from convcheck.semantics.program import Program
from convcheck.semantics.vocabulary import Nature

WIDEST = 16  # bits of a destination that has charts; those of wider ones would fill the memory
_MOST = 1 << 19  # tiles of one size, in all binades
LEVEL: Nature = "level"  # which changes rows near the ends of a tile
_EVEN, _NEAR = 1, 2  # a tile has 2^1 slots, or 2^2 where there are codes near its ends
_DEPTH = 8  # bits that the depth of a binade takes, and how many bits of a code are above its own
U64 = NDArray[np.uint64]
Slots = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Chart:
    """What is expected of every code of a source, by slots."""

    #: The source's format.
    source: Numeric
    #: The destination's format.
    target: Numeric
    #: Of each binade, by its number: its first slot, how many bits of 64 are above its own, and
    #: how many of those are the number of the tile.
    binades: U64
    #: Of each binade, how many codes of a tile are near its ends, None where that does not matter;
    #: times the power of two that makes 2^64 of all codes of the tile.
    near: U64 | None
    #: What is expected of each slot; the row is -1 where that is not known.
    expected: Expected

    def slots(self, codes: Codes) -> Slots:
        """Return the slot of each code, of shape (n,).

        Of a binade's own bits of a code, the highest are the number of the tile, and where another
        one is set, the code is not the first of the tile.
        """
        codes = codes.astype(np.uint64, copy=False)
        number = _binade(self.source, codes).view(np.intp)
        if self._tiles is None:
            slots, rest = self._by_own_bits(codes, number)
        else:
            slots, rest = self._by_upper_bits(codes, number, self._tiles)
        if self.near is None:
            slots += rest != 0
            return slots
        near = self.near.take(number)
        part = (rest != 0).view(np.uint8)
        part += rest > near
        part += rest >= np.negative(near, out=near)
        slots += part
        return slots

    def _by_upper_bits(self, codes: U64, number: Slots, tiles: Slots) -> tuple[Slots, U64]:
        """Return the first slot of each code's tile, and the code's place in the tile, times the
        power of two that makes 2^64 of all codes of it.
        """
        slots = tiles.take(number)
        shift = (slots & 63).view(np.uint64)
        tile = (codes >> shift).view(np.intp)
        rest = np.left_shift(codes, np.subtract(np.uint64(64), shift, out=shift), out=shift)
        tile <<= _EVEN if self.near is None else _NEAR
        slots >>= 6
        slots += tile
        return slots, rest

    @cached_property
    def _tiles(self) -> Slots | None:
        """Of each binade, how many bits of a code are its place in a tile, and, six bits up, what
        is added to the others, which are the numbers of binade and tile. None where the bits above
        those of the tile's number are not the binade's number: of integers, or where low bits tell.
        """
        first, above, depth = (field.view(np.intp) for field in self._fields)
        if not isinstance(self.source, Float):
            return None
        if (above[first > 0] != 64 - self.source.mantissa).any():
            return None
        number = np.arange(len(depth)) << depth
        apart = first - (number << (_EVEN if self.near is None else _NEAR))
        return (apart << 6) | (self.source.mantissa - depth)

    @property
    def _fields(self) -> tuple[U64, U64, U64]:
        """Of each binade, its first slot, the bits above its own, and those of a tile's number."""
        above = (self.binades >> _ABOVE) & _FIELD
        return self.binades >> _FIRST, above, self.binades & _FIELD

    def _by_own_bits(self, codes: U64, number: Slots) -> tuple[Slots, U64]:
        """Return the same where the bits above a binade's own say nothing."""
        slots = self.binades.take(number)
        depth = slots & _FIELD
        above = slots >> _ABOVE
        above &= _FIELD
        own = np.left_shift(codes, above, out=above)
        rest = own << depth
        own >>= np.subtract(np.uint64(64), depth, out=depth)
        own <<= np.uint64(_EVEN if self.near is None else _NEAR)
        slots >>= _FIRST
        slots += own
        return slots.view(np.intp), rest

    def in_order(self) -> tuple[U64, Slots] | None:
        """Return all slots of a float source in the order of the codes: the first code of each, and
        the slot. None where some codes have none, or a slot has codes of several places.
        """
        if not isinstance(self.source, Float) or self.near is not None:
            return None
        first, above, depth = self._fields
        if not (first.all() and (above == 64 - self.source.mantissa).all()):
            return None
        codes, slots = [], []
        for deep in np.unique(depth):
            number = np.flatnonzero(depth == deep)
            own = np.uint64(self.source.mantissa) - deep
            tile = np.arange(1 << int(deep), dtype=np.uint64)
            start = (number.astype(np.uint64) << np.uint64(self.source.mantissa))[:, None] + (
                tile << own
            )
            slot = first[number][:, None] + (tile << np.uint64(_EVEN))
            for part in range(2 if own else 1):
                codes.append((start + np.uint64(part)).reshape(-1))
                slots.append((slot + np.uint64(part)).reshape(-1))
        found, order = np.concatenate(codes), np.argsort(np.concatenate(codes))
        return found[order], np.concatenate(slots)[order].view(np.intp)


_FIELD, _ABOVE, _FIRST = np.uint64((1 << _DEPTH) - 1), np.uint64(_DEPTH), np.uint64(2 * _DEPTH)


def chart_of(program: Program, source: Numeric, target: Numeric) -> Chart | None:
    """Return the chart of a source, None where no code would be found in it."""
    if target.bits > WIDEST or not natures_of(program) <= SHOWN | {LEVEL}:
        return None
    return _latest.chart(program, source, target)


class _Latest:
    """The chart that was made last: the spans of a case are asked one after the other."""

    def __init__(self) -> None:
        self._made: tuple[Program, Chart] | None = None

    def chart(self, program: Program, source: Numeric, target: Numeric) -> Chart:
        """Make a chart, unless it is that."""
        if self._made is not None:
            of, made = self._made
            if of is program and (made.source, made.target) == (source, target):
                return made
        self._made = program, _Making(program, source, target).chart()
        return self._made[1]


_latest = _Latest()


def _binade(source: Numeric, codes: U64) -> U64:
    """Return the number of each code's binade: of a float, sign and exponent field; else the
    number of bits that tell a code from those that are all 0, or all 1.
    """
    if isinstance(source, Float):
        return codes >> np.uint64(source.mantissa)
    if not source.signed:
        return bit_length(codes).astype(np.uint64)
    below = codes >> np.uint64(source.bits - 1)
    number = bit_length(codes ^ (below * np.uint64(source.mask))).astype(np.uint64)
    number += below * np.uint64(source.bits)
    return number


def _every_binade(source: Numeric) -> tuple[U64, U64]:
    """Return the first code of each binade, and how many bits of a code are its own."""
    if isinstance(source, Float):
        numbers = np.arange(1 << (source.bits - source.mantissa), dtype=np.uint64)
        return numbers << np.uint64(source.mantissa), np.full_like(numbers, source.mantissa)
    lengths = np.arange(source.bits + (not source.signed), dtype=np.uint64)
    ends = np.uint64(1) << lengths  # 0 for the last one of 64 bits
    firsts = np.where(lengths == 0, np.uint64(0), np.uint64(1) << (lengths - np.uint64(1)))
    widths = np.maximum(lengths, np.uint64(1)) - np.uint64(1)
    if not source.signed:
        return firsts, widths
    below = np.uint64(source.mask) - (ends - np.uint64(1))
    return np.concatenate([firsts, below]), np.concatenate([widths, widths])


class _Making:
    """The slots found so far."""

    def __init__(self, program: Program, source: Numeric, target: Numeric) -> None:
        self.program, self.source, self.target = program, source, target
        natures = natures_of(program)
        self.grid, self.levels = GRID in natures, LEVEL in natures
        self.parts = 1 << (_NEAR if self.levels else _EVEN)
        self.firsts, self.widths = _every_binade(source)
        self.binades, self.near = np.zeros_like(self.firsts), np.zeros_like(self.firsts)
        unknown = self._expected(np.zeros(self.parts, np.uint64))
        self.found = [replace(unknown, rows=np.full_like(unknown.rows, -1))]
        self.count = self.parts  # the first ones are those of codes that have to be evaluated

    def chart(self) -> Chart:
        """Look for the fewest tiles of each binade."""
        left, depth = np.arange(len(self.firsts)), 0
        while len(left) and len(left) << depth <= _MOST:
            left = self._in_tiles(left, depth)
            if depth == 0:
                left = self._by_low_bits(left)
            depth += 1
        near = self.near if self.levels else None
        return Chart(self.source, self.target, self.binades, near, _joined(self.found))

    def _in_tiles(self, binades: Slots, depth: int) -> Slots:
        """Give slots to the binades of which 2^depth tiles are enough; return the others."""
        own = self.widths[binades, None] - np.uint64(depth)
        starts = self.firsts[binades, None] + (np.arange(1 << depth, dtype=np.uint64) << own)
        size = np.uint64(1) << own
        offsets = _mirrored(size) if self.levels else _offsets(size, self.grid)
        probes = starts[..., None] + offsets[:, None]
        found = self._expected(probes)
        rows, *others = _facts(found, probes.shape)
        good, near = _of_one_level(rows) if self.levels else (_even(rows), np.zeros(len(rows)))
        for fact in others:
            good &= _even(fact)
        # the first code, that after it, one in the middle and the last one
        chosen = [0, 1, probes.shape[-1] // 2, -1][: self.parts]
        slots = np.arange(probes.size).reshape(probes.shape)[good][..., chosen]
        self.near[binades[good]] = np.uint64(1) << (
            64 - own[good, 0] + near[good].astype(np.uint64)
        )
        apart = np.arange(len(slots)) * (self.parts << depth)
        self._give(binades[good], apart, self.widths[binades[good]], depth)
        self._keep(found.take(slots.reshape(-1)))
        return binades[~good]

    def _by_low_bits(self, binades: Slots) -> Slots:
        """Give slots to the binades in which the low bits tell, and return the others.

        One period is evaluated whole. Where a row of another number decides what is below zero,
        there is a second one.
        """
        depth = self.target.bits
        wide = binades[self.widths[binades] > depth]
        left = binades
        while len(wide):
            period = self._expected(self.firsts[wide[0]] + np.arange(1 << depth, dtype=np.uint64))
            same = self._repeat(period, wide, depth)
            if not same.any():
                break
            self._give(wide[same], np.array(0), np.uint64(depth), depth)
            self._keep(period.take(np.repeat(np.arange(1 << depth), self.parts)))
            left, wide = np.setdiff1d(left, wide[same]), wide[~same]
        return left

    def _repeat(self, period: Expected, wide: Slots, depth: int) -> NDArray[np.bool_]:
        """Return which binades repeat a period: by one row, what comes of them is the same at
        every power of two only where it is the same at all.
        """
        probes = self.firsts[wide, None] + _offsets(np.uint64(1) << self.widths[wide, None], True)
        at = (probes & np.uint64((1 << depth) - 1)).view(np.int64)
        same = np.full(len(wide), bool((period.rows == period.rows[0]).all()))
        found = _facts(self._expected(probes), probes.shape)
        for fact, due in zip(found, _facts(period, (1 << depth,)), strict=True):
            same &= (fact == due[at]).all(axis=1)
        return same

    def _give(self, binades: Slots, apart: Slots, width: U64 | np.uint64, depth: int) -> None:
        """Note the slots of binades, which come next and are as far from them as that."""
        first = (self.count + apart).astype(np.uint64)
        above = np.uint64(64) - width
        self.binades[binades] = (first << _FIRST) | (above << _ABOVE) | np.uint64(depth)

    def _keep(self, slots: Expected) -> None:
        self.found.append(slots)
        self.count += len(slots)

    def _expected(self, codes: U64) -> Expected:
        bits = codes.reshape(-1).astype(self.source.storage)
        return run_conversion(self.program, self.source, self.target, bits)


def _offsets(size: U64, powers: bool) -> U64:
    """Return what is looked at of tiles of these sizes, of shape (n, 1): the first code, the two
    next ones, one at a third and the last; and where asked for, those at powers of two.

    With that after the first one, the second next tells where every code has another result.
    """
    one, last = np.ones_like(size), size - np.uint64(1)
    few = [one - one, one, one + one, np.maximum(size // np.uint64(3), one), last]
    few += [one << np.uint64(k) for k in range(64 if powers else 0)]
    offsets: U64 = np.concatenate(few, axis=1)
    np.minimum(offsets, last, out=offsets)
    return offsets


def _mirrored(size: U64) -> U64:
    """Return what is looked at where levels are told apart: the first code, the next one, those on
    both sides of every power of two, one at a third, and the same from the end.
    """
    third = np.maximum(size // np.uint64(3), np.uint64(1))
    powers = np.uint64(1) << np.arange(62, dtype=np.uint64)
    sides = np.stack([powers, powers + np.uint64(1)], axis=-1).reshape(-1)
    within = np.repeat(powers, 2) <= size // np.uint64(4)
    from_start = np.concatenate([np.ones_like(size), np.where(within, sides, third)], axis=1)
    from_end = size - from_start[:, ::-1]
    offsets: U64 = np.concatenate([size ^ size, from_start, third, from_end], axis=1)
    np.minimum(offsets, size - np.uint64(1), out=offsets)
    return offsets


def _even(fact: NDArray[np.integer[Any]]) -> NDArray[np.bool_]:
    """Return in which binades a fact is the same in each tile, but of its first code."""
    return np.asarray((fact[..., 2:] == fact[..., 1:2]).all(axis=(1, 2)))


def _of_one_level(rows: NDArray[np.integer[Any]]) -> tuple[NDArray[np.bool_], NDArray[np.intp]]:
    """Return in which binades the row of a tile is one near its ends and one between, given the
    rows of mirrored offsets; and which power of two of codes is near.
    """
    change = (rows[..., 2:] != rows[..., 1:-1]).any(axis=1)
    half = change.shape[1] // 2
    change = change[:, :half] | change[:, : half - 1 : -1]
    after = change[:, 1::2]  # between a power of two and the code after it
    fits = ~change[:, ::2].any(axis=1) & (after.sum(axis=1) <= 1)
    return fits, after.argmax(axis=1)


def _facts(expected: Expected, shape: tuple[int, ...]) -> list[NDArray[np.integer[Any]]]:
    """Return the row, and of each reading the codes and the patterns, in a shape."""
    facts: list[NDArray[np.integer[Any]]] = [expected.rows]
    for reading in expected.readings:
        facts += [np.asarray(reading.codes), reading.patterns]
    return [fact.reshape(shape) for fact in facts]


def _joined(parts: list[Expected]) -> Expected:
    """Return what is expected of the slots of several binades, one after the other."""
    readings = tuple(
        Reading(
            np.concatenate([part.readings[r].codes for part in parts]),
            np.concatenate([part.readings[r].patterns for part in parts]),
        )
        for r in range(len(parts[0].readings))
    )
    return Expected(np.concatenate([p.rows for p in parts]), parts[0].decisions, readings)
