"""Samples of sources too wide to be asked whole: an endless sequence that any part can be cut from.

Sample i depends only on (source, target, seed, i), so pieces of any sizes, made in any order and
anywhere, are pieces of one sequence. The samples take turns, one of each in every four:

- a random value of a binade of the source; the binades, subnormal ones and zero included, rotate;
- a random boundary of the destination, a value or a midpoint, 0 to 2 source ulps to either side;
- a random bit pattern, so NaNs, infinities and what is far out of range too;
- a random boundary again, and a distance of up to 2^k ulps, k at eight scales from next to it to
  about as far as the next boundary: narrow destinations have so few boundaries that their nearest
  neighbours would come again and again.

The boundaries rotate through the destination's binades within reach of the source, and the end of
its range has turns of its own. Booleans and texts have no boundaries: there the first and the
third take turns.

The sequence is part of the corpus: whoever changes it raises GENERATOR in generate.py.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from convcheck.numerics.format import Codes, Float, Format, Int, Numeric
from convcheck.numerics.neighbours import signed, top
from convcheck.numerics.number import number_parts
from convcheck.vectors.binades import boundaries_of

U64 = NDArray[np.uint64]
_BLOCK = 1 << 15  # samples made at a time: what the work needs stays in the cache
_LEADING = 1 << 63
_WORD = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15
_BEYOND = 2  # binades past the end of a destination that still count as its own
_NEAR = 3  # distances of 0, 1 and 2 ulps
_SCALES = 8


class _Place(NamedTuple):
    """The numbers ``(lead + some of the bits of keep) * 2^(exponent - 63)``; zero has lead 0."""

    exponent: int
    lead: int
    keep: int


class _Row(NamedTuple):
    """How a sample comes of a random word r and another one, w; all but the sign in 64 bits.

    Its magnitude is ``((lead | r & keep) >> shift) + base``, which is the largest one of the
    source not above the number, moved by ``least + (w & spread)``, up or down.
    """

    lead: int
    keep: int
    shift: int
    base: int
    sign: int
    least: int
    spread: int


@dataclass(frozen=True, slots=True)
class _Turn:
    """The rows that the samples of one turn go through, as columns.

    The columns have length period + _BLOCK // 2 and begin again at the end, so that the rows of a
    block, in which there are two turns or more, are one slice. Of a column that is one number, the
    slices take no memory.
    """

    period: int
    columns: tuple[U64, ...]
    moves: bool


def samples(source: Numeric, target: Format, seed: int, first: int, count: int) -> Codes:
    """Return the samples `first` to ``first + count - 1``: source codes, shape (count,), in order.

    Besides the codes themselves it needs a few MB, whatever the count. Raises ValueError where
    `first` or `count` is negative.
    """
    if first < 0 or count < 0:
        raise ValueError(f"samples have no negative numbers: first {first}, count {count}")
    turns, keys = _turns(source, target), _keys(source, target, seed)
    codes = np.empty(count, source.storage)
    for start in range(0, count, _BLOCK):
        block = codes[start : start + _BLOCK]
        for turn, rows in enumerate(turns):
            skipped = (turn - first - start) % len(turns)
            part = block[skipped :: len(turns)]
            index = first + start + skipped
            part[:] = _part(source, rows, keys, index, len(turns), len(part))
    return codes


def _part(
    source: Numeric, turn: _Turn | None, keys: tuple[int, int], index: int, step: int, n: int
) -> Codes:
    """Samples `index`, ``index + step`` and so on, n of them, which all are of one turn."""
    random = _words(keys[0], index, step, n)
    if turn is None:
        random >>= np.uint64(64 - source.bits)
        return random.astype(source.storage)
    start = index // step % turn.period
    rows = (column[start : start + n] for column in turn.columns)
    lead, keep, shift, base, sign, least, spread = rows
    magnitude = random & keep
    magnitude |= lead
    magnitude >>= shift
    magnitude += base
    last = np.uint64(top(source))
    np.minimum(magnitude, last, out=magnitude)
    if turn.moves:
        _move(magnitude, _words(keys[1], index, step, n), least, spread, last)
    random &= sign
    if isinstance(source, Float) and source.signed:
        random >>= np.uint64(64 - source.bits)
        magnitude |= random
        return magnitude
    return signed(source, magnitude, random != 0)


def _move(magnitude: U64, random: U64, least: U64, spread: U64, last: np.uint64) -> None:
    """Move magnitudes, in place, by their distances, up or down at random, within 0 to last."""
    up = (random.view(np.int64) >> np.int64(63)).view(np.uint64)  # all bits or none
    random &= spread
    random += least
    down = random & ~up
    np.minimum(down, magnitude, out=down)
    magnitude -= down
    random &= up
    np.subtract(last, magnitude, out=up)
    np.minimum(random, up, out=random)
    magnitude += random


# Random words that depend on nothing but a key and an index -----------------------------------


def _keys(source: Numeric, target: Format, seed: int) -> tuple[int, int]:
    content = f"{source!r} {target!r} {seed}".encode()
    hashed = hashlib.blake2b(content, digest_size=16).digest()
    return int.from_bytes(hashed[:8], "little"), int.from_bytes(hashed[8:], "little")


def _words(key: int, index: int, step: int, n: int) -> U64:
    """The outputs `index`, ``index + step``, ... of splitmix64 (Steele, Lea and Flood, 2014)."""
    z = _states(step)[:n] + np.uint64((key + _GOLDEN * (index + 1)) & _WORD)
    high = z >> np.uint64(30)
    z ^= high
    z *= np.uint64(0xBF58476D1CE4E5B9)
    np.right_shift(z, np.uint64(27), out=high)
    z ^= high
    z *= np.uint64(0x94D049BB133111EB)
    np.right_shift(z, np.uint64(31), out=high)
    z ^= high
    return z


@cache
def _states(step: int) -> U64:
    """The states of splitmix64 from 0 on, so many steps apart, as many as a block needs."""
    return np.arange(_BLOCK, dtype=np.uint64) * np.uint64(_GOLDEN * step & _WORD)


# What the turns go through ----------------------------------------------------------------------


@lru_cache(maxsize=8)
def _turns(source: Numeric, target: Format) -> tuple[_Turn | None, ...]:
    """The turns of a pair; None is the one of the bit patterns."""
    own = _own_places(source)
    binades = _turn([_row(source, place, True) for place in own])
    if not isinstance(target, Float | Int):
        return binades, None
    exponents = {place.exponent for place in own if place.lead}
    zero = any(place.lead == 0 for place in own)
    wanted = _boundary_places(source, target)
    places = [p for p in wanted if (p.exponent in exponents if p.lead else zero)]
    rows = [_row(source, p, _takes_sign(source, target, p)) for p in places or own]
    near = [row._replace(least=distance) for distance in range(_NEAR) for row in rows]
    scattered = [_spread(row, scale) for scale in range(1, _SCALES + 1) for row in rows]
    return binades, _turn(near), None, _turn(scattered)


def _turn(rows: list[_Row]) -> _Turn:
    repeated = np.arange(len(rows) + _BLOCK // 2) % len(rows)
    columns = [np.array(column, np.uint64) for column in zip(*rows, strict=True)]
    columns = [
        np.broadcast_to(column[0], repeated.shape)
        if (column == column[0]).all()
        else column[repeated]
        for column in columns
    ]
    moves = any(row.least or row.spread for row in rows)
    return _Turn(len(rows), tuple(columns), moves)


def _row(source: Numeric, place: _Place, with_sign: bool) -> _Row:
    """Bring a place, whose exponent the source has, to the magnitudes of the source."""
    shift, base = 63 - place.exponent, 0
    if isinstance(source, Float):
        unit = max(place.exponent - source.mantissa, source.lowest_exponent)
        shift = 63 - (place.exponent - unit)
        base = (unit - source.lowest_exponent) << source.mantissa
        base -= 0 if source.zero else 1 << source.mantissa
    if place.lead == 0:
        shift, base = 0, 0
    sign = _LEADING if with_sign else 0
    return _Row(place.lead, place.keep, shift, base & _WORD, sign, 0, 0)


def _spread(row: _Row, scale: int) -> _Row:
    """Let the distance be up to 2^k - 1 ulps, at the last scale about that of two boundaries."""
    room = max(63 - row.shift - row.keep.bit_count(), 0) if row.lead else 1
    return row._replace(spread=(1 << -(-room * scale // _SCALES)) - 1)


def _takes_sign(source: Numeric, target: Float | Int, place: _Place) -> bool:
    """Below zero, an unsigned destination has boundaries next to it only, or those of wrapping."""
    near_zero = isinstance(target, Int) and place.exponent <= 0
    return target.signed or not isinstance(source, Float) or near_zero


def _binade(exponent: int, precision: int) -> _Place:
    """The numbers from 2^exponent to twice that with `precision` bits after the leading one."""
    bits = min(max(precision, 0), 63)
    return _Place(exponent, _LEADING, ((1 << bits) - 1) << (63 - bits))


def _points(values: Iterable[Fraction]) -> list[_Place]:
    """Places of one positive number each, cut at 64 bits: no source has more."""
    return [_Place(*number_parts(value)[:2], keep=0) for value in values]


_ZERO = _Place(0, 0, 0)


def _own_places(source: Numeric) -> list[_Place]:
    """Every binade of the source, and zero where it has one."""
    if not isinstance(source, Float):
        return [_ZERO, *(_binade(e, 63) for e in range(top(source).bit_length()))]
    lowest = source.lowest_exponent if source.zero else -source.bias
    binades = [_binade(e, 63) for e in range(lowest, source.highest_exponent + 1)]
    return [_ZERO, *binades] if source.zero else binades


def _boundary_places(source: Numeric, target: Float | Int) -> list[_Place]:
    """The boundaries of the destination, wherever the source may be."""
    if isinstance(target, Float):
        return _of_float(target)
    return _of_integer(target) if isinstance(source, Float) else _of_wrapping(target)


def _of_float(target: Float) -> list[_Place]:
    """Values and midpoints, one more mantissa bit, and those at the end of the range again."""
    finer, past, _ = boundaries_of(target)
    exponents = range(finer.lowest_exponent - _BEYOND, target.highest_exponent + _BEYOND + 1)
    binades = [_binade(e, finer.mantissa) for e in exponents]
    if target.zero:
        low = finer.lowest_exponent  # of the lowest midpoint, half the smallest value
        binades = [_binade(e, min(e - low, finer.mantissa)) for e in exponents[_BEYOND:]]
    return [_ZERO, *binades, *_points(finer.value(past + d) for d in (-2, -1, 0))]


def _of_integer(target: Int) -> list[_Place]:
    """Integers and the halves between, and those at the ends of the range again."""
    binades = [_binade(e, e + 1) for e in range(-1, target.bits + _BEYOND)]
    ends = [target.max + Fraction(d, 2) for d in range(4)]
    return [_ZERO, *binades, *_points(ends)]


def _of_wrapping(target: Int) -> list[_Place]:
    """For integer sources: the integers in range; past it multiples of half the modulus."""
    inside = int(target.max).bit_length()
    within = [_binade(e, e) for e in range(inside)]
    outside = [_binade(e, e - target.bits + 1) for e in range(inside, 64)]
    return [_ZERO, *within, *outside]
