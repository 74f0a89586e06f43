"""Decode codes to exact numbers, and encode them."""

from functools import cache
from typing import cast

import numpy as np
from numpy.typing import NDArray

from convcheck.numerics.format import Bool, Float, Format, Int, Numeric, Text
from convcheck.numerics.number import (
    FAR,
    INFINITY,
    NAN,
    Bits,
    Codes,
    Numbers,
    Texts,
    is_nan,
    normalised,
    numbers_of_texts,
    take,
)

Mask = NDArray[np.bool_]
_LISTED = (8, 16)  # bits of formats with a lookup table
_FEW = 1 << 16  # codes; above, decoding is as fast


def decode(fmt: Format, bits: Bits) -> Numbers:
    """Return the exact numbers of codes. A bool is 0 or 1, a text its number."""
    if isinstance(fmt, Text):
        return numbers_of_texts(cast(Texts, bits))
    codes = cast(Codes, bits)
    if fmt.bits in _LISTED and len(codes) <= _FEW:
        return take(_every_number(fmt), codes)
    return _decoded(fmt, codes)


@cache
def _every_number(fmt: Numeric) -> Numbers:
    return _decoded(fmt, np.arange(1 << fmt.bits, dtype=fmt.storage))


def _decoded(fmt: Numeric, codes: Codes) -> Numbers:
    return _decode_float(fmt, codes) if isinstance(fmt, Float) else _decode_integer(fmt, codes)


def _decode_float(fmt: Float, codes: Codes) -> Numbers:
    magnitude = codes.astype(np.uint64)
    sign = np.zeros(len(codes), bool)
    if fmt.signed:
        sign = (codes & codes.dtype.type(fmt.sign_bit)) != 0
        magnitude &= np.uint64(fmt.magnitude_mask)
    x = decode_magnitudes(fmt, magnitude)
    if fmt.infinity:
        infinite = magnitude == np.uint64(fmt.infinity_code)
        np.copyto(x.kind, INFINITY, where=infinite)
        np.copyto(x.exponent, FAR, where=infinite)
    if fmt.nan != "none":
        nan = is_nan(fmt, codes)
        np.copyto(x.kind, NAN, where=nan)
        if fmt.nan == "sign-only":
            sign &= ~nan
    return Numbers(x.kind, sign, x.exponent, x.significand)


def _decode_integer(fmt: Int | Bool, codes: Codes) -> Numbers:
    wide = codes.astype(np.uint64)
    sign = np.zeros(len(codes), bool)
    if fmt.signed:
        sign = (wide >> np.uint64(fmt.bits - 1)) != 0
        np.subtract(np.uint64(fmt.mask + 1 if fmt.bits < 64 else 0), wide, out=wide, where=sign)
    exponent, significand = normalised(wide, 0)
    return Numbers(np.zeros(len(codes), np.uint8), sign, exponent, significand)


def decode_magnitudes(fmt: Float, magnitudes: NDArray[np.uint64]) -> Numbers:
    """Return the positive numbers at magnitudes, which may be wider than the float format."""
    exponent = (magnitudes >> np.uint64(fmt.mantissa)).view(np.int64)
    where = np.flatnonzero(exponent == 0) if fmt.zero else ()
    exponent -= fmt.bias
    # The shift drops the exponent field and makes room for the leading one.
    significand = magnitudes << np.uint64(63 - fmt.mantissa)
    significand |= np.uint64(1 << 63)
    if len(where):
        exponent[where], significand[where] = normalised(magnitudes[where], fmt.lowest_exponent)
    n = len(magnitudes)
    return Numbers(np.zeros(n, np.uint8), np.zeros(n, bool), exponent, significand)


def encode(fmt: Float | Int | Bool, magnitude: NDArray[np.uint64], sign: Mask) -> Codes:
    """Return codes of in-range magnitudes; -0 becomes +0 if the format lacks it."""
    if isinstance(fmt, Float):
        codes = magnitude.astype(fmt.storage)
        if fmt.signed:
            negative = sign if fmt.negative_zero else sign & (codes != 0)
            codes |= negative.astype(fmt.storage) << fmt.storage.type(fmt.bits - 1)
        return codes
    signed = np.where(sign, np.uint64(0) - magnitude, magnitude)
    return (signed & np.uint64(fmt.mask)).astype(fmt.storage)
