"""Order the codes of a format by value.

*Positions* count from 0, and every code has its own; NaNs are at the ends, by sign. An *index*
counts from zero in both directions: both zeros have 0. In a format without zero, 0 is the smallest
value.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from convcheck.numerics.codes import Codes, is_negative
from convcheck.numerics.format import Float, Format, Int, Numeric, Text

U64 = NDArray[np.uint64]
I64 = NDArray[np.int64]
_NARROW = 16  # bits of formats with 32-bit indices


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
    """Return the distinct codes, sorted as unsigned integers.

    numpy.unique uses hashes, which collide for codes that differ in few bits.
    """
    ordered = np.sort(codes)
    first = np.ones(len(ordered), bool)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return ordered[first]


def lowest(fmt: Numeric, codes: Codes) -> int:
    """Return the index of the code with the lowest position, shape (n,), n > 0."""
    if isinstance(fmt, Float) and fmt.signed:
        last = int(np.argmax(codes))
        return last if int(codes[last]) >= fmt.sign_bit else int(np.argmin(codes))
    if isinstance(fmt, Int) and fmt.signed:
        return int(np.argmin(codes ^ codes.dtype.type(1 << (fmt.bits - 1))))
    return int(np.argmin(codes))


def position_of(fmt: Numeric, code: int) -> int:
    """Return the position of one code."""
    if isinstance(fmt, Float) and fmt.signed:
        return 2 * fmt.sign_bit - 1 - code if code >= fmt.sign_bit else code + fmt.sign_bit
    if isinstance(fmt, Int) and fmt.signed:
        return code ^ (1 << (fmt.bits - 1))
    return code


def code_at(fmt: Format, position: int) -> int:
    """Return the code at a position."""
    if isinstance(fmt, Float) and fmt.signed:
        below = position < fmt.sign_bit
        return 2 * fmt.sign_bit - 1 - position if below else position - fmt.sign_bit
    if isinstance(fmt, Int) and fmt.signed:
        return position ^ (1 << (fmt.bits - 1))
    assert not isinstance(fmt, Text)  # noqa: S101
    return position


def order_key(fmt: Numeric, codes: Codes) -> I64 | Codes:
    """Return integers that order like positions, shape (n,)."""
    if isinstance(fmt, Float) and fmt.signed:
        magnitude = (codes & codes.dtype.type(fmt.magnitude_mask)).astype(np.int64)
        negative = (codes & codes.dtype.type(fmt.sign_bit)) != 0
        return np.where(negative, -1 - magnitude, magnitude)
    if isinstance(fmt, Int) and fmt.signed:
        wide = codes.astype(np.int64)
        return wide - ((wide >> (fmt.bits - 1)) << fmt.bits) if fmt.bits < 64 else wide
    return codes


def index_of(fmt: Numeric, code: int) -> int:
    """Return the index of a code that is not NaN. Infinity is one past the largest value."""
    if isinstance(fmt, Float):
        magnitude = code & fmt.magnitude_mask
        return -magnitude if code & fmt.sign_bit else magnitude
    return code - fmt.mask - 1 if fmt.signed and code >> (fmt.bits - 1) else code


def rough_indices(fmt: Numeric, codes: Codes) -> NDArray[np.float64] | NDArray[np.int32]:
    """Return approximate indices of codes, shape (n,), to compare distances."""
    if fmt.bits <= _NARROW:
        return _narrow_indices(fmt, codes)
    if isinstance(fmt, Float):
        magnitude = (codes & codes.dtype.type(fmt.magnitude_mask)).astype(np.float64)
        return np.where(is_negative(fmt, codes), -magnitude, magnitude)
    value = codes.astype(np.float64)
    if not fmt.signed:
        return value
    return np.where(value >= 2.0 ** (fmt.bits - 1), value - 2.0**fmt.bits, value)


def _narrow_indices(fmt: Numeric, codes: Codes) -> NDArray[np.int32]:
    """Return the exact indices of codes of a narrow format."""
    index = codes.astype(np.int32)
    below = index >> (fmt.bits - 1)  # 1 if negative, for signed formats
    if isinstance(fmt, Float) and fmt.signed:
        index &= fmt.magnitude_mask
        index ^= -below
        index += below
    elif isinstance(fmt, Int) and fmt.signed:
        index -= below << fmt.bits
    return index


def code_at_index(fmt: Numeric, index: int) -> int:
    """Return the code at an index."""
    if isinstance(fmt, Float):
        return index if index >= 0 else -index | fmt.sign_bit
    return index & fmt.mask
