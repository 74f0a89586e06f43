"""Which answers a reading is satisfied with."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import numpy as np
from numpy.typing import NDArray

from convcheck.numerics.codes import Bits, Codes, is_nan, is_negative
from convcheck.numerics.format import Float, Format, Numeric, Text
from convcheck.semantics import expected as pattern
from convcheck.semantics.expected import Reading
from convcheck.semantics.spelling import satisfies

Mask = NDArray[np.bool_]


def matching(reading: Reading, got: Bits, fmt: Format, source: Format, inputs: Bits) -> Mask:
    """Return which answers a reading is satisfied with, all arrays of shape (n,).

    The reading's may be of shape (), where the same is expected of all numbers.
    """
    exact = reading.patterns == pattern.EXACT
    right: Mask = np.asarray(np.logical_and(got == reading.codes, exact), bool)
    if np.count_nonzero(exact) == exact.size:
        return right

    def accept(wanted: int, fit: Callable[[], Mask]) -> None:
        here = reading.patterns == wanted
        if np.count_nonzero(here):
            np.logical_or(right, fit() & here, out=right)

    accept(pattern.UNDEFINED, lambda: np.ones(got.shape, bool))
    if isinstance(fmt, Text):
        for i in np.flatnonzero(reading.patterns >= pattern.PLAIN_TO_X):
            code, wanted = int(cast(Codes, inputs)[i]), int(reading.patterns[i])
            right[i] = satisfies(wanted, str(got[i]), cast(Numeric, source), code)
    elif isinstance(fmt, Float):
        codes = cast(Codes, got)
        accept(pattern.ANY_NAN, lambda: is_nan(fmt, codes))
        accept(pattern.NEGATIVE_NAN, lambda: is_nan(fmt, codes) & is_negative(fmt, codes))
        accept(pattern.ANY_ZERO, lambda: (codes & codes.dtype.type(fmt.magnitude_mask)) == 0)
    return right
