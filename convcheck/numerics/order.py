"""Order codes by value, and find neighbours."""

from functools import cache

import numpy as np
from numpy.typing import NDArray

from convcheck.numerics.format import Float, Format, Int, Numeric, Text
from convcheck.numerics.modes import toward_zero
from convcheck.numerics.number import Codes, Numbers, is_negative
from convcheck.numerics.rounding import round_to

U64 = NDArray[np.uint64]
I64 = NDArray[np.int64]


def positions(fmt: Numeric, codes: Codes) -> U64:
    """Return the positions of codes, shape (n,)."""
    wide = codes.astype(np.uint64, copy=False)
    if isinstance(fmt, Float) and fmt.signed:
        flips: U64 = wide >> np.uint64(fmt.bits - 1)
        flips *= np.uint64(fmt.magnitude_mask)  # of negative codes
        flips |= np.uint64(fmt.sign_bit)
        flips ^= wide
        return flips
    if isinstance(fmt, Int) and fmt.signed:
        return wide ^ np.uint64(1 << (fmt.bits - 1))
    return wide.copy()


def each_once(codes: Codes) -> Codes:
    """Return distinct codes, sorted as unsigned integers; numpy.unique's hashes collide."""
    ordered = np.sort(codes)
    first = np.ones(len(ordered), bool)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return ordered[first]


def position_of(fmt: Numeric, code: int) -> int:
    """Return the position of one code."""
    return int(positions(fmt, np.array([code], fmt.storage))[0])


def code_at(fmt: Format, position: int) -> int:
    """Return the code at a position."""
    if isinstance(fmt, Float) and fmt.signed:
        below = position < fmt.sign_bit
        return 2 * fmt.sign_bit - 1 - position if below else position - fmt.sign_bit
    if isinstance(fmt, Int) and fmt.signed:
        return position ^ (1 << (fmt.bits - 1))
    assert not isinstance(fmt, Text)  # noqa: S101
    return position


def order_key(fmt: Numeric, codes: Codes) -> I64:
    """Return signed integers that order like positions and differ as they do, shape (n,)."""
    return (positions(fmt, codes) ^ np.uint64(1 << 63)).view(np.int64)


def index_of(fmt: Numeric, code: int) -> int:
    """Return the index of a code that is not NaN. Infinity is one past the largest value."""
    if isinstance(fmt, Float):
        magnitude = code & fmt.magnitude_mask
        return -magnitude if code & fmt.sign_bit else magnitude
    return code - fmt.mask - 1 if fmt.signed and code >> (fmt.bits - 1) else code


def rough_indices(fmt: Numeric, codes: Codes) -> NDArray[np.float64]:
    """Return approximate indices of codes, shape (n,), to compare distances."""
    if isinstance(fmt, Float):
        magnitude = (codes & codes.dtype.type(fmt.magnitude_mask)).astype(np.float64)
        return np.where(is_negative(fmt, codes), -magnitude, magnitude)
    value = codes.astype(np.float64)
    if not fmt.signed:
        return value
    return np.where(value >= 2.0 ** (fmt.bits - 1), value - 2.0**fmt.bits, value)


def code_at_index(fmt: Numeric, index: int) -> int:
    """Return the code at an index."""
    if isinstance(fmt, Float):
        return index if index >= 0 else -index | fmt.sign_bit
    return index & fmt.mask


Mask = NDArray[np.bool_]


def top(fmt: Numeric) -> int:
    """Return the largest magnitude of a format."""
    return fmt.max_magnitude if isinstance(fmt, Float) else int(max(fmt.max, -fmt.min))


def signed(fmt: Numeric, magnitudes: U64, negative: Mask) -> Codes:
    """Return codes of magnitudes with signs, without signs that the format lacks."""
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
    """Return zeros, ones, range ends, infinities, NaNs of all sorts, integers at the sign bit."""
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
