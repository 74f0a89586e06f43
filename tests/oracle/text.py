"""Values of strings that are cast to a number."""

import re
from fractions import Fraction
from typing import NamedTuple

from .formats import Value

SIGNIFICANT_DIGITS = 20
FAR = 1000
"""A power of ten that takes any number of 20 digits past the ends of every format."""

_NUMBER = re.compile(
    r"(?P<sign>-?)(?P<whole>[0-9]+)(?:\.(?P<part>[0-9]+))?(?:[eE](?P<e>[+-]?[0-9]+))?"
)
_SUPERFLUOUS = re.compile(r"(?:^-?|[eE][+-]?)0[0-9]")
_INTEGER = re.compile(r"-?[0-9]+")


class Reading(NamedTuple):
    """A value, and whether the text itself names its string."""

    value: Value
    named: bool


def read_float(text: str) -> Reading | None:
    """Return a string's value for a float destination, None if undefined.

    "Any string which can exactly match "+INF" in a case-insensitive way would be mapped to positive
    infinite. Similarly, this case-insensitive rule is applied to "INF" and "NaN"." "-INF" is named
    in this one spelling only.
    """
    if not text.isascii():
        return None
    upper = text.upper()
    if upper in ("INF", "+INF"):
        return Reading("inf", named=True)
    if upper == "NAN":
        return Reading("nan", named=True)
    if upper == "-INF":
        return Reading("-inf", named=text == "-INF")
    value = _decimal(text)
    return None if value is None else Reading(value, named=False)


def read_integer(text: str) -> int | None:
    """Return an integer literal's value, or None.

    "Cases of converting string representing floating-point arithmetic value, such as "2.718", to
    INT is an undefined behavior."
    """
    if not _INTEGER.fullmatch(text):
        return None
    value = _decimal(text)
    if value is None:
        return None
    return 0 if isinstance(value, str) else int(value)


def _decimal(text: str) -> Value | None:
    """Return a literal's exact value, "in plain (e.g., "3.14" and "1000") and scientific numeric
    representations (e.g., "1e-5" and "1E8")", of at most 20 significant digits. Only exponents have
    plus signs; no bare point, no superfluous leading zero.
    """
    match = _NUMBER.fullmatch(text)
    if match is None or _SUPERFLUOUS.search(text):
        return None
    part = match["part"] or ""
    digits = (match["whole"] + part).lstrip("0")
    if len(digits) > SIGNIFICANT_DIGITS:
        return None
    negative = match["sign"] == "-"
    if not digits:
        return "-0" if negative else Fraction(0)
    ten = min(max(_exponent(match["e"] or "0") - len(part), -FAR), FAR)
    magnitude = int(digits) * Fraction(10) ** ten
    return -magnitude if negative else magnitude


def _exponent(text: str) -> int:
    digits = text.lstrip("+-").lstrip("0")
    size = int(digits[:10] or "0")
    return -size if text.startswith("-") else size
