"""Judge printed numbers by the text patterns of an expectation."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from convcheck.numerics.decimal import PLAIN as PLAIN_NOTATION
from convcheck.numerics.decimal import parse_decimal, spell_special, value_of
from convcheck.numerics.format import Float, Numeric
from convcheck.numerics.modes import nearest_even
from convcheck.numerics.number import from_fractions
from convcheck.numerics.rounding import round_to
from convcheck.semantics.expected import PARSES_TO_X, PLAIN, PLAIN_TO_X

_KEPT = 1 << 14  # texts; they recur in placements and for causes
_SPECIALS = {
    "inf": "Inf", "+inf": "Inf", "-inf": "-Inf", "nan": "NaN", "+nan": "NaN", "-nan": "NaN",
}  # fmt: skip


@lru_cache(_KEPT)
def satisfies(pattern: int, text: str, source: Numeric, code: int) -> bool:
    """Return whether a printed text satisfies a text pattern for a source code.

    Plain: no exponent. To x: rounding the decimal to nearest even gives x, and zeros are equal.
    Otherwise any number passes: a lossy print is recorded, not judged. INF and NaN match in any
    letter case.
    """
    special = spell_special(source, code)
    if special in ("Inf", "-Inf", "NaN", "-NaN"):
        return _SPECIALS.get(text.lower()) == special.replace("-NaN", "NaN")
    value = parse_decimal(text)
    if value is None:
        return False
    if pattern in (PLAIN, PLAIN_TO_X) and not PLAIN_NOTATION.fullmatch(text):
        return False
    if pattern in (PARSES_TO_X, PLAIN_TO_X):
        return _reads_back(text, source, code)
    return True


def _reads_back(text: str, source: Numeric, code: int) -> bool:
    value, x = parse_decimal(text), value_of(source, code)
    if value is None or not isinstance(source, Float):
        return value == x
    magnitude = round_to(from_fractions([value]), source, nearest_even).magnitude[0]
    same = magnitude == np.uint64(code & source.magnitude_mask)
    return bool(same) and (x == 0 or (value < 0) == (x < 0))
