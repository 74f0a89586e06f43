"""An independent, slow oracle for OpenVINO Convert-1 and ConvertLike-1, on `fractions.Fraction`."""

from fractions import Fraction

from .formats import FLOATS, INTEGERS, UNSIGNED, WIDTHS, decode, nearest_even, span
from .question import DISPUTED, IMPLIED, NAN, NORMATIVE, UNDEFINED, Want, bits


def expect(operator: str, source: str, destination: str, code: int) -> Want:
    value = decode(source, code)
    if value in ("nan", "-nan") and destination in FLOATS:
        return Want(IMPLIED, (NAN,))
    if source == destination:
        return bits(NORMATIVE, code)
    if destination == "bool":
        return bits(IMPLIED, int(value not in (0, "-0")))
    if isinstance(value, str):
        return _special(destination, value)
    whole = source in INTEGERS or source == "bool"
    if destination in INTEGERS:
        return _to_integer(operator, value, destination, whole)
    return _to_float(value, destination, whole)


def _special(destination: str, word: str) -> Want:
    if destination in INTEGERS:
        return bits(NORMATIVE, 0) if word == "-0" else UNDEFINED
    float_ = FLOATS[destination]
    if word == "-0":
        return bits(IMPLIED, float_.sign)
    if float_.specials != "ieee":
        return UNDEFINED
    return bits(IMPLIED, float_.largest + 1 + (float_.sign if word == "-inf" else 0))


def _to_integer(operator: str, value: Fraction, destination: str, whole: bool) -> Want:
    low, high = span(destination)
    wraps = operator == "openvino.Convert" and whole and value < 0 and destination in UNSIGNED
    if not low <= value <= high and not wraps:
        return UNDEFINED
    # "congruent to the source integer modulo 2^N"; "3.141592 may be round to a 32-bit int 3"
    level = NORMATIVE if value.denominator == 1 else DISPUTED
    wholes = dict.fromkeys((int(value), round(value)))
    return Want(level, tuple(("bits", x % 2 ** WIDTHS[destination]) for x in wholes))


def _to_float(value: Fraction, destination: str, whole: bool) -> Want:
    float_ = FLOATS[destination]
    sign = float_.sign if value < 0 else 0
    magnitude = nearest_even(destination, value)
    if whole and abs(value) > float_.magnitude(float_.largest):
        return UNDEFINED
    if magnitude > float_.largest:
        return UNDEFINED if WIDTHS[destination] == 8 else bits(IMPLIED, sign + float_.largest + 1)
    exact = float_.magnitude(magnitude) == abs(value)
    return bits(NORMATIVE if exact else IMPLIED, sign + magnitude)
