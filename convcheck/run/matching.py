"""Which answers a reading is satisfied with."""

from __future__ import annotations

from typing import cast

import numpy as np
from numpy.typing import NDArray

from convcheck.numerics.format import (
    Bits,
    Codes,
    Float,
    Format,
    Numeric,
    Text,
    is_nan,
    is_negative,
)
from convcheck.semantics import expected as pattern
from convcheck.semantics.expected import Reading
from convcheck.semantics.spelling import satisfies

Mask = NDArray[np.bool_]


def matching(reading: Reading, got: Bits, fmt: Format, source: Format, inputs: Bits) -> Mask:
    """Tell which answers a reading is satisfied with, all arrays of shape (n,)."""
    right = np.asarray(got == reading.codes, bool) & (reading.patterns == pattern.EXACT)
    right |= reading.patterns == pattern.UNDEFINED
    if isinstance(fmt, Text):
        for i in np.flatnonzero(reading.patterns >= pattern.PLAIN_TO_X):
            code, wanted = int(cast(Codes, inputs)[i]), int(reading.patterns[i])
            right[i] = satisfies(wanted, str(got[i]), cast(Numeric, source), code)
    elif isinstance(fmt, Float):
        codes = cast(Codes, got)
        nan = is_nan(fmt, codes)
        right |= nan & (reading.patterns == pattern.ANY_NAN)
        right |= nan & (reading.patterns == pattern.NEGATIVE_NAN) & is_negative(fmt, codes)
        zero = (codes & codes.dtype.type(fmt.magnitude_mask)) == 0
        right |= zero & (reading.patterns == pattern.ANY_ZERO)
    return np.asarray(right)
