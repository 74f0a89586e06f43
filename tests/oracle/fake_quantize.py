"""An independent, slow oracle for OpenVINO FakeQuantize.

Written from the text, one element at a time, on `fractions.Fraction`. The text says neither in
which type it is computed nor what `round` does with a tie; a way says both.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import floor

from .formats import FLOATS, decode, nearest_even
from .ranges import SilentError, number

WIDER = {"float16": "float32", "bfloat16": "float32", "float32": "float64"}
UNDEFINED, ZERO = "undefined", "zero"
"""What is not a code: nothing is expected, or a zero of either sign."""


@dataclass(frozen=True)
class Way:
    """In which type it is computed ('' for none), to where ties go, and whether the last product
    and sum are rounded at once.
    """

    wider: bool = False
    exact: bool = False
    away: bool = False
    fused: bool = False


WAYS = (
    Way(),
    Way(away=True),
    Way(fused=True),
    Way(wider=True),
    Way(wider=True, away=True),
    Way(exact=True),
    Way(exact=True, away=True),
)


def expect(name: str, levels: int, way: Way, codes: tuple[int, ...]) -> int | str:
    """What one element has to be: codes of x, input_low, input_high, output_low, output_high."""
    x, *limits = codes
    try:
        parts = [number(name, code) for code in limits]
        value = rounded(name, compute(name, levels, way, decode(name, x), parts))
    except SilentError:
        return UNDEFINED
    if value == 0:
        return ZERO
    return nearest_even(name, abs(value)) | (FLOATS[name].sign if value < 0 else 0)


def compute(
    name: str, levels: int, way: Way, x: Fraction | str, limits: list[Fraction]
) -> Fraction:
    """The expression of the text."""
    low, high, output_low, output_high = limits
    if x in ("nan", "-nan"):
        raise SilentError
    x = Fraction(0) if x == "-0" else x
    if x == "-inf" or (not isinstance(x, str) and x <= min(low, high)):
        return output_low
    if isinstance(x, str) or x > max(low, high):
        return output_high

    def to(value: Fraction) -> Fraction:
        return value if way.exact else rounded(WIDER[name] if way.wider else name, value)

    steps = to(Fraction(levels - 1))
    place = to(to(to(x - low) / to(high - low)) * steps)
    product = to(whole(place, way.away) / steps), to(output_high - output_low)
    scaled = product[0] * product[1]
    return to((scaled if way.fused else to(scaled)) + output_low)


def whole(value: Fraction, away: bool) -> Fraction:
    if not away:
        return Fraction(round(value))
    return Fraction(floor(abs(value) + Fraction(1, 2))) * (-1 if value < 0 else 1)


def rounded(name: str, value: Fraction) -> Fraction:
    """To the nearest value of a format, of two the one whose last bit is 0."""
    code = nearest_even(name, abs(value))
    if code > FLOATS[name].largest:
        raise SilentError
    return FLOATS[name].magnitude(code) * (-1 if value < 0 else 1)
