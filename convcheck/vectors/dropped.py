"""Choose inputs in which a single dropped bit decides the rounding.

Code that looks only at the lowest 8, 20 or 32 dropped bits, or goes through a narrower type, fails
if the one bit set is elsewhere, and only then.
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
