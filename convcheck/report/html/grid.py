"""The values of a format in their order, by index: where a number lies among its neighbours.

Index 0 is zero, the one above is 1, the one below -1; of a format without zero, 0 is the smallest.
The grid goes on beyond the largest value, so that the border of the range has a place, too.
"""

from __future__ import annotations

from fractions import Fraction

from convcheck.judge.result import Word
from convcheck.numerics.decimal import parse_decimal, value_of
from convcheck.numerics.format import Float, Format, Numeric, Text

Real = Fraction | float | None  # an exact value, an infinity, or None for what is no number
INFINITY = float("inf")


def real(fmt: Format, word: Word | None) -> Real:
    """Return the value of a code, or of a text that is a decimal; of a pattern None."""
    if isinstance(fmt, Text):
        return parse_decimal(word) if isinstance(word, str) else None
    if word is None or isinstance(word, str):
        return None
    if not isinstance(fmt, Float):
        return value_of(fmt, word)
    if nan(fmt, word):
        return None
    if fmt.infinity and word & fmt.magnitude_mask == fmt.infinity_code:
        return -INFINITY if word & fmt.sign_bit else INFINITY
    return value_of(fmt, word)


def nan(fmt: Format, word: Word) -> bool:
    """Return whether a word is the code of a NaN."""
    return isinstance(fmt, Float) and isinstance(word, int) and fmt.has_nan_at(word)


def ends(fmt: Numeric) -> tuple[int, int]:
    """Return the indices of the lowest and of the largest value of a format."""
    if isinstance(fmt, Float):
        return -fmt.max_magnitude if fmt.signed else 0, fmt.max_magnitude
    return int(fmt.min), int(fmt.max)


def value_at(fmt: Numeric, index: int) -> Fraction:
    """Return the value at an index, also beyond the ends."""
    if not isinstance(fmt, Float):
        return Fraction(index)
    return fmt.value(index) if index >= 0 else -fmt.value(-index)


def index_below(fmt: Numeric, value: Fraction) -> int:
    """Return the index of the largest value of the grid that is not above `value`."""
    if not isinstance(fmt, Float):
        return value.numerator // value.denominator
    if value >= 0:
        return _magnitude(fmt, value)
    magnitude = _magnitude(fmt, -value)
    return -magnitude - (magnitude < 0 or fmt.value(magnitude) != -value)


def _magnitude(fmt: Float, value: Fraction) -> int:
    """Return the magnitude at or below a value that is not negative; -1 below a smallest."""
    if value == 0:
        return 0 if fmt.zero else -1
    field = _exponent(value) + fmt.bias
    if field <= 0 and fmt.zero:
        return _floor(value, fmt.lowest_exponent)
    if field < 0:
        return -1
    steps = _floor(value, field - fmt.bias - fmt.mantissa)
    return (field << fmt.mantissa) + steps - (1 << fmt.mantissa)


def _exponent(value: Fraction) -> int:
    """Return e where 2^e <= value < 2^(e+1)."""
    num, den = value.numerator, value.denominator
    exponent = num.bit_length() - den.bit_length()
    return exponent - (num << max(-exponent, 0) < den << max(exponent, 0))


def _floor(value: Fraction, scale: int) -> int:
    """Count the whole steps of 2^scale in a value."""
    return (value.numerator << max(-scale, 0)) // (value.denominator << max(scale, 0))
