"""The binades of a format's rounding boundaries, and those that a source reaches.

The rounding boundaries of a float format (values and midpoints) are exactly the values of the same
format with one more mantissa bit. So a boundary is a magnitude of that finer format.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import replace
from fractions import Fraction

from convcheck.numerics.format import Float, Numeric

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
