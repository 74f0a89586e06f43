"""Parse decimal text exactly, and spell values shortest.

Exponents are bounded first: 1e999999999 is out of range of every format and must not be computed.
"""

from __future__ import annotations

import re
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache

from convcheck.numerics.format import Bool, Float, Int, Numeric, Opaque

DECIMAL = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?(?:[eE]([+-]?[0-9]+))?")
PLAIN = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)")
SPECIAL = re.compile(r"([+-]?)(inf|infinity|nan)", re.IGNORECASE)
_OUT_OF_SIGHT = 6000  # decimal exponents past this are out of range of every format
_KEPT = 1 << 14  # texts of codes, shared by many causes
_TOLD_APART = 4000  # more digits than a midpoint of any format has (float64: 768)


def parse_decimal(text: str) -> Fraction | None:
    """Return the exact value of plain or scientific decimal text, None for other text.

    Values past 10^±6000 become 10^±6000, which is out of range of every format. Digits after the
    4000th collapse into one sticky digit. The sign of zero is lost (see `numbers_of_texts`).
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
    """Read a decimal exponent, cut to nine digits."""
    size = int(text.lstrip("+-").lstrip("0")[:9] or "0")
    return -size if text.startswith("-") else size


def significant_digits(text: str) -> int:
    """Return the number of significant digits of a literal, trailing zeros included."""
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


@lru_cache(_KEPT)
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
    """Spell NaN, infinities, -0, booleans and opaque codes; '' for other numbers."""
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
    """Return the exact value of a finite code."""
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
    # A decimal on a midpoint does not qualify: it would need the value's own digits.
    low, high = abs(value) + below, abs(value) + fmt.value(magnitude + 1)
    for digits in range(6, 40):
        decimal = _divide(value, digits)
        if low < 2 * abs(Fraction(decimal)) < high:
            break
    return decimal
