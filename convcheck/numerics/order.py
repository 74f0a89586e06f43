"""Where a code stands among all codes of its format in the order of their values.

Positions count from 0; NaNs stand at the ends, on the side of their sign.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from convcheck.numerics.format import Codes, Float, Format, Int, Numeric, Text

U64 = NDArray[np.uint64]


def positions(fmt: Numeric, codes: Codes) -> U64:
    """Return the positions of codes, shape (n,)."""
    wide = codes.astype(np.uint64)
    if isinstance(fmt, Float) and fmt.signed:
        sign, last = np.uint64(fmt.sign_bit), np.uint64(2 * fmt.sign_bit - 1)
        return np.where(wide >= sign, last - wide, wide + sign)
    if isinstance(fmt, Int) and fmt.signed:
        return wide ^ np.uint64(1 << (fmt.bits - 1))
    return wide


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
