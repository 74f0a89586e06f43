"""One exact value at a time, rounded to a format: the same modes as for arrays.

A recurrence rounds each value before it makes the next, so there is nothing to do in bulk; and
an array of one costs twenty times what the fraction does. A test holds `Grid` equal to `round_to`.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, cast

from convcheck.numerics.format import Float, Numeric
from convcheck.numerics.modes import MODES

if TYPE_CHECKING:
    from collections.abc import Callable


class BeyondError(ArithmeticError):
    """A value that rounds to something outside the format."""


@dataclass(frozen=True)
class Grid:
    """The values of a format, and the rounding mode (a name of MODES) that leads to them."""

    #: The format.
    fmt: Numeric
    mode: str

    @cached_property
    def up(self) -> tuple[bool, ...]:
        """Whether the mode goes up, indexed by the bits sign, last, first, later."""
        mode = cast("Callable[[int, int, int, int], int]", MODES[self.mode])
        return tuple(bool(mode(*(bits >> n & 1 for n in (3, 2, 1, 0)))) for bits in range(16))

    def round(self, value: Fraction) -> Fraction:
        """Return the value of the format that `value` rounds to. Raises BeyondError."""
        kept, unit, exact = self._kept(value.numerator, value.denominator)
        if exact:
            return value
        magnitude = Fraction(kept << unit) if unit >= 0 else Fraction(kept, 1 << -unit)
        return -magnitude if value.numerator < 0 else magnitude

    def code(self, value: Fraction) -> int:
        """Return the code of what `value` rounds to, -0 from below where the format has it.

        Raises BeyondError.
        """
        kept, unit, _ = self._kept(value.numerator, value.denominator)
        negative = value.numerator < 0
        if not isinstance(self.fmt, Float):
            return (-kept if negative else kept) & self.fmt.mask
        code = kept + ((unit - self._lowest) << self.fmt.mantissa)
        if not self.fmt.zero:
            code -= 1 << self.fmt.mantissa  # the lowest exponent field is of normal numbers, too
        signed = negative and (self.fmt.negative_zero or code != 0)
        return code | self.fmt.sign_bit if signed else code

    @cached_property
    def _lowest(self) -> int:
        """The exponent of the finest step."""
        return self.fmt.lowest_exponent if isinstance(self.fmt, Float) else 0

    @cached_property
    def _mantissa(self) -> int | None:
        return self.fmt.mantissa if isinstance(self.fmt, Float) else None

    @cached_property
    def _ends(self) -> tuple[int, int]:
        """How far the format goes above and below zero, in its finest steps."""
        step = Fraction(2) ** self._lowest
        return int(self.fmt.max / step), int(-self.fmt.min / step)

    def _kept(self, numerator: int, denominator: int) -> tuple[int, int, bool]:
        """Return the rounded magnitude in steps of 2^unit, the unit, and whether it is exact."""
        negative, numerator = numerator < 0, abs(numerator)
        unit = self._unit(numerator, denominator)
        if unit < 0:
            numerator <<= -unit
        else:
            denominator <<= unit
        kept, rest = (numerator, 0) if denominator == 1 else divmod(numerator, denominator)
        if rest:
            twice = 2 * rest
            first, later = twice >= denominator, twice != denominator
            kept += self.up[negative << 3 | (kept & 1) << 2 | first << 1 | later]
        if kept << (unit - self._lowest) > self._ends[negative]:
            raise BeyondError("outside the format")
        return kept, unit, not rest

    def _unit(self, numerator: int, denominator: int) -> int:
        """Return the exponent of the grid's step at a positive value."""
        if self._mantissa is None or not numerator:
            return self._lowest
        exponent = numerator.bit_length() - denominator.bit_length()
        if exponent < 0:
            numerator <<= -exponent
        else:
            denominator <<= exponent
        unit = exponent - self._mantissa - (numerator < denominator)
        return unit if unit > self._lowest else self._lowest
