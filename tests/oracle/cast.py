"""ONNX Cast by its text, sentence by sentence."""

from functools import cache

from .formats import E8M0, FLOATS, INTEGERS, Value, decode, nearest_even, span
from .narrow import to_e8m0, to_float8, to_saturating
from .question import (
    DISPUTED,
    FLOAT8,
    IMPLIED,
    MINUS_NAN,
    NAN,
    NARROW_INTEGERS,
    NORMATIVE,
    UNDEFINED,
    WIDE,
    Ask,
    Pattern,
    Want,
    bits,
    edition,
    is_float,
    stated,
    types,
)
from .text import read_float, read_integer

__all__ = ["Pattern", "Want", "expect", "types"]


def expect(
    version: int, source: str, destination: str, attributes: dict[str, object], x: int | str
) -> Want:
    ask = question(version, source, destination, attributes)
    return ask if isinstance(ask, Want) else answer(ask, x)


def question(
    version: int, source: str, destination: str, attributes: dict[str, object]
) -> Ask | Want:
    """Return the question for each x, or the expectation if it is the same for all."""
    known = types(version)
    if "to" in attributes:  # missing or another: "Strictly must be one of the types from DataType"
        return UNDEFINED
    if source not in known or destination not in known:
        return UNDEFINED
    saturate, round_mode = attributes.get("saturate", 1), attributes.get("round_mode", "up")
    if destination == E8M0 and round_mode not in ("up", "down", "nearest"):
        return UNDEFINED
    if (destination in FLOAT8 or destination == E8M0) and saturate not in (0, 1):
        return UNDEFINED
    since = edition(version, destination)
    return Ask(since, source, destination, bool(saturate), str(round_mode))


def answer(ask: Ask, x: int | str) -> Want:
    if ask.source == "string":
        if not isinstance(x, str):
            raise TypeError(f"{x!r} is no string")
        return _from_string(ask, x)
    if isinstance(x, str):
        raise TypeError(f"{x!r} is no bit pattern")
    if ask.destination == "string":
        return _to_string(ask)
    value = decode(ask.source, x)
    return _same_type(ask, value, x) if ask.source == ask.destination else _convert(ask, value)


def _convert(ask: Ask, value: Value) -> Want:
    want = _by_destination(ask, value)
    one_byte = ask.destination in FLOAT8 or ask.destination == E8M0
    if ask.source != "float64" or not one_byte or want.level != NORMATIVE:
        return want
    twice = _by_destination(ask, _float32(value))
    return want if want.readings == twice.readings else Want(IMPLIED, want.readings)


def _float32(value: Value) -> Value:
    if isinstance(value, str):
        return value
    float_, negative = FLOATS["float32"], value.numerator < 0
    code = nearest_even("float32", value)
    if code > float_.largest:
        return "-inf" if negative else "inf"
    return decode("float32", code + float_.sign if negative else code)


def _by_destination(ask: Ask, value: Value) -> Want:
    if ask.destination in WIDE:
        return _to_wide(ask, value)
    if ask.destination in FLOAT8:
        return to_float8(ask, value)
    if ask.destination in INTEGERS:
        return _to_integer(ask, value)
    if ask.destination == "bool":
        return _to_bool(ask, value)
    return to_e8m0(ask, value) if ask.destination == E8M0 else to_saturating(ask, value)


def _same_type(ask: Ask, value: Value, code: int) -> Want:
    """Keep the value; but into float 8 "the conversion of a float *x* obeys to" the tables.

    "bool: no change." "fixed point: when OOR, discard higher bits": there are none.
    """
    same: Pattern = NAN if value in ("nan", "-nan") else ("bits", code)
    if ask.destination in FLOAT8:
        return Want(DISPUTED, (*to_float8(ask, value).readings, same))
    return Want(IMPLIED if is_float(ask.source) else stated(ask), (same,))


def _to_bool(ask: Ask, value: Value) -> Want:
    """ "bool: +/- 0.0 to False; all else to True", "zero to False; nonzero to True".

    It is implied that float8e8m0's code 0, written 0 in its table, is not a zero.
    """
    if isinstance(value, str):
        return bits(stated(ask), 0 if value == "-0" else 1)
    least = ask.source == E8M0 and value == decode(E8M0, 0)
    return bits(IMPLIED if least else stated(ask), 0 if value == 0 else 1)


def _to_integer(ask: Ask, value: Value) -> Want:
    """From floating point to "fixed point: undefined if OOR (out of range)"; -0 is 0."""
    low, high = span(ask.destination)
    if isinstance(value, str):
        if value != "-0":
            return UNDEFINED
        toward_zero = 0
    elif not is_float(ask.source):
        return _wrap(ask, int(value))
    elif not low * value.denominator <= value.numerator <= high * value.denominator:
        return UNDEFINED
    else:
        toward_zero = int(value)
    size = int(2 ** INTEGERS[ask.destination])
    if ask.destination in NARROW_INTEGERS:
        # "Cast to a 4 bit type is done by rounding to the nearest-integer (with ties to even)"
        nearest = 0 if isinstance(value, str) else round(value)
        return bits(DISPUTED, nearest % size, toward_zero % size)
    return bits(IMPLIED, toward_zero % size)


def _wrap(ask: Ask, value: int) -> Want:
    """From fixed point to "fixed point: when OOR, discard higher bits and reinterpret (with
    respect to two's complement representation for signed types)"; from bool "{1, 0}"."""
    return bits(stated(ask), value % int(2 ** INTEGERS[ask.destination]))


def _to_wide(ask: Ask, value: Value) -> Want:
    """To "floating point: +/- infinity if OOR (out of range)"; from bool "{1.0, 0.0}"."""
    float_ = FLOATS[ask.destination]
    if isinstance(value, str):
        return _special_to_wide(ask, value)
    code, sign = nearest_even(ask.destination, value), float_.sign if value.numerator < 0 else 0
    if code > float_.largest:
        return bits(stated(ask), sign + float_.largest + 1)
    return bits(stated(ask) if ask.source == "bool" else IMPLIED, sign + code)


def _special_to_wide(ask: Ask, value: str) -> Want:
    """Infinities are out of range; NaN stays NaN; -0 stays -0.

    The technical note on float 8 sources: "The conversion does not necessarily preserve the sign
    for specific values such as `-0` or `-NaN`."
    """
    float_ = FLOATS[ask.destination]
    if value == "-0":
        both = (float_.sign, 0)
        return bits(DISPUTED, *both) if ask.source in FLOAT8 else bits(IMPLIED, float_.sign)
    if value in ("inf", "-inf"):
        infinity = float_.largest + 1
        return bits(stated(ask), infinity + float_.sign if value == "-inf" else infinity)
    return Want(IMPLIED, (NAN,))


@cache
def _to_string(ask: Ask) -> Want:
    """ "When casting from numeric tensors to string tensors, plain floating-point representation
    (such as "314.15926") would be used." The number of digits is open.
    """
    if ask.source == "bool":
        return UNDEFINED
    if ask.source in INTEGERS:
        return Want(IMPLIED, (("parses-to-x",),))
    return Want(DISPUTED, (("plain-to-x",), ("plain",), ("parses-to-x",), ("parses",)))


def _from_string(ask: Ask, text: str) -> Want:
    """ "Casting from string tensor in plain … and scientific numeric representations … to float
    types is supported." "Converting non-numerical-literal string … is an undefined behavior." """
    if ask.destination == "string":
        return bits(IMPLIED, text)
    if ask.destination in INTEGERS:
        return _string_to_integer(ask, text)
    reading = None if ask.destination == "bool" else read_float(text)
    if reading is None:
        return UNDEFINED
    want = _convert(ask, reading.value)
    if not reading.named or MINUS_NAN in want.readings:
        return want
    known = ask.destination in WIDE or ask.destination in FLOAT8
    return Want(NORMATIVE, want.readings) if known else want


def _string_to_integer(ask: Ask, text: str) -> Want:
    """Integer literals in range; "undefined if OOR"."""
    value = read_integer(text)
    low, high = span(ask.destination)
    if value is None or not low <= value <= high:
        return UNDEFINED
    return bits(IMPLIED, value % int(2 ** INTEGERS[ask.destination]))
