"""Integer implementations of conversions, right except for `rounding`. Codes are int64 inside."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Rounding = Callable[[Ints, Ints], Ints]


@dataclass(frozen=True)
class Layout:
    """The fields of a signed float format: exponent, mantissa, and exponent bias."""

    exponent: int
    mantissa: int
    bias: int

    @property
    def sign(self):
        return self.exponent + self.mantissa

    @property
    def top(self):
        return ((1 << self.exponent) - 1) << self.mantissa


FLOAT16, BFLOAT16 = Layout(5, 10, 15), Layout(8, 7, 127)
FLOAT32, FLOAT64 = Layout(8, 23, 127), Layout(11, 52, 1023)
E4M3, E5M2, E2M1 = Layout(4, 3, 7), Layout(5, 2, 15), Layout(2, 1, 1)
E4M3FNUZ = Layout(4, 3, 8)


def ints(codes):
    return codes.view(np.int64) if codes.dtype == np.uint64 else codes.astype(np.int64)


def split(codes, fmt):
    wide = ints(codes)
    return (wide >> fmt.sign) & 1, wide & ((1 << fmt.sign) - 1)


def fields(magnitude, fmt):
    return magnitude >> fmt.mantissa, magnitude & ((1 << fmt.mantissa) - 1)


def joined(sign, magnitude, fmt):
    codes = (sign << fmt.sign) | magnitude
    width = -(-(fmt.sign + 1) // 8) * 8
    return codes.astype(f"uint{width}")


# Rounding a significand by its last n bits
# ----------------------------------------------------------


def nearest_even(significand, n):
    n = np.minimum(n, 61)
    kept, low = significand >> n, significand & ((1 << n) - 1)
    return kept + ((2 * low > 1 << n) | ((2 * low == 1 << n) & (kept & 1 == 1)))


def nearest_away(significand, n):
    n = np.minimum(n, 61)
    return (significand + (1 << n >> 1)) >> n


def truncated(significand, n):
    return significand >> np.minimum(n, 61)


# Conversions --------------------------------------------------------------------------------------


def narrowed(magnitude, source, target, rounding=nearest_even):
    """Round magnitudes to the target's layout once, with unbounded exponents."""
    field, mantissa = fields(magnitude, source)
    significand = mantissa + (np.minimum(field, 1) << source.mantissa)
    exponent = np.maximum(field, 1) - source.bias + target.bias
    base = np.maximum(exponent, 1)
    dropped = source.mantissa - target.mantissa + base - exponent
    return ((base - 1) << target.mantissa) + rounding(significand, dropped)


def to_ieee(codes, source, target, rounding=nearest_even):
    """Convert between IEEE formats. Overflow gives infinity, NaN gets a 1."""
    sign, magnitude = split(codes, source)
    rounded = np.minimum(narrowed(magnitude, source, target, rounding), target.top)
    rounded = np.where(magnitude == source.top, target.top, rounded)
    quiet = target.top + (1 << (target.mantissa - 1))
    return joined(sign, np.where(magnitude > source.top, quiet, rounded), target)


def to_finite(codes, source, target, rounding=nearest_even, *, most, beyond, nan):
    """Convert to an 8-bit format. Above `most`, infinity included, return `beyond`."""
    sign, magnitude = split(codes, source)
    rounded = narrowed(magnitude, source, target, rounding)
    rounded = np.where((rounded > most) | (magnitude == source.top), beyond, rounded)
    return joined(sign, np.where(magnitude > source.top, nan, rounded), target)


def widened(codes, source, target):
    sign, magnitude = split(codes, source)
    field, mantissa = fields(magnitude, source)
    lead = np.frexp(np.maximum(mantissa, 1).astype(np.float64))[1].astype(np.int64) - 1
    shift = np.where(field > 0, 0, source.mantissa - lead)
    exponent = np.maximum(field, 1) - shift - source.bias + target.bias
    kept = (mantissa << shift) & ((1 << source.mantissa) - 1)
    wide = (exponent << target.mantissa) + (kept << (target.mantissa - source.mantissa))
    return joined(sign, np.where(magnitude > 0, wide, 0), target)


def by_hardware(numbers, kind):
    with np.errstate(all="ignore"):
        converted = numbers.astype(kind)
    return converted.view(f"uint{8 * converted.dtype.itemsize}")
