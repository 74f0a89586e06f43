"""An independent, slow oracle for OpenVINO FakeConvert.

It follows the text: "data = data * scale - shift; ConvertLike(Convert(data, destination_type),
data); data = (data + shift) / scale", one element at a time, on `fractions.Fraction`. The text
leaves the type of the computation open, so there are seven ways:

1. every operation in the type of the data; 2. the same, but ``data * scale - shift`` at once; 3.
and 4. every operation in float32, in float64, with one rounding at the end; 5. rounding only at the
end; 6. and 7. as 3. and 4., but the value to convert is first rounded to the type of the data.
"""

from dataclasses import dataclass
from fractions import Fraction

from .formats import FLOATS, decode, nearest_even

WAYS = (1, 2, 3, 4, 5, 6, 7)
TYPES = ("float16", "bfloat16", "float32")
WORK = {3: "float32", 4: "float64", 6: "float32", 7: "float64"}
DESTINATIONS = {"f8e4m3": "float8e4m3fn", "f8e5m2": "float8e5m2"}
UNDEFINED, ZERO = "undefined", "zero"
"""What is not a code: nothing is expected, or a zero of either sign."""


@dataclass(frozen=True)
class Real:
    """A finite number. Zeros may have a known sign."""

    value: Fraction
    negative: bool


class SilentError(Exception):
    """The text leaves this open: overflow, Inf, NaN, a scale of 0."""


def expect(name: str, destination: str, way: int, codes: tuple[int, ...]) -> int | str:
    """Return the expected element for codes of data, scale and perhaps shift."""
    try:
        data, scale, *shift = (read(name, code) for code in codes)
        result = compute(name, DESTINATIONS[destination], way, data, scale, shift)
    except SilentError:
        return UNDEFINED
    if result.value == 0:
        return ZERO
    magnitude = nearest_even(name, result.value)
    return magnitude | (FLOATS[name].sign if result.negative else 0)


def read(name: str, code: int) -> Real:
    value = decode(name, code)
    if value == "-0":
        return Real(Fraction(0), True)
    if isinstance(value, str):
        raise SilentError
    return Real(value, value < 0)


def compute(
    name: str, destination: str, way: int, data: Real, scale: Real, shift: list[Real]
) -> Real:
    work = WORK.get(way, name)

    def in_work(x: Real) -> Real:
        return x if way == 5 else rounded(work, x)

    product = times(data, scale)
    if way != 2 or not shift:
        product = in_work(product)
    moved = in_work(minus(product, shift[0])) if shift else product
    if way in (6, 7):
        moved = rounded(name, moved)
    back = converted(destination, moved)
    if shift:
        back = in_work(plus(back, shift[0]))
    return rounded(name, in_work(over(back, scale)))


def rounded(name: str, x: Real) -> Real:
    code = nearest_even(name, x.value)
    if code > FLOATS[name].largest:
        raise SilentError
    magnitude = FLOATS[name].magnitude(code)
    return Real(-magnitude if x.negative else magnitude, x.negative)


def converted(destination: str, x: Real) -> Real:
    return rounded(destination, x)


def times(x: Real, y: Real) -> Real:
    return Real(x.value * y.value, x.negative != y.negative)


def over(x: Real, y: Real) -> Real:
    if y.value == 0:
        raise SilentError
    return Real(x.value / y.value, x.negative != y.negative)


def plus(x: Real, y: Real) -> Real:
    """Add. A zero sum is negative only if both are: "when the sum of two operands with opposite
    signs is exactly zero, the sign of that sum shall be +0" (IEEE 754, 6.3).
    """
    value = x.value + y.value
    return Real(value, value < 0 or (value == 0 and x.negative and y.negative))


def minus(x: Real, y: Real) -> Real:
    return plus(x, Real(-y.value, not y.negative))
