"""Number formats: parameters, and properties derived from them.

A code is a bit pattern in the low ``bits`` bits of an unsigned ``storage`` integer. Its *magnitude*
is its index among the non-negative values, from 0: for floats, the code without its sign bit.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import numpy as np

NanCodes = Literal["ieee", "all-ones", "sign-only", "none"]


@dataclass(frozen=True)
class Float:
    """A binary floating-point format.

    `exponent` and `mantissa` are field widths in bits. A value is ``(-1)^s * 1.mantissa * 2^(field
    - bias)``, subnormal if the exponent field is 0, unless the format has no zero (float8e8m0).
    `nan` defines the NaNs: ``ieee`` (exponent all ones, mantissa nonzero), ``all-ones`` (every bit
    but the sign), ``sign-only`` (the code of -0), ``none``.
    """

    exponent: int
    mantissa: int
    bias: int
    nan: NanCodes
    infinity: bool = False  # exponent all ones with mantissa 0 is infinity
    negative_zero: bool = True  # -0 has a code
    signed: bool = True
    zero: bool = True

    @cached_property
    def bits(self) -> int:
        """The width of a code in bits."""
        return self.signed + self.exponent + self.mantissa

    @cached_property
    def storage(self) -> "np.dtype[Any]":
        """The unsigned numpy type of a code."""
        return _storage_for(self.bits)

    @cached_property
    def magnitude_mask(self) -> int:
        """Every bit of a code but the sign."""
        return (1 << (self.exponent + self.mantissa)) - 1

    @cached_property
    def sign_bit(self) -> int:
        """The sign bit, 0 for an unsigned format."""
        return self.magnitude_mask + 1 if self.signed else 0

    @cached_property
    def infinity_code(self) -> int:
        """The magnitude of infinity: exponent all ones, mantissa 0."""
        return ((1 << self.exponent) - 1) << self.mantissa

    @cached_property
    def nan_code(self) -> int:
        """The canonical NaN: quiet and positive if possible."""
        if self.nan == "sign-only":
            return self.sign_bit
        if self.nan == "ieee":
            return self.infinity_code | (1 << (self.mantissa - 1))
        return self.magnitude_mask

    @cached_property
    def max_magnitude(self) -> int:
        """The magnitude of the largest finite value."""
        if self.nan == "ieee" or self.infinity:
            return self.infinity_code - 1
        return self.magnitude_mask - (self.nan == "all-ones")

    @cached_property
    def last_number(self) -> int:
        """The largest magnitude below the NaNs, infinity included."""
        return self.infinity_code if self.nan == "ieee" else self.max_magnitude

    @cached_property
    def lowest_exponent(self) -> int:
        """The exponent of the ulp of the smallest values."""
        return (1 if self.zero else 0) - self.bias - self.mantissa

    @property
    def highest_exponent(self) -> int:
        """The exponent e of the largest finite value: 2^e <= max < 2^(e+1)."""
        field = self.max_magnitude >> self.mantissa
        return field - self.bias

    def value(self, magnitude: int) -> Fraction:
        """Return a magnitude's exact value; the grid continues past max."""
        field, fraction = magnitude >> self.mantissa, magnitude & ((1 << self.mantissa) - 1)
        if field or not self.zero:
            fraction |= 1 << self.mantissa
        unit = (max(field - 1, 0) if self.zero else field) + self.lowest_exponent
        return Fraction(fraction << unit) if unit >= 0 else Fraction(fraction, 1 << -unit)

    def has_all(self, other: "Float") -> bool:
        """Return whether it has all finite numbers of another format, signs apart."""
        return (
            other.mantissa <= self.mantissa
            and other.max <= self.max
            and other.lowest_exponent >= self.lowest_exponent
        )

    def has_nan_at(self, code: int) -> bool:
        """Return whether a code is NaN."""
        if self.nan == "sign-only":
            return code == self.sign_bit
        return self.nan != "none" and code & self.magnitude_mask > self.last_number

    @cached_property
    def max(self) -> Fraction:
        """The largest finite value."""
        return self.value(self.max_magnitude)

    @property
    def min(self) -> Fraction:
        """The lowest finite value; 2^-127 for float8e8m0, without sign and zero."""
        return -self.max if self.signed else self.value(0)


@dataclass(frozen=True)
class Int:
    """An integer format of `bits` bits, two's complement if signed."""

    bits: int
    signed: bool

    @cached_property
    def storage(self) -> "np.dtype[Any]":
        """The unsigned numpy type of a code."""
        return _storage_for(self.bits)

    @cached_property
    def mask(self) -> int:
        """All bits of a code."""
        return (1 << self.bits) - 1

    @cached_property
    def max(self) -> Fraction:
        """The largest value."""
        return Fraction((1 << (self.bits - self.signed)) - 1)

    @cached_property
    def min(self) -> Fraction:
        """The lowest value."""
        return Fraction(-(1 << (self.bits - 1)) if self.signed else 0)


@dataclass(frozen=True)
class Opaque(Int):
    """Codes of known width without a numeric value."""

    signed: bool = False


@dataclass(frozen=True)
class Bool:
    """A boolean in one byte: the numbers 0 and 1."""

    bits: int = 1  # width of the value; a code takes a byte
    signed: bool = False
    mask: int = 1
    max: Fraction = Fraction(1)
    min: Fraction = Fraction(0)

    @cached_property
    def storage(self) -> "np.dtype[Any]":
        """The unsigned numpy type of a code."""
        return _storage_for(self.bits)


@dataclass(frozen=True)
class Text:
    """A string; arrays hold Python `str` objects."""

    @cached_property
    def storage(self) -> "np.dtype[Any]":
        """The numpy type of an array of texts."""
        import numpy as np

        return np.dtype("O")


Numeric = Float | Int | Bool
Format = Numeric | Text


@cache
def text_of_format(fmt: Format) -> str:
    """Return a format's text for digests and random seeds."""
    return _SPELLED.get(type(fmt), repr(fmt))


# Frozen: known failures contain digests.
_SPELLED: Mapping[type[Format], str] = {
    Bool: "Bool(bits=1, signed=False, storage=dtype('uint8'), mask=1, max=Fraction(1, 1), "
    "min=Fraction(0, 1))",
    Text: "Text(storage=dtype('O'))",
}


def _storage_for(bits: int) -> "np.dtype[Any]":
    import numpy as np

    return np.dtype(f"u{next(size for size in (1, 2, 4, 8) if size * 8 >= bits)}")
