"""Add inputs so that every few exponents of a source are tested.

A shift count modulo 32 or 64, or an exponent cut to eight bits, fails in a window of a few
exponents far outside the destination's range.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from convcheck.numerics.format import Float, Format, Int, Numeric, Text
from convcheck.numerics.number import Codes, Numbers, is_negative, normalised
from convcheck.numerics.order import at, each_once, signed

Binades = list[tuple[int, int]]  # (first magnitude, number of magnitudes)
BEYOND = 2  # binades past max that the grid covers, at the destination's precision


def boundaries_of(target: Float) -> tuple[Float, int, int]:
    """Return the format of the boundaries, its magnitude past max, and the last of the grid."""
    finer = replace(target, mantissa=target.mantissa + 1, nan="none", infinity=False)
    past = (target.max_magnitude + 1) << 1
    return finer, past, min(past + (BEYOND << finer.mantissa), 2**64 - 1)


def binades_of(finer: Float, last: int) -> Binades:
    """Return (first magnitude, number of magnitudes) of each binade, subnormal ones included."""
    size = 1 << finer.mantissa
    normal = [(start, size) for start in range(size if finer.zero else 0, last, size)]
    subnormal = [(1 << k, 1 << k) for k in range(finer.mantissa)] if finer.zero else []
    return subnormal + normal


def within_reach(source: Numeric, finer: Float, binades: Binades) -> Binades:
    """Return the binades in which the source has values."""
    least = source.value(int(source.zero)) if isinstance(source, Float) else Fraction(1)
    most = max(source.max, -source.min)

    def beginning(binade: tuple[int, int]) -> Fraction:
        return finer.value(binade[0])

    first = max(bisect_right(binades, least, key=beginning) - 1, 0)
    return binades[first : max(bisect_right(binades, most, key=beginning), first + 1)]


_MANY = 512  # binades; more than any source of up to 32 bits has
_WINDOW = 4  # adjacent binades outside the range, at most one of them without a value
_NEAR = 64  # binades; a count modulo 64 shows within them
_STEP = 13  # odd, and its small multiples are not near a power of two
MOST = 900  # vectors of a case

U64 = NDArray[np.uint64]
I64 = NDArray[np.int64]
Mask = NDArray[np.bool_]


def left_out(source: Numeric, target: Format, asked: Codes, rng: np.random.Generator) -> Codes:
    """Return the codes that complete the coverage of exponents.

    Afterwards, one of any two adjacent binades has a value that is not a power of two. Outside the
    destination's range, three of any four have one, in both signs. Subnormal binades count; those
    of integers are their lengths.

    If there are very many binades, this holds near the range only. Elsewhere every 13th binade is
    tested with alternating signs, so every residue modulo a power of two occurs. The step grows to
    15, 17, ... if a case would exceed 900 vectors.
    """
    every = np.array(_roomy(source), np.uint64)
    beyond = _beyond_range(source, target, len(every))
    there = [_there(source, asked, every, sign) for sign in (False, True)[: 1 + source.signed]]
    room = MOST - len(each_once(asked))
    steps = range(_STEP, _MANY, 2) if room >= 0 else ()  # otherwise none fits
    tried = (_missing(beyond, there, step) for step in steps)
    fitting = (turns for turns in tried if sum(map(np.count_nonzero, turns)) <= room)
    found = [np.empty(0, source.storage)]
    for negative, turns in enumerate(next(fitting, _missing(beyond, there, _MANY))):
        missing = every[turns]
        magnitudes = missing[:, 0] + rng.integers(1, missing[:, 1], dtype=np.uint64)
        found.append(signed(source, magnitudes, np.full(len(missing), bool(negative))))
    return np.concatenate(found)


def _missing(beyond: I64, there: Sequence[Mask], step: int) -> list[Mask]:
    far = ((beyond > _NEAR) | (beyond <= 0)) & (len(beyond) > _MANY)
    inside = (beyond <= 0) & np.any(there, axis=0)
    every = np.arange(len(beyond)) % (2 * step)
    found = [far & ~here & ~inside & (every == step * s) for s, here in enumerate(there)]
    for place, sign in _gaps(np.transpose([here | far for here in there]), beyond > 0):
        found[sign][place] = True
    return found


def _beyond_range(source: Numeric, target: Format, count: int) -> I64:
    """Return the distance of each binade from the destination's range, 0 or less inside.

    A destination without a range counts as the single value 1.
    """
    low, high = 0, 0
    if isinstance(target, Float):
        low, high = target.lowest_exponent, target.highest_exponent
    elif isinstance(target, Int):
        high = target.bits
    first = source.lowest_exponent if isinstance(source, Float) else 0
    exponents = first + 1 + np.arange(count)
    return np.maximum(low - exponents, exponents - high)


def _roomy(source: Numeric) -> Binades:
    if not isinstance(source, Float):
        return [(1 << k, 1 << k) for k in range(1, source.bits - source.signed)]
    return [binade for binade in binades_of(source, source.max_magnitude) if binade[1] > 1]


def _there(source: Numeric, codes: Codes, binades: U64, negative: bool) -> Mask:
    magnitude, minus = _parts(source, codes)
    here = magnitude[minus == negative]
    at = np.searchsorted(binades[:, 0], here, side="right") - 1
    found = np.zeros(len(binades), bool)
    start, size = binades[at].T
    found[at[(at >= 0) & (here > start) & (here < start + size)]] = True
    return found


def _parts(source: Numeric, codes: Codes) -> tuple[U64, Mask]:
    wide = codes.astype(np.uint64)
    if isinstance(source, Float):
        return wide & np.uint64(source.magnitude_mask), is_negative(source, codes)
    minus = wide > np.uint64(int(source.max))
    return np.where(minus, (np.uint64(0) - wide) & np.uint64(source.mask), wide), minus


def _gaps(there: Mask, outside: Mask) -> Iterator[tuple[int, int]]:
    """Yield the index and sign of each binade to fill.

    Inside the range every second empty binade is filled, outside three of four, with the sign
    missing longest.
    """
    last_empty, missing = -_WINDOW, np.zeros(there.shape[1], np.int64)
    for place, here in enumerate(there):
        missing = np.where(here | ~outside[place], 0, missing + 1)
        fill = missing.max() >= _WINDOW
        if not here.any() and not fill:
            fill = place - last_empty < (_WINDOW if outside[place] else 2)
            last_empty = last_empty if fill else place
        if fill:
            sign = int(missing.argmax()) if outside[place] else place // 2 % len(missing)
            missing[sign] = 0
            yield place, sign


def only_dropped(source: Numeric, target: Format) -> Codes:
    """Return ties with one bit added or subtracted, for each dropped bit.

    They lie in one normal and one subnormal binade of the destination. Each bit decides between two
    results: without it, the tie rounds to even. The normal binade also has values with one bit
    added, for directed modes. Integers have one spacing, and ties next to 1 only. Signs alternate,
    opposite in the two binades.
    """
    found = [np.empty(0, source.storage)]
    for turn, low in enumerate(_places(source, target)):
        ties = [] if isinstance(target, Int) and turn == 0 else [(low + 1, True), (low + 3, False)]
        for magnitude, above in [*ties, *[(low, True)][turn:]]:
            found.append(_with_one_bit(source, target, magnitude, above, turn))
    return np.concatenate(found)


def _places(source: Numeric, target: Format) -> Iterator[int]:
    """Yield a boundary magnitude, a multiple of four, in a normal and in a subnormal binade.

    Integers are spaced like subnormals.
    """
    if isinstance(target, Int):
        yield from (4, 0)
    elif isinstance(target, Float):
        finer, past, _ = boundaries_of(target)
        normal = [b for b in binades_of(finer, past) if b[1] == 1 << finer.mantissa]
        start, size = _chosen(source, within_reach(source, finer, normal), finer)
        yield (start + size // 3 - 1) // 4 * 4
        if finer.zero:
            yield 4 if size >= 8 else 0


def _chosen(source: Numeric, binades: Binades, finer: Float) -> tuple[int, int]:
    if isinstance(source, Float):
        return binades[len(binades) // 2]
    return [binade for binade in binades if finer.value(binade[0]) <= source.max][-1]


def _with_one_bit(source: Numeric, target: Format, magnitude: int, above: bool, turn: int) -> Codes:
    exact, half = _boundary(target, magnitude)
    least = _last_bit(source, exact)
    room = _exponent(half) - least
    if room <= 0:
        return np.empty(0, source.storage)
    bits = np.uint64(1) << np.arange(room, dtype=np.uint64)
    whole = np.uint64(exact / Fraction(2) ** least)
    exponent, significand = normalised(whole + bits if above else whole - bits, least)
    blank = np.zeros(room, np.uint8)
    numbers = Numbers(blank, blank.astype(bool), exponent, significand)
    negative = (np.arange(room) + magnitude // 2 + turn) % 2 == 1
    signed = not isinstance(target, Text) and target.signed
    return at(source, numbers, np.zeros(room, np.int64), negative & signed)


def _boundary(target: Format, magnitude: int) -> tuple[Fraction, Fraction]:
    if not isinstance(target, Float):
        return Fraction(magnitude, 2), Fraction(1, 2)
    finer = boundaries_of(target)[0]
    even = magnitude - magnitude % 2
    return finer.value(magnitude), finer.value(even + 1) - finer.value(even)


def _last_bit(source: Numeric, exact: Fraction) -> int:
    if not isinstance(source, Float):
        return 0
    return max(_exponent(exact) - source.mantissa, source.lowest_exponent)


def _exponent(exact: Fraction) -> int:
    return exact.numerator.bit_length() - exact.denominator.bit_length()
