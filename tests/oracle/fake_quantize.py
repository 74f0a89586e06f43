"""An independent, slow oracle for OpenVINO FakeQuantize, on `fractions.Fraction`.

The text leaves open the type of the computation and ties of `round`; a way fixes both. In a wider
type the last bit depends on the order of operations, so rounded results next to a tie are not
checked.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import floor

from .formats import FLOATS, SilentError, decode, nearest_even, number, rounded

UNDEFINED, ZERO = "undefined", "zero"
"""What is not a code: nothing is expected, or a zero of either sign."""


@dataclass(frozen=True)
class Way:
    """The type of the computation ('' for that of the data) or exactly, the direction of ties, and
    whether the last product and sum are rounded at once.
    """

    work: str = ""
    exact: bool = False
    away: bool = False
    fused: bool = False


WAYS = (
    Way(),
    Way(away=True),
    Way(fused=True),
    Way("float32"),
    Way("float32", away=True),
    Way("float64"),
    Way("float64", away=True),
    Way(exact=True),
    Way(exact=True, away=True),
)


def expect(name: str, levels: int, way: Way, codes: tuple[int, ...]) -> int | str:
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
    low, high, output_low, output_high = limits
    if x in ("nan", "-nan"):
        raise SilentError
    x = Fraction(0) if x == "-0" else x
    if x == "-inf" or (not isinstance(x, str) and x <= min(low, high)):
        return output_low
    if isinstance(x, str) or x > max(low, high):
        return output_high

    work = way.work if way.work != "float32" or name != "float32" else ""

    def to(value: Fraction) -> Fraction:
        return value if way.exact else rounded(work or name, value)

    steps = to(Fraction(levels - 1))
    moved, width = to(x - low), to(high - low)
    share = to(moved / width)
    place = to(share * steps)
    rounds = (moved, width, share, place) != (x - low, high - low, moved / width, share * steps)
    if work and rounds and beside_tie(work, place):
        raise SilentError
    product = to(whole(place, way.away) / steps), to(output_high - output_low)
    scaled = product[0] * product[1]
    return to((scaled if way.fused else to(scaled)) + output_low)


def beside_tie(work: str, place: Fraction) -> bool:
    """Return whether a value of a type, or a neighbour, is half-way between integers."""
    code = nearest_even(work, abs(place))
    near = (FLOATS[work].magnitude(each) for each in (max(code - 1, 0), code, code + 1))
    return any(each % 1 == Fraction(1, 2) for each in near)


def whole(value: Fraction, away: bool) -> Fraction:
    if not away:
        return Fraction(round(value))
    return Fraction(floor(abs(value) + Fraction(1, 2))) * (-1 if value < 0 else 1)
