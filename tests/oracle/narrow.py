"""To the floats of 8 bits and fewer: float8, float8e8m0, float6 and float4."""

from fractions import Fraction

from .formats import ABOVE, E8M0, E8M0_BIAS, E8M0_NAN, EXACT, FLOATS, TIE, Value, locate, power
from .formats import nearest_even as nearest
from .question import (
    FLOAT8,
    IMPLIED,
    MINUS_NAN,
    NAN,
    NORMATIVE,
    UNDEFINED,
    WIDE,
    Ask,
    Want,
    bits,
    is_float,
)

E8M0_LEAST, E8M0_GREATEST = power(-E8M0_BIAS), power(E8M0_NAN - 1 - E8M0_BIAS)


def to_float8(ask: Ask, value: Value) -> Want:
    """ "By default the conversion of a float *x* obeys to the following rules", two tables.

    They are about a float x. For integers, bool, strings, narrower and later floats they are
    implied.
    """
    level = NORMATIVE if ask.source in WIDE or ask.source in FLOAT8 else IMPLIED
    if isinstance(value, str):
        return _special_to_float8(ask, level, value)
    float_, negative = FLOATS[ask.destination], value.numerator < 0
    code = nearest(ask.destination, value)
    if code > float_.largest:
        return _overflow_to_float8(ask, level, negative=negative)
    if code == 0 and negative:
        # [x] is a zero. FNUZ has one. The others keep the sign, as in IEEE 754.
        return _bits_of_zero(ask, level if float_.specials == "fnuz" else IMPLIED)
    return bits(level, code + float_.sign if negative else code)


def _special_to_float8(ask: Ask, level: str, value: str) -> Want:
    """Row "-0": "-0" or, in FNUZ, "0". Rows "NaN", "-NaN", "Inf", "-Inf"."""
    if value == "-0":
        return _bits_of_zero(ask, level)
    if _prints_minus_nan(ask, value):
        return Want(IMPLIED, (MINUS_NAN,))
    fnuz = FLOATS[ask.destination].specials == "fnuz"
    if value in ("nan", "-nan") or (ask.saturate and fnuz and ask.edition < 24):
        # "+/- Inf" saturating to FNUZ: "NaN" until version 23, "FLT_MAX" from 24 on.
        return Want(level, (NAN,))
    return _overflow_to_float8(ask, level, negative=value == "-inf")


def _bits_of_zero(ask: Ask, level: str) -> Want:
    return bits(level, FLOATS[ask.destination].negative_zero)


def _prints_minus_nan(ask: Ask, value: str) -> bool:
    """The cells "-NaN" of the table without saturation, from version 23 on."""
    if ask.saturate or ask.edition < 23:
        return False
    columns = {"-nan": ("float8e4m3fn", "float8e5m2"), "-inf": ("float8e4m3fn",)}
    return ask.destination in columns.get(value, ())


def _overflow_to_float8(ask: Ask, level: str, *, negative: bool) -> Want:
    """Rows "[x] > FLT_MAX" and "[x] < -FLT_MAX", shared with Inf."""
    float_ = FLOATS[ask.destination]
    sign = float_.sign if negative else 0
    if ask.saturate:
        return bits(level, sign + float_.largest)
    if ask.destination == "float8e5m2":
        return bits(level, sign + float_.largest + 1)
    return Want(level, (NAN,))


def to_e8m0(ask: Ask, value: Value) -> Want:
    """ "The following table describes the casting behavior of special values to FLOAT8E8M0 in
    the two most common cases": saturate + up, and non-saturate + nearest."""
    level = NORMATIVE if is_float(ask.source) else IMPLIED
    if value in ("nan", "-nan"):
        in_table = (ask.saturate, ask.round_mode) in ((True, "up"), (False, "nearest"))
        return Want(level if in_table else IMPLIED, (NAN,))
    if value == "inf":
        return _outside_e8m0(ask, level, E8M0_NAN - 1)
    if isinstance(value, str) or value.numerator < 0:
        return UNDEFINED  # "Casting negative values to FLOAT8E8M0 gives undefined behavior."
    if value > E8M0_GREATEST:
        return _outside_e8m0(ask, level, E8M0_NAN - 1)
    if value == 0:  # "0" is code 0, though there is no zero; "NaN" is a NaN
        return _outside_e8m0(ask, IMPLIED if ask.saturate else level, 0)
    if value < E8M0_LEAST:
        return _outside_e8m0(ask, level, 0)
    return bits(level, _round_to_e8m0(ask.round_mode, value))


def _outside_e8m0(ask: Ask, level: str, end: int) -> Want:
    """Rows "0", "Inf", "x > E8M0_MAX" and "x < E8M0_MIN": an end of the range, or "NaN".

    "0" in the first column is code 0, 2^-127. The other columns are not in the table.
    """
    if ask.saturate and ask.round_mode == "up":
        return bits(level, end)
    if not ask.saturate and ask.round_mode == "nearest":
        return Want(level, (NAN,))
    return UNDEFINED


def _round_to_e8m0(round_mode: str, x: Fraction) -> int:
    """ "`up`: round to nearest value away from zero, `down`: round to nearest value towards
    zero, `nearest`: round to nearest value and ties round up." """
    code, side = locate(E8M0, x)
    if round_mode == "up":
        return code if side == EXACT else code + 1
    return code + 1 if round_mode == "nearest" and side in (TIE, ABOVE) else code


def to_saturating(ask: Ask, value: Value) -> Want:
    """To the floats without infinities and NaNs, by their technical notes.

    float 4: "-6<=x<=6: … Round to nearest even", "x=+/-0: +/-0", "x>6: 6", "x<-6: -6", and the same
    for infinities. float 6: "Downcasting RNE with saturation", "-0.0", "inf", "7.5 (sat)".
    """
    float_ = FLOATS[ask.destination]
    if isinstance(value, str):
        ends = {"-0": float_.sign, "inf": float_.largest, "-inf": float_.sign + float_.largest}
        return bits(IMPLIED, ends[value]) if value in ends else UNDEFINED
    code = min(nearest(ask.destination, value), float_.largest)
    return bits(IMPLIED, code + float_.sign if value.numerator < 0 else code)
