"""Rounding to a format's grid: one function per rounding mode, on what is kept and dropped.

A mode decides whether the kept magnitude goes up by one, from the sign, the last kept bit, the
first dropped bit and whether any later dropped bit is set (IEEE 754-2019, 4.3; the names of the
modes that IEEE 754 lacks are those of the standards that ask for them).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from convcheck.numerics.format import Bool, Float, Int, Numeric
from convcheck.numerics.number import Numbers

Mask = NDArray[np.bool_]
Mode = Callable[[Mask, Mask, Mask, Mask], Mask]


def nearest_even(sign: Mask, last: Mask, first: Mask, later: Mask) -> Mask:
    """To nearest, ties to even (roundTiesToEven)."""
    return first & (later | last)


def nearest_away(sign: Mask, last: Mask, first: Mask, later: Mask) -> Mask:
    """To nearest, ties away from zero (roundTiesToAway)."""
    return first


def nearest_up(sign: Mask, last: Mask, first: Mask, later: Mask) -> Mask:
    """To nearest, ties towards plus infinity."""
    return first & (later | ~sign)


def nearest_toward_zero(sign: Mask, last: Mask, first: Mask, later: Mask) -> Mask:
    """To nearest, ties toward zero."""
    return first & later


def toward_zero(sign: Mask, last: Mask, first: Mask, later: Mask) -> Mask:
    """Toward zero (roundTowardZero)."""
    return np.zeros_like(first)


def away(sign: Mask, last: Mask, first: Mask, later: Mask) -> Mask:
    """Away from zero."""
    return first | later


def floor(sign: Mask, last: Mask, first: Mask, later: Mask) -> Mask:
    """Towards minus infinity (roundTowardNegative)."""
    return (first | later) & sign


def ceiling(sign: Mask, last: Mask, first: Mask, later: Mask) -> Mask:
    """Towards plus infinity (roundTowardPositive)."""
    return (first | later) & ~sign


def odd(sign: Mask, last: Mask, first: Mask, later: Mask) -> Mask:
    """To the odd neighbour where inexact."""
    return (first | later) & ~last


def half_of_last(sign: Mask, last: Mask, first: Mask, later: Mask) -> Mask:
    """By adding half of the last kept bit, then cutting: what has an even last bit is cut."""
    return first & last


MODES: Mapping[str, Mode] = {
    "nearest-even": nearest_even,
    "nearest-away": nearest_away,
    "nearest-up": nearest_up,
    "nearest-toward-zero": nearest_toward_zero,
    "toward-zero": toward_zero,
    "away": away,
    "floor": floor,
    "ceil": ceiling,
    "odd": odd,
    "half-of-last": half_of_last,
}


@dataclass(frozen=True, slots=True)
class Rounded:
    """[x]: magnitudes on the destination's grid, which goes on above its max without end.

    For a Float the magnitude is the position on the grid, so the code of a value in range; for
    an Int it is the absolute value, and `beyond` marks what 64 bits do not hold.
    """

    magnitude: NDArray[np.uint64]
    beyond: Mask | None = None


def split(x: Numbers, drop: NDArray[np.int64], mode: Mode) -> NDArray[np.uint64]:
    """Drop the low `drop` bits (0 to 65) of each significand, rounding by `mode`."""
    shift = drop.view(np.uint64)
    kept = x.significand >> shift
    rest = x.significand ^ (kept << shift)
    below = shift - np.uint64(1)
    first = rest >> below
    later = rest != (first << below)
    if x.sticky is not None:
        later |= x.sticky
    up = mode(x.sign, (kept & np.uint64(1)).astype(bool), first.astype(bool), later)
    kept += up
    return kept


def round_to(x: Numbers, fmt: Numeric, mode: Mode) -> Rounded:
    """Round every finite x to the grid of `fmt`; NaN gives an arbitrary magnitude."""
    if isinstance(fmt, Int | Bool):
        drop = np.clip(63 - x.exponent, 0, 65)
        return Rounded(split(x, drop, mode), x.exponent > 63)
    return Rounded(_float_magnitude(x, fmt, mode))


def _float_magnitude(x: Numbers, fmt: Float, mode: Mode) -> NDArray[np.uint64]:
    m, lowest = fmt.mantissa, fmt.lowest_exponent
    # Two binades above max are enough to know that x is out of range: what is farther out is
    # moved there, so that its magnitude fits 64 bits.
    exponent = np.minimum(x.exponent, fmt.highest_exponent + 2)
    unit = np.maximum(exponent - m, lowest)
    drop = unit - exponent
    drop += 63
    np.minimum(drop, 65, out=drop)
    kept = split(x, drop, mode)
    steps = (unit - lowest).view(np.uint64)
    steps <<= np.uint64(m)
    kept += steps
    if not fmt.zero:
        kept -= np.uint64(1 << m)
    return kept
