"""Each bit that a conversion drops, once the only one that is set beyond where it decides.

Rounding looks at what it drops as a whole: whether it is half a unit, more or less. Code that looks
at the lowest 8, 20 or 32 of these bits only, or goes through a narrower type, is wrong where one of
the others is the only one that is set, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from convcheck.numerics.codes import Codes
from convcheck.numerics.format import Float, Format, Int, Numeric, Text
from convcheck.numerics.neighbours import at
from convcheck.numerics.number import Numbers, normalised
from convcheck.vectors.binades import Binades, binades_of, boundaries_of, within_reach


def only_dropped(source: Numeric, target: Format) -> Codes:
    """Return, in a normal and in a subnormal binade of the destination, a tie with one more bit and
    a tie less one bit, for each bit that is dropped there; in the normal one, a value with one
    more bit, too. Integers, all of one spacing, have ties next to 1 alone.

    The ties are such that the bit decides between two results: one goes down without it, to even,
    and the other one up. Directed modes look at the last kind. The signs alternate, and a bit that
    one binade has in one sign, the other one has in the other.
    """
    found = [np.empty(0, source.storage)]
    for turn, low in enumerate(_places(source, target)):
        ties = [] if isinstance(target, Int) and turn == 0 else [(low + 1, True), (low + 3, False)]
        for magnitude, above in [*ties, *[(low, True)][turn:]]:
            found.append(_with_one_bit(source, target, magnitude, above, turn))
    return np.concatenate(found)


def _places(source: Numeric, target: Format) -> Iterator[int]:
    """Yield a magnitude, a multiple of four, of the format of the boundaries for a normal and one
    for a subnormal binade, where the source drops bits; integers are spaced like subnormals.
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
    """Return the binade in the middle; of integers the highest one, where they drop the most."""
    if isinstance(source, Float):
        return binades[len(binades) // 2]
    return [binade for binade in binades if finer.value(binade[0]) <= source.max][-1]


def _with_one_bit(source: Numeric, target: Format, magnitude: int, above: bool, turn: int) -> Codes:
    """Return a boundary with each lower bit of the source by itself added to it, or taken away."""
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
    """Return a boundary, and how far apart boundaries are there: half a unit of the destination."""
    if not isinstance(target, Float):
        return Fraction(magnitude, 2), Fraction(1, 2)
    finer = boundaries_of(target)[0]
    even = magnitude - magnitude % 2
    return finer.value(magnitude), finer.value(even + 1) - finer.value(even)


def _last_bit(source: Numeric, exact: Fraction) -> int:
    """Return the exponent of the last bit of the source's value at or below a number."""
    if not isinstance(source, Float):
        return 0
    return max(_exponent(exact) - source.mantissa, source.lowest_exponent)


def _exponent(exact: Fraction) -> int:
    """Return the exponent of the leading bit of a number whose denominator is a power of two."""
    return exact.numerator.bit_length() - exact.denominator.bit_length()
