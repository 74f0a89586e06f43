"""The rounding modes as functions of kept and dropped bits.

A mode decides whether the kept magnitude goes up by one, from the sign, the last kept bit, the
first dropped bit, and whether any later dropped bit is set (IEEE 754-2019, 4.3). Modes outside IEEE
754 are named as in their standards. They work on masks and on the integers 0 and 1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from typing import TYPE_CHECKING, cast

from convcheck.numerics.format import Float, Numeric

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Mask = NDArray[np.bool_]
    Mode = Callable[[Mask, Mask, Mask, Mask], Mask]


def nearest_even(sign: Mask, last: Mask, first: Mask, later: Mask) -> Mask:
    """To nearest, ties to even (roundTiesToEven)."""
    return first & (later | last)


def toward_zero(sign: Mask, last: Mask, first: Mask, later: Mask) -> Mask:
    """Toward zero (roundTowardZero)."""
    return first & ~first


NEAREST = "nearest-even"  # the default of binary formats (IEEE 754-2019, 4.3.3)
#: by the names in specs
MODES: Mapping[str, Mode] = {
    "nearest-even": nearest_even,
    "nearest-away": lambda sign, last, first, later: first,  # roundTiesToAway
    "nearest-up": lambda sign, last, first, later: first & (later | ~sign),
    "nearest-toward-zero": lambda sign, last, first, later: first & later,
    "toward-zero": toward_zero,
    "away": lambda sign, last, first, later: first | later,
    "floor": lambda sign, last, first, later: (first | later) & sign,  # roundTowardNegative
    "ceil": lambda sign, last, first, later: (first | later) & ~sign,  # roundTowardPositive
    "odd": lambda sign, last, first, later: (first | later) & ~last,  # if inexact
    # adds half of the last kept bit, then truncates: an even last bit truncates
    "half-of-last": lambda sign, last, first, later: first & last,
}


class BeyondError(ArithmeticError):
    """A value that rounds to something outside the format."""


def whole(numerator: int, denominator: int, mode: str) -> int:
    """Return a fraction rounded to an integer."""
    if denominator == 1:
        return numerator
    kept, rest = divmod(abs(numerator), denominator)
    negative = numerator < 0
    if rest:
        twice = 2 * rest
        first, later = twice >= denominator, twice != denominator
        kept += _ups(mode)[negative << 3 | (kept & 1) << 2 | first << 1 | later]
    return -kept if negative else kept


@cache
def _ups(mode: str) -> tuple[bool, ...]:
    """Return whether a mode rounds up, by the bits sign, last, first, later."""
    up = cast("Callable[[int, int, int, int], int]", MODES[mode])
    return tuple(bool(up(*(bits >> n & 1 for n in (3, 2, 1, 0)))) for bits in range(16))


@cache
def grid_of(fmt: Numeric, mode: str) -> Grid:
    """Return the grid of a format under a rounding mode."""
    return Grid(fmt, mode)


@dataclass(frozen=True)
class Grid:
    """The values of a format and a rounding mode (a name of MODES)."""

    fmt: Numeric
    mode: str

    def round(self, value: Fraction) -> Fraction:
        """Return the rounded value. Raises BeyondError."""
        kept, unit = self._rounded(value)
        return Fraction(kept << unit) if unit >= 0 else Fraction(kept, 1 << -unit)

    def code(self, value: Fraction) -> int:
        """Return the rounded value's code, with -0 from below if it exists. Raises BeyondError."""
        kept, unit = self._rounded(value)
        if not isinstance(self.fmt, Float):
            return kept & self.fmt.mask
        code = abs(kept) + ((unit - self._lowest) << self.fmt.mantissa)
        if not self.fmt.zero:
            code -= 1 << self.fmt.mantissa  # the lowest exponent field has normal numbers too
        signed = value < 0 and (self.fmt.negative_zero or code != 0)
        return code | self.fmt.sign_bit if signed else code

    @cached_property
    def _lowest(self) -> int:
        return self.fmt.lowest_exponent if isinstance(self.fmt, Float) else 0

    @cached_property
    def _ends(self) -> tuple[int, int]:
        step = Fraction(2) ** self._lowest
        return int(self.fmt.min / step), int(self.fmt.max / step)

    def _rounded(self, value: Fraction) -> tuple[int, int]:
        """Return the rounded value in steps of 2^unit, and the unit."""
        numerator, denominator = value.numerator, value.denominator
        unit = self._unit(abs(numerator), denominator)
        if unit < 0:
            numerator <<= -unit
        else:
            denominator <<= unit
        kept = whole(numerator, denominator, self.mode)
        least, most = self._ends
        if not least <= kept << (unit - self._lowest) <= most:
            raise BeyondError("outside the format")
        return kept, unit

    def _unit(self, numerator: int, denominator: int) -> int:
        """Return the exponent of the grid's step at a positive value."""
        if not isinstance(self.fmt, Float) or not numerator:
            return self._lowest
        exponent = numerator.bit_length() - denominator.bit_length()
        if exponent < 0:
            numerator <<= -exponent
        else:
            denominator <<= exponent
        unit = exponent - self.fmt.mantissa - (numerator < denominator)
        return unit if unit > self._lowest else self._lowest
