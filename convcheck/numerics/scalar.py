"""Round a single fraction of any size, by the same modes as arrays.

A recurrence rounds each value before the next, and an array of one is twenty times slower. A test
compares `Grid` with `round_to`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from typing import cast

from convcheck.numerics.format import Float, Numeric
from convcheck.numerics.modes import MODES


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
    """Return whether a mode rounds up, indexed by the bits sign, last, first, later."""
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
        """Return the code of the rounded value, with -0 from below if the format has it.

        Raises BeyondError.
        """
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
