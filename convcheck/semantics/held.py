"""What becomes of one exact value that goes through something else on its way."""

from __future__ import annotations

from fractions import Fraction
from typing import cast

from convcheck.errors import SpecError
from convcheck.numerics.format import Int, Numeric
from convcheck.numerics.scalar import BeyondError
from convcheck.rules.hop import MAGNITUDE, NEGATED, WHOLE, Hop
from convcheck.semantics.typed_arithmetic import grid_of, low_bits


def held(value: Fraction, hop: Hop) -> Fraction:
    """Return what a value becomes. Raises BeyondError where that is an infinity, and SpecError for
    what happens to codes, texts or bits.
    """
    if hop.type == WHOLE:
        return _whole(value, hop.round)
    if hop.type in (MAGNITUDE, NEGATED):
        return abs(value) if hop.type == MAGNITUDE else -value
    if isinstance(hop.type, str) or hop.subnormals or hop.by_code or hop.normal_only:
        raise SpecError("a value alone has no codes")
    fmt = cast(Numeric, hop.type.format)
    try:
        return grid_of(fmt, hop.round).round(value)
    except BeyondError:
        if hop.beyond == "infinity":
            raise
    if hop.beyond == "wrap":
        return low_bits(fmt, _whole(value, hop.round))
    if hop.beyond == "clamp":
        return fmt.max if value > 0 else fmt.min
    return fmt.min if fmt.min else fmt.max


def _whole(value: Fraction, mode: str) -> Fraction:
    """Return a value rounded to a whole number; one of more than 62 bits is none but that."""
    if value.denominator == 1 or abs(value) >= 1 << 62:
        return Fraction(int(value))
    return grid_of(Int(64, signed=True), mode).round(value)
