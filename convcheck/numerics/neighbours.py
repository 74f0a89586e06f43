"""Find the codes of a format at and next to exact numbers."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from convcheck.numerics.codes import Codes
from convcheck.numerics.format import Float, Numeric
from convcheck.numerics.modes import toward_zero
from convcheck.numerics.number import Numbers
from convcheck.numerics.order import each_once
from convcheck.numerics.rounding import round_to

U64 = NDArray[np.uint64]
I64 = NDArray[np.int64]
Mask = NDArray[np.bool_]


def top(fmt: Numeric) -> int:
    """Return the largest magnitude of a format."""
    return fmt.max_magnitude if isinstance(fmt, Float) else int(max(fmt.max, -fmt.min))


def signed(fmt: Numeric, magnitudes: U64, negative: Mask) -> Codes:
    """Return codes of magnitudes with signs. Signs that the format lacks are dropped."""
    if isinstance(fmt, Float):
        sign = np.where(negative, np.uint64(fmt.sign_bit), np.uint64(0))
        return (magnitudes | sign).astype(fmt.storage)
    negative = (negative & fmt.signed) | (magnitudes > np.uint64(int(fmt.max)))
    codes = np.where(negative, np.uint64(0) - magnitudes, magnitudes)
    return (codes & np.uint64(fmt.mask)).astype(fmt.storage)


def at(fmt: Numeric, numbers: Numbers, offsets: I64, negative: Mask) -> Codes:
    """Return codes `offsets` steps from the largest magnitude not above each number."""
    last = np.uint64(top(fmt))
    below = np.minimum(round_to(numbers, fmt, toward_zero).magnitude, last)
    near = np.where((offsets < 0) & (below == 0), below, below + offsets.view(np.uint64))
    return signed(fmt, np.minimum(near, last), negative)


def around(fmt: Numeric, numbers: Numbers) -> Codes:
    """Return codes at and next to each number, in both signs, sorted."""
    n = len(numbers)
    parts = [
        at(fmt, numbers, np.full(n, offset), np.full(n, negative))
        for offset in (-1, 0, 1)
        for negative in (False, True)
    ]
    return each_once(np.concatenate(parts))


@cache
def special_codes(fmt: Numeric) -> Codes:
    """Return zeros, ones, range ends, infinities, NaNs, and integers next to the sign bit.

    NaNs have both signs, quiet and signalling, with low, middle and high payloads. The array is
    read-only.
    """
    codes = _special_codes(fmt)
    codes.flags.writeable = False
    return codes


def _special_codes(fmt: Numeric) -> Codes:
    if not isinstance(fmt, Float):
        sign = 1 << (fmt.bits - 1)  # also for unsigned integers, which may be taken as signed
        ends = [0, 1, 2 & fmt.mask, int(fmt.max), int(fmt.min) & fmt.mask, fmt.mask]
        return np.array([*ends, sign, sign - 1], np.uint64).astype(fmt.storage)
    one = fmt.bias << fmt.mantissa
    first_normal = 1 << fmt.mantissa
    codes = [0, 1, first_normal - 1, first_normal, one - 1, one, one + 1, fmt.max_magnitude]
    if fmt.infinity:
        codes.append(fmt.infinity_code)
    if fmt.nan != "none":
        codes.append(fmt.nan_code)
    if fmt.nan == "ieee":
        codes += [fmt.nan_code | 1, fmt.magnitude_mask]
        # signalling: a narrower type loses it
        payload = {0, fmt.mantissa // 2, max(fmt.mantissa - 2, 0)}
        codes += [fmt.infinity_code | 1 << bit for bit in payload]
    both = {(code & fmt.magnitude_mask) | sign for code in codes for sign in (0, fmt.sign_bit)}
    return np.array(sorted(both | {c for c in codes if c & fmt.sign_bit}), fmt.storage)
