"""Round numbers to a format's grid."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from convcheck.numerics.codec import encode
from convcheck.numerics.format import Bool, Float, Int, Numeric
from convcheck.numerics.modes import MODES, NEAREST
from convcheck.numerics.number import INFINITY, NAN, Codes, Numbers

if TYPE_CHECKING:
    from convcheck.numerics.modes import Mask, Mode


@dataclass(frozen=True, slots=True)
class Rounded:
    """[x]: indices on a Float's grid, which continues past max, or absolute values of an Int."""

    magnitude: NDArray[np.uint64]
    beyond: "Mask | None" = None  # of an Int: what exceeds 64 bits


def split(x: Numbers, drop: NDArray[np.int64], mode: "Mode") -> NDArray[np.uint64]:
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


def round_to(x: Numbers, fmt: Numeric, mode: "Mode") -> Rounded:
    """Round finite x to the grid of `fmt`. NaN gets an arbitrary magnitude."""
    if isinstance(fmt, Int | Bool):
        drop = np.minimum(np.maximum(63 - x.exponent, 0), 65)  # np.clip is slow for short arrays
        return Rounded(split(x, drop, mode), x.exponent > 63)
    return Rounded(_float_magnitude(x, fmt, mode))


def _float_magnitude(x: Numbers, fmt: Float, mode: "Mode") -> NDArray[np.uint64]:
    m, lowest = fmt.mantissa, fmt.lowest_exponent
    # Two binades past max show overflow. Larger numbers are moved there, so that
    # magnitudes fit 64 bits.
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


def rounded_codes(x: Numbers, fmt: Float, mode: str = NEAREST) -> Codes:
    """Round to a format and encode, with signed zeros and the canonical NaN.

    Overflow gives infinity, or max if the mode does not round up (IEEE 754-2019, 7.4). Raises
    ValueError for a format without infinity or NaN.
    """
    if not fmt.infinity or fmt.nan == "none":
        raise ValueError("rounding overflows to infinity, which the format does not have")
    magnitude = round_to(x, fmt, MODES[mode]).magnitude
    far = magnitude > np.uint64(fmt.max_magnitude)
    if far.any():
        np.copyto(magnitude, _overflow(x.sign, fmt, MODES[mode]), where=far)
    np.copyto(magnitude, np.uint64(fmt.infinity_code), where=x.kind == INFINITY)
    np.copyto(magnitude, np.uint64(fmt.nan_code), where=x.kind == NAN)
    return encode(fmt, magnitude, x.sign)


def _overflow(sign: "Mask", fmt: Float, mode: "Mode") -> NDArray[np.uint64]:
    """Return infinity if the mode rounds up past the midpoint above max, else max."""
    yes = np.ones(len(sign), bool)
    up = mode(sign, yes, yes, yes)
    return np.where(up, np.uint64(fmt.infinity_code), np.uint64(fmt.max_magnitude))
