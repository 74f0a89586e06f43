"""Arrays of exact real numbers, as integers.

A finite number is ``(-1)^sign * significand * 2^(exponent - 63)``. The 64-bit significand has its
leading one at bit 63; zero has 0. If `sticky` is set, something below bit 0 is added. No source
format needs it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from convcheck.numerics.format import Float, Format
from convcheck.numerics.words import SPECIAL, parse_decimal

Codes = NDArray[np.unsignedinteger[Any]]
Texts = NDArray[np.object_]
Bits = Codes | Texts


def mix(z: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Apply the finaliser of splitmix64 in place (Steele, Lea and Flood, 2014)."""
    high = z >> np.uint64(30)
    for shift, factor in ((27, 0xBF58476D1CE4E5B9), (31, 0x94D049BB133111EB)):
        z ^= high
        z *= np.uint64(factor)
        np.right_shift(z, np.uint64(shift), out=high)
    z ^= high
    return z


def is_nan(fmt: Float, codes: Codes) -> NDArray[np.bool_]:
    """Return a mask of NaNs."""
    kind = codes.dtype.type
    if fmt.nan == "sign-only":
        return np.asarray(codes == kind(fmt.sign_bit))
    if fmt.nan == "none":
        return np.zeros(codes.shape, bool)
    return np.asarray((codes & kind(fmt.magnitude_mask)) > kind(fmt.last_number))


def with_one_nan(fmt: Format, bits: Bits) -> Bits:
    """Return codes (or texts) with every NaN made canonical."""
    if not isinstance(fmt, Float) or fmt.nan == "none":
        return bits
    codes = cast(Codes, bits)
    return np.where(is_nan(fmt, codes), fmt.storage.type(fmt.nan_code), codes)


def is_negative(fmt: Float, codes: Codes) -> NDArray[np.bool_]:
    """Return a mask of codes with the sign bit set."""
    return np.asarray((codes & codes.dtype.type(fmt.sign_bit)) != 0)


FINITE, INFINITY, NAN = np.uint8(0), np.uint8(1), np.uint8(2)
FAR = 1 << 20  # past every format; exponent of infinity, negated for zero


@dataclass(frozen=True, slots=True)
class Numbers:
    """n exact extended reals, as arrays of shape (n,)."""

    #: FINITE, INFINITY or NAN
    kind: NDArray[np.uint8]
    sign: NDArray[np.bool_]  # zeros and infinities have a sign
    exponent: NDArray[np.int64]  # of the leading one; only for finite nonzero numbers
    significand: NDArray[np.uint64]  # leading one at bit 63; 0 for zero
    sticky: NDArray[np.bool_] | None = None  # bits below bit 0 were cut off

    def __len__(self) -> int:
        return len(self.kind)


def take(x: Numbers, index: NDArray[np.integer[Any]]) -> Numbers:
    """Return the elements of an index array, shape (m,)."""
    sticky = None if x.sticky is None else x.sticky[index]
    return Numbers(x.kind[index], x.sign[index], x.exponent[index], x.significand[index], sticky)


def end_to_end(parts: Sequence[Numbers]) -> Numbers:
    """Concatenate numbers."""
    names = ("kind", "sign", "exponent", "significand")
    kind, sign, exponent, significand = (
        np.concatenate([getattr(part, name) for part in parts]) for name in names
    )
    none = all(part.sticky is None for part in parts)
    sticky = [np.zeros(len(p), bool) if p.sticky is None else p.sticky for p in parts]
    return Numbers(kind, sign, exponent, significand, None if none else np.concatenate(sticky))


def bit_length(values: NDArray[np.uint64]) -> NDArray[np.uint8]:
    """Return the number of bits up to the leading one, 0 for 0.

    Uses a float64's exponent. Clearing the bit after the leading one prevents rounding up.
    """
    lonely = values >> np.uint64(1)
    np.invert(lonely, out=lonely)
    lonely &= values
    exponents = lonely.view(np.int64).astype(np.float64).view(np.uint64)
    exponents >>= np.uint64(52)
    return _LENGTHS.take(exponents.view(np.intp))


# by sign and exponent of a float64; from 2^63 on, signed integers are negative
_LENGTHS = np.zeros(1 << 12, np.uint8)
_LENGTHS[1023 : 1023 + 63] = np.arange(1, 64)
_LENGTHS[1 << 11 :] = 64


def normalised(
    integers: NDArray[np.uint64], scale: int
) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
    """Return (exponent, significand) of ``integers * 2^scale``."""
    length = bit_length(integers).astype(np.int64)
    significand = integers << (64 - length).view(np.uint64)
    exponent = np.where(length == 0, -FAR, length + (scale - 1))
    return exponent, significand


def number_parts(value: Fraction) -> tuple[int, int, bool]:
    """Return (exponent, significand, sticky) of a positive fraction, with a 64-bit significand."""
    num, den = value.numerator, value.denominator
    exponent = num.bit_length() - den.bit_length()
    if num << max(-exponent, 0) < den << max(exponent, 0):
        exponent -= 1
    shift = 63 - exponent
    significand, rest = divmod(num << max(shift, 0), den << max(-shift, 0))
    return exponent, significand, rest != 0


def from_fractions(values: list[Fraction]) -> Numbers:
    """Return Numbers of exact fractions. Zeros are positive."""
    n = len(values)
    parts = [(-FAR, 0, False) if v == 0 else number_parts(abs(v)) for v in values]
    return Numbers(
        np.zeros(n, np.uint8),
        np.array([v < 0 for v in values], bool),
        np.array([p[0] for p in parts], np.int64),
        np.array([p[1] for p in parts], np.uint64),
        np.array([p[2] for p in parts], bool) if any(p[2] for p in parts) else None,
    )


def exceeds(x: Numbers, bound: Fraction) -> NDArray[np.bool_]:
    """Return a mask of ``|x| > |bound|``; NaN is arbitrary. Raises ValueError past 64 bits."""
    if bound == 0:
        return np.asarray(x.significand != 0)
    exponent, significand, sticky = number_parts(abs(bound))
    if sticky:
        raise ValueError(f"bound {bound} has more than 64 significant bits")
    above = x.significand > np.uint64(significand)
    if x.sticky is not None:
        above |= (x.significand == np.uint64(significand)) & x.sticky
    return np.asarray((x.exponent > exponent) | ((x.exponent == exponent) & above))


def below(x: Numbers, bound: Fraction) -> NDArray[np.bool_]:
    """Return a mask of ``x < bound``, negative, 0 or a power of two; else raises ValueError."""
    if bound <= 0:
        return exceeds(x, bound) & x.sign
    exponent, significand, _ = number_parts(bound)
    if significand != 1 << 63:
        raise ValueError(f"bound {bound} is not a power of two")
    return np.asarray(x.sign | (x.exponent < exponent))


def to_fraction(x: Numbers, index: int) -> Fraction:
    """Return a finite element's exact value, without its sticky bit."""
    significand, places = int(x.significand[index]), 63 - int(x.exponent[index])
    magnitude = Fraction(significand << max(-places, 0), 1 << max(places, 0))
    return -magnitude if x.sign[index] else magnitude


def numbers_of_texts(texts: Texts) -> Numbers:
    """Return the numbers that texts spell: decimals, inf and nan in any case. Others are NaN."""
    parts = [_parts_of_text(text) for text in texts]
    types = (np.uint8, bool, np.int64, np.uint64, bool)
    kind, sign, exponent, significand, sticky = (
        np.array([part[n] for part in parts], dtype) for n, dtype in enumerate(types)
    )
    return Numbers(kind, sign, exponent, significand, sticky)


@lru_cache(1 << 14)
def _parts_of_text(text: str) -> tuple[np.uint8, bool, int, int, bool]:
    value, sign = parse_decimal(text), text.startswith("-")
    if value is None:
        special = SPECIAL.fullmatch(text)
        infinite = special is not None and special[2].lower() != "nan"
        return (INFINITY if infinite else NAN), sign, FAR, 1 << 63, False
    parts = (-FAR, 0, False) if value == 0 else number_parts(abs(value))
    return FINITE, sign, *parts
