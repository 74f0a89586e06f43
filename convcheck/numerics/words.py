"""Read numbers as people write them, and spell exact values."""

import re
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache

from convcheck.numerics.format import Bool, Float, Int, Numeric, Opaque
from convcheck.numerics.modes import NEAREST, BeyondError, grid_of
from convcheck.streams import plural

DECIMAL = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?(?:[eE]([+-]?[0-9]+))?")
PLAIN = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)")
SPECIAL = re.compile(r"([+-]?)(inf|infinity|nan)", re.IGNORECASE)
_OUT_OF_SIGHT = 6000  # decimal exponent past every format
_TOLD_APART = 4000  # more digits than any midpoint has (float64: 768)


def parse_decimal(text: str) -> Fraction | None:
    """Return the exact value of plain or scientific decimal text, else None.

    Values past 10^±6000 become that, out of range of every format. Digits after the 4000th collapse
    into one sticky digit. The sign of zero is lost (see `numbers_of_texts`).
    """
    match = DECIMAL.fullmatch(text)
    if match is None or not (match[2] or match[3]):
        return None
    digits = (match[2] + (match[3] or "")).lstrip("0")
    if not digits:
        return Fraction(0)
    exponent = _exponent(match[4] or "0") - len(match[3] or "")
    top = exponent + len(digits)
    if abs(top) > _OUT_OF_SIGHT:
        significand, exponent = 1, _OUT_OF_SIGHT if top > 0 else -_OUT_OF_SIGHT
    else:
        kept = digits[:_TOLD_APART] + ("1" if digits[_TOLD_APART:].strip("0") else "")
        significand, exponent = int(kept), top - len(kept)
    value = significand * Fraction(10) ** exponent
    return -value if match[1] == "-" else value


def _exponent(text: str) -> int:
    size = int(text.lstrip("+-").lstrip("0")[:9] or "0")
    return -size if text.startswith("-") else size


def significant_digits(text: str) -> int:
    """Count a literal's significant digits, trailing zeros included."""
    match = DECIMAL.match(text)
    digits = (match[2] + (match[3] or "")) if match else ""
    return len(digits.lstrip("0"))


@lru_cache(maxsize=4096)
def spell(fmt: Numeric, code: int) -> str:
    """Return the shortest decimal that rounds to a code's value (nearest-even)."""
    special = spell_special(fmt, code)
    if special:
        return special
    value = value_of(fmt, code)
    if not isinstance(fmt, Float):
        return str(value)
    return _readable(_shortest_decimal(fmt, code & fmt.magnitude_mask, value))


@lru_cache(1 << 14)
def plain_text(fmt: Numeric, code: int) -> str:
    """Return a code in plain notation that reads back as its value, or INF, NaN."""
    special = spell_special(fmt, code)
    if special:
        return {"Inf": "INF", "-Inf": "-INF", "-NaN": "NaN"}.get(special, special)
    value = value_of(fmt, code)
    if not isinstance(fmt, Float):
        return str(value)
    return f"{_shortest_decimal(fmt, code & fmt.magnitude_mask, value):f}"


def spell_special(fmt: Numeric, code: int) -> str:
    """Spell NaN, infinities, -0, booleans and opaque codes; '' for others."""
    if isinstance(fmt, Opaque):
        return f"bits {code:#x}"
    if isinstance(fmt, Bool):
        return {0: "False", 1: "True"}.get(code, f"byte {code:#x}")
    if isinstance(fmt, Int):
        return ""
    sign = "-" if code & fmt.sign_bit else ""
    if fmt.has_nan_at(code):
        return "NaN" if fmt.nan == "sign-only" else f"{sign}NaN"
    magnitude = code & fmt.magnitude_mask
    if fmt.infinity and magnitude == fmt.infinity_code:
        return f"{sign}Inf"
    return "-0" if magnitude == 0 and sign else ""


def value_of(fmt: Numeric, code: int) -> Fraction:
    """Return a finite code's exact value."""
    if isinstance(fmt, Float):
        value = fmt.value(code & fmt.magnitude_mask)
        return -value if code & fmt.sign_bit else value
    negative = fmt.signed and code >> (fmt.bits - 1)
    return Fraction(code - fmt.mask - 1 if negative else code)


def spell_fraction(value: Fraction, digits: int = 17) -> str:
    """Spell an exact value in at most `digits` significant digits, with '~' if inexact."""
    decimal = _divide(value, digits)
    exact = Fraction(decimal) == value
    return ("" if exact else "~") + _readable(decimal)


def _divide(value: Fraction, digits: int) -> Decimal:
    with localcontext(Context(prec=digits, Emax=999999, Emin=-999999)):
        return Decimal(value.numerator) / Decimal(value.denominator)


def _readable(decimal: Decimal) -> str:
    if decimal == 0:
        return "0"
    decimal = decimal.normalize(Context(prec=60, Emax=999999, Emin=-999999))
    return f"{decimal:f}" if -6 <= decimal.adjusted() < 20 else f"{decimal:e}"


def _shortest_decimal(fmt: Float, magnitude: int, value: Fraction) -> Decimal:
    exact = _divide(value, 20 if value.denominator == 1 else 9)
    if Fraction(exact) == value:  # 448, not 450, which also rounds to it
        return exact
    below = fmt.value(magnitude - 1) if magnitude else Fraction(0)
    # A decimal on a midpoint would need the value's own digits.
    low, high = abs(value) + below, abs(value) + fmt.value(magnitude + 1)
    for digits in range(6, 40):
        decimal = _divide(value, digits)
        if low < 2 * abs(Fraction(decimal)) < high:
            break
    return decimal


_HEX_FLOAT = re.compile(r"([+-]?)0x([0-9a-f]*)(?:\.([0-9a-f]*))?(?:p([+-]?[0-9]{1,5}))?", re.I)
_BITS = re.compile(r"0x[0-9a-f]+", re.I)


class OutsideFormatError(ValueError):
    """A word without a code in a format; the message says what there is."""


@lru_cache(1 << 10)
def code_of(fmt: Numeric, word: str) -> tuple[int, bool]:
    """Return a word's code, and whether it is exact.

    A word is a decimal, 0x… bits, a hex float (with p or a point), inf, nan, true, false, min or
    max. Decimals between two floats round to nearest-even. Raises OutsideFormatError.
    """
    if _BITS.fullmatch(word):
        code = int(word, 16)
        if code >> fmt.bits:
            raise OutsideFormatError(f"{word} has more than {plural(fmt.bits, 'bit')}")
        return code, True
    if word in ("min", "max") and not isinstance(fmt, Bool):
        return end_code(fmt, word), True
    special = _special(fmt, word.lower())
    if special is not None:
        return special, True
    value = _value(word)
    if value is None:
        raise OutsideFormatError(
            f"{word!r} is not a number: write a decimal, 0x… bits, a hex float, inf or nan"
        )
    return _code(fmt, value, word.startswith("-"), word)


def end_code(fmt: Numeric, word: str) -> int:
    """Return the code of the lowest (`min`) or largest (`max`) finite value."""
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
