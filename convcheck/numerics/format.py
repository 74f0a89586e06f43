"""Number formats: a format is a row of parameters, everything else about it is derived.

Codes are the raw bit patterns as unsigned integers, one element an array entry, in the low
``bits`` bits of ``storage``. The *magnitude* of a code is its position in the sequence of
non-negative values of the format (0 is the smallest), which for every float format here is the
code without its sign bit.
"""

from __future__ import annotations

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

    `exponent` and `mantissa` are field widths in bits; a value is
    ``(-1)^s * 1.mantissa * 2^(field - bias)``, subnormal where the exponent field is 0, unless
    the format has no zero (float8e8m0). `nan` says which codes are NaN: ``ieee`` (exponent all
    ones, mantissa not 0), ``all-ones`` (every bit but the sign), ``sign-only`` (the code of -0),
    ``none``.
    """

    exponent: int
    mantissa: int
    bias: int
    nan: NanCodes
    #: Whether the exponent of all ones with mantissa 0 is infinity.
    infinity: bool = False
    #: Whether -0 has a code.
    negative_zero: bool = True
    #: Whether the highest bit of a code is a sign.
    signed: bool = True
    zero: bool = True

    @cached_property
    def bits(self) -> int:
        """Width of a code in bits."""
        return self.signed + self.exponent + self.mantissa

    @cached_property
    def storage(self) -> np.dtype[Any]:
        """The unsigned numpy type of a code."""
        return _storage_for(self.bits)

    @cached_property
    def magnitude_mask(self) -> int:
        """Every bit of a code but the sign."""
        return (1 << (self.exponent + self.mantissa)) - 1

    @cached_property
    def sign_bit(self) -> int:
        """The code of the sign bit, 0 for an unsigned format."""
        return self.magnitude_mask + 1 if self.signed else 0

    @cached_property
    def infinity_code(self) -> int:
        """The magnitude of infinity: exponent all ones, mantissa 0."""
        return ((1 << self.exponent) - 1) << self.mantissa

    @cached_property
    def nan_code(self) -> int:
        """A canonical NaN: quiet where there is a choice, sign clear where there is a sign."""
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
        """The largest magnitude that is no NaN, infinity included, where NaNs are the highest."""
        return self.infinity_code if self.nan == "ieee" else self.max_magnitude

    @cached_property
    def lowest_exponent(self) -> int:
        """Exponent of the unit in the last place (ulp) of the smallest values."""
        return (1 if self.zero else 0) - self.bias - self.mantissa

    @property
    def highest_exponent(self) -> int:
        """The exponent e of the largest finite value, 2^e <= max < 2^(e+1)."""
        field = self.max_magnitude >> self.mantissa
        return field - self.bias

    def value(self, magnitude: int) -> Fraction:
        """Return the exact value of a magnitude; beyond max, the grid goes on (no infinity)."""
        field, fraction = magnitude >> self.mantissa, magnitude & ((1 << self.mantissa) - 1)
        if field or not self.zero:
            fraction |= 1 << self.mantissa
        unit = (max(field - 1, 0) if self.zero else field) + self.lowest_exponent
        return Fraction(fraction << unit) if unit >= 0 else Fraction(fraction, 1 << -unit)

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
        """The lowest finite value; for float8e8m0, which has no sign and no zero, 2^-127."""
        return -self.max if self.signed else self.value(0)


@dataclass(frozen=True)
class Int:
    """A fixed-point format of `bits` bits, two's complement where signed."""

    bits: int
    signed: bool

    @cached_property
    def storage(self) -> np.dtype[Any]:
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
    """Codes of which only the width is known here: they are carried, and denote no number."""

    #: There is no sign to be told.
    signed: bool = False


@dataclass(frozen=True)
class Bool:
    """A boolean: one byte, 0 or 1, denoting the numbers 0 and 1."""

    #: Width of the value; a code takes a byte.
    bits: int = 1
    #: There is no sign.
    signed: bool = False
    #: All bits of a code that count.
    mask: int = 1
    #: The largest value, true.
    max: Fraction = Fraction(1)
    #: The lowest value, false.
    min: Fraction = Fraction(0)

    @cached_property
    def storage(self) -> np.dtype[Any]:
        """The unsigned numpy type of a code."""
        return _storage_for(self.bits)


@dataclass(frozen=True)
class Text:
    """A string; arrays are of Python `str` objects."""

    @cached_property
    def storage(self) -> np.dtype[Any]:
        """The numpy type of an array of texts."""
        import numpy as np

        return np.dtype("O")


Numeric = Float | Int | Bool
Format = Numeric | Text


@cache
def text_of_format(fmt: Format) -> str:
    """Return the text of a format from which digests and the seeds of random inputs are made."""
    return _SPELLED.get(type(fmt), repr(fmt))


# Lists of known failures name digests: these two are spelled as when the first ones were made.
_SPELLED: Mapping[type[Format], str] = {
    Bool: "Bool(bits=1, signed=False, storage=dtype('uint8'), mask=1, max=Fraction(1, 1), "
    "min=Fraction(0, 1))",
    Text: "Text(storage=dtype('O'))",
}


def _storage_for(bits: int) -> np.dtype[Any]:
    """Return the smallest unsigned numpy type that holds so many bits (8, 16, 32 or 64)."""
    import numpy as np

    return np.dtype(f"u{next(size for size in (1, 2, 4, 8) if size * 8 >= bits)}")
