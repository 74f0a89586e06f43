"""Read numbers as people write them."""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache

from convcheck.numerics.decimal import parse_decimal
from convcheck.numerics.format import Bool, Float, Numeric
from convcheck.numerics.modes import NEAREST
from convcheck.numerics.scalar import BeyondError, grid_of
from convcheck.wording import plural

_HEX_FLOAT = re.compile(r"([+-]?)0x([0-9a-f]*)(?:\.([0-9a-f]*))?(?:p([+-]?[0-9]{1,5}))?", re.I)
_BITS = re.compile(r"0x[0-9a-f]+", re.I)
_KEPT = 1 << 10  # words; versions of a spec share them


class OutsideFormatError(ValueError):
    """A word without a code in a format; the message says what the format has."""


@lru_cache(_KEPT)
def code_of(fmt: Numeric, word: str) -> tuple[int, bool]:
    """Return the code of a word, and whether the word's value is exact.

    A word is a decimal, 0x… bits, a hex float (with p or a point), inf, nan, true, false, min or
    max. Decimals between two floats round to nearest-even. Raises OutsideFormatError.
    """
    if _BITS.fullmatch(word):
        return _bits(fmt, word), True
    if word in ("min", "max") and not isinstance(fmt, Bool):
        return _end(fmt, word), True
    special = _special(fmt, word.lower())
    if special is not None:
        return special, True
    value = _value(word)
    if value is None:
        raise OutsideFormatError(
            f"{word!r} is not a number: write a decimal, 0x… bits, a hex float, inf or nan"
        )
    return _code(fmt, value, word.startswith("-"), word)


def _bits(fmt: Numeric, word: str) -> int:
    code = int(word, 16)
    if code >> fmt.bits:
        raise OutsideFormatError(f"{word} has more than {plural(fmt.bits, 'bit')}")
    return code


def _end(fmt: Numeric, word: str) -> int:
    if not isinstance(fmt, Float):
        return int(fmt.max if word == "max" else fmt.min) & fmt.mask
    if word == "min" and not fmt.signed:
        return 0
    return int(fmt.max_magnitude) | (fmt.sign_bit if word == "min" else 0)


def _special(fmt: Numeric, word: str) -> int | None:
    if isinstance(fmt, Bool):
        return {"true": 1, "false": 0}.get(word)
    name = word.lstrip("+-")
    if not isinstance(fmt, Float) or name not in ("inf", "nan"):
        return None
    sign = fmt.sign_bit if word.startswith("-") else 0
    if name == "inf" and fmt.infinity:
        return fmt.infinity_code | sign
    if name == "nan" and fmt.nan != "none":
        return fmt.nan_code | sign
    raise OutsideFormatError(f"the format has no {word}")


def _value(word: str) -> Fraction | None:
    match = _HEX_FLOAT.fullmatch(word)
    if match and (match[2] or match[3]):
        digits = match[2] + (match[3] or "")
        scale = int(match[4] or 0) - 4 * len(match[3] or "")
        value = int(digits, 16) * Fraction(2) ** scale
        return -value if match[1] == "-" else value
    return parse_decimal(word)


def _code(fmt: Numeric, value: Fraction, negative: bool, word: str) -> tuple[int, bool]:
    if not isinstance(fmt, Float):
        if value.denominator != 1 or not fmt.min <= value <= fmt.max:
            raise OutsideFormatError(f"{word} is not a whole number from {fmt.min} to {fmt.max}")
        return int(value) & fmt.mask, True
    too_small = not fmt.zero and abs(value) < fmt.min
    outside = OutsideFormatError(
        f"{word} is outside the format, whose largest value is {float(fmt.max):g}"
    )
    if too_small or (negative and not fmt.signed):
        raise outside
    try:
        magnitude = grid_of(fmt, NEAREST).code(abs(value))
    except BeyondError:
        raise outside from None
    exact = fmt.value(magnitude) == abs(value)
    keep = negative and (fmt.negative_zero or magnitude != 0)
    return magnitude | (fmt.sign_bit if keep else 0), exact
