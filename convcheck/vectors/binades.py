"""The binades of a destination's boundaries, and those in which a source has values.

The rounding boundaries of a float format (its values and the midpoints between them) are exactly
the values of the same format with one more mantissa bit: a boundary is a magnitude of that finer
format.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import replace
from fractions import Fraction

from convcheck.numerics.format import Float, Numeric

Binades = list[tuple[int, int]]  # (first magnitude, number of magnitudes)
BEYOND = 2  # binades past max in which the grid goes on, at the destination's precision


def boundaries_of(target: Float) -> tuple[Float, int, int]:
    """The format of the boundaries; the magnitude past max there; the last one of the grid."""
    finer = replace(target, mantissa=target.mantissa + 1, nan="none", infinity=False)
    past = (target.max_magnitude + 1) << 1
    return finer, past, min(past + (BEYOND << finer.mantissa), 2**64 - 1)


def binades_of(finer: Float, last: int) -> Binades:
    """(first magnitude, number of magnitudes) of each binade, subnormal binades included."""
    size = 1 << finer.mantissa
    normal = [(start, size) for start in range(size if finer.zero else 0, last, size)]
    subnormal = [(1 << k, 1 << k) for k in range(finer.mantissa)] if finer.zero else []
    return subnormal + normal


def within_reach(source: Numeric, finer: Float, binades: Binades) -> Binades:
    """The binades in which the source has values: the budget is for those."""
    least = source.value(int(source.zero)) if isinstance(source, Float) else Fraction(1)
    most = max(source.max, -source.min)

    def beginning(binade: tuple[int, int]) -> Fraction:
        return finer.value(binade[0])

    first = max(bisect_right(binades, least, key=beginning) - 1, 0)
    return binades[first : max(bisect_right(binades, most, key=beginning), first + 1)]
