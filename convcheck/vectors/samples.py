"""Sample sources that are too wide for all codes: an endless sequence with random access.

Sample i depends only on (source, target, seed, i). Four kinds alternate:

- a random value in a binade of the source, cycling through all binades and zero;
- a random boundary of the destination, 0 to 2 source ulps to either side;
- a random bit pattern;
- a random boundary plus up to 2^k ulps, at eight scales up to half the distance to the next.

For booleans and texts, only the first and third alternate.
"""

import hashlib
from collections.abc import Iterable, Iterator
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from convcheck.numerics.format import Float, Format, Int, Numeric, text_of_format
from convcheck.numerics.number import Codes, mix, number_parts
from convcheck.numerics.order import top
from convcheck.vectors.inputs import boundaries_of

SEQUENCE = 2  # increment when the samples change
U64 = NDArray[np.uint64]
_BLOCK = 1 << 15  # samples that fit the CPU cache
_LEADING = 1 << 63
_WORD = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15
_STATES = np.arange(_BLOCK, dtype=np.uint64) * np.uint64(_GOLDEN)
_BEYOND = 2  # binades past a destination, as its own
_NEAR = (0, 1, -1, 0, 2, -2)  # ulps from a boundary
_SCALES = 8


class _Place(NamedTuple):
    """The numbers ``(lead + some of the bits of keep) * 2^(exponent - 63)``. Zero has lead 0."""

    exponent: int
    lead: int
    keep: int


class _Row(NamedTuple):
    """A recipe: the code is ``(r & mask) + start`` for a random word r."""

    mask: int
    start: int


def samples(source: Numeric, target: Format, seed: int, first: int, count: int) -> Codes:
    """Return samples from `first` on: codes, shape (count,)."""
    if first < 0 or count < 0:
        raise ValueError(f"samples have no negative numbers: first {first}, count {count}")
    codes = np.empty(count, source.storage)
    masks, starts = _rows(source, target)
    content = f"{text_of_format(source)} {text_of_format(target)} {seed}".encode()
    key = int.from_bytes(hashlib.blake2b(content, digest_size=8).digest(), "little")
    at = 0
    while at < len(codes):
        begin = (first + at) % len(masks)
        end = min(begin + min(_BLOCK, len(codes) - at), len(masks))
        here = codes[at : at + end - begin]
        words = here if here.dtype == np.uint64 else np.empty(len(here), np.uint64)
        _put_words(words, key, first + at)
        words &= masks[begin:end]
        words += starts[begin:end]
        if source.bits < 8 * words.itemsize:  # a negative sum is a code as well
            words &= np.uint64((1 << source.bits) - 1)
        if words is not here:
            here[:] = words
        at += len(here)
    return codes


def _put_words(z: U64, key: int, index: int) -> None:
    """Fill z with splitmix64 (Steele, Lea and Flood, 2014) from `index` on."""
    np.add(_STATES[: len(z)], np.uint64((key + _GOLDEN * (index + 1)) & _WORD), out=z)
    mix(z)


@lru_cache(maxsize=8)
def _rows(source: Numeric, target: Format) -> list[U64]:
    turns = list(_turns(source, target))
    length = -(-max(map(len, turns)) // len(turns[0])) * len(turns[0])
    rows = [turn[i % len(turn)] for i in range(length) for turn in turns]
    rows *= -(-_BLOCK // len(rows))
    return [np.array(column, np.uint64) for column in zip(*rows, strict=True)]


def _turns(source: Numeric, target: Format) -> Iterator[list[_Row]]:
    own = _own_places(source)
    patterns = [_Row((1 << source.bits) - 1, 0)]
    yield _signed(source, [(_row(source, place, 0), True) for place in own])
    if not isinstance(target, Float | Int):
        yield patterns
        return
    exponents = {place.exponent for place in own if place.lead}
    zero = any(place.lead == 0 for place in own)
    if isinstance(target, Float):
        wanted = _of_float(target)
    else:
        wanted = _of_integer(target) if isinstance(source, Float) else _of_wrapping(target)
    places = [p for p in wanted if (p.exponent in exponents if p.lead else zero)] or own
    # an unsigned destination's boundaries below zero are next to it, or from wrapping
    always = target.signed or not isinstance(source, Float)
    signs = [always or (isinstance(target, Int) and place.exponent <= 0) for place in places]
    rows = [_row(source, place, 0) for place in places]
    near = [(_moved(source, row, ulps), s)
            for ulps in _NEAR for row, s in zip(rows, signs, strict=True)]  # fmt: skip
    yield _signed(source, near)
    yield patterns
    scattered = [(_row(source, place, scale), s) for scale in range(1, _SCALES + 1)
                 for place, s in zip(places, signs, strict=True)]  # fmt: skip
    yield _signed(source, scattered)


def _row(source: Numeric, place: _Place, scale: int) -> _Row:
    if place.lead == 0:
        return _moved(source, _Row(1 if scale else 0, 0), 0)
    shift, base = 63 - place.exponent, 0
    if isinstance(source, Float):
        unit = max(place.exponent - source.mantissa, source.lowest_exponent)
        shift = 63 - (place.exponent - unit)
        base = (unit - source.lowest_exponent) << source.mantissa
        base -= 0 if source.zero else 1 << source.mantissa
    room = max(63 - shift - place.keep.bit_count(), 0)
    spread = 1 << -(-room * scale // _SCALES)
    kept = _Row((place.keep >> shift) | (spread - 1), (place.lead >> shift) + base)
    return _moved(source, kept, -(spread // 2))


def _moved(source: Numeric, row: _Row, by: int) -> _Row:
    mask, last = row.mask, top(source)
    while row.start + mask > last:  # a source may lack part of the last binade
        mask ^= 1 << (mask.bit_length() - 1)
    return _Row(mask, max(min(row.start + by, last - mask), 0))


def _signed(source: Numeric, rows: list[tuple[_Row, bool]]) -> list[_Row]:
    if not source.signed:
        return [row for row, _ in rows]
    if isinstance(source, Float):
        return [_Row(r.mask | source.sign_bit * signed, r.start) for r, signed in rows]
    below = [_Row(r.mask, -(r.start + r.mask) & _WORD) for r, signed in rows if signed]
    return [row for row, _ in rows] + below


def _binade(exponent: int, precision: int) -> _Place:
    bits = min(max(precision, 0), 63)
    return _Place(exponent, _LEADING, ((1 << bits) - 1) << (63 - bits))


def _points(values: Iterable[Fraction]) -> list[_Place]:
    return [_Place(*number_parts(value)[:2], keep=0) for value in values]


_ZERO = _Place(0, 0, 0)


def _own_places(source: Numeric) -> list[_Place]:
    if not isinstance(source, Float):
        return [_ZERO, *(_binade(e, 63) for e in range(top(source).bit_length()))]
    lowest = source.lowest_exponent if source.zero else -source.bias
    binades = [_binade(e, 63) for e in range(lowest, source.highest_exponent + 1)]
    return [_ZERO, *binades] if source.zero else binades


def _of_float(target: Float) -> list[_Place]:
    finer, past, _ = boundaries_of(target)
    exponents = range(finer.lowest_exponent - _BEYOND, target.highest_exponent + _BEYOND + 1)
    binades = [_binade(e, finer.mantissa) for e in exponents]
    if target.zero:
        low = finer.lowest_exponent  # the lowest midpoint: half the smallest value
        binades = [_binade(e, min(e - low, finer.mantissa)) for e in exponents[_BEYOND:]]
    return [_ZERO, *binades, *_points(finer.value(past + d) for d in (-2, -1, 0))]


def _of_integer(target: Int) -> list[_Place]:
    binades = [_binade(e, e + 1) for e in range(-1, target.bits + _BEYOND)]
    ends = [target.max + Fraction(d, 2) for d in range(4)]
    return [_ZERO, *binades, *_points(ends)]


def _of_wrapping(target: Int) -> list[_Place]:
    inside = int(target.max).bit_length()
    within = [_binade(e, e) for e in range(inside)]
    outside = [_binade(e, e - target.bits + 1) for e in range(inside, 64)]
    return [_ZERO, *within, *outside]
