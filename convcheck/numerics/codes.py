"""Arrays of codes and texts.

A code is a bit pattern in the low `bits` bits of an unsigned integer, the `storage` of its format.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from convcheck.numerics.format import Float, Format

Codes = NDArray[np.unsignedinteger[Any]]
Texts = NDArray[np.object_]
Bits = Codes | Texts


def is_nan(fmt: Float, codes: Codes) -> NDArray[np.bool_]:
    """Return a mask of NaNs."""
    kind = codes.dtype.type
    if fmt.nan == "sign-only":
        return np.asarray(codes == kind(fmt.sign_bit))
    if fmt.nan == "none":
        return np.zeros(codes.shape, bool)
    return np.asarray((codes & kind(fmt.magnitude_mask)) > kind(fmt.last_number))


def with_one_nan(fmt: Format, bits: Bits) -> Bits:
    """Return codes (or texts) with every NaN replaced by the canonical one."""
    if not isinstance(fmt, Float) or fmt.nan == "none":
        return bits
    codes = cast(Codes, bits)
    return np.where(is_nan(fmt, codes), fmt.storage.type(fmt.nan_code), codes)


def is_negative(fmt: Float, codes: Codes) -> NDArray[np.bool_]:
    """Return a mask of codes with the sign bit set."""
    return np.asarray((codes & codes.dtype.type(fmt.sign_bit)) != 0)
