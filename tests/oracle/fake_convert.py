"""An independent, slow oracle for OpenVINO FakeConvert.

It follows the text: "data = data * scale - shift; ConvertLike(Convert(data, destination_type),
data); data = (data + shift) / scale", one element at a time, on `fractions.Fraction`. The text
leaves the type of the computation open, so there are seven ways:

1. every operation in the type of the data; 2. the same, but ``data * scale - shift`` at once; 3.
and 4. every operation in float32, in float64, with one rounding at the end; 5. rounding only at the
end; 6. and 7. as 3. and 4., but the value to convert is first rounded to the type of the data.
"""

from fractions import Fraction

from .formats import FLOATS, SilentError, nearest_even, number, rounded

WAYS = (1, 2, 3, 4, 5, 6, 7)
TYPES = ("float16", "bfloat16", "float32")
WORK = {3: "float32", 4: "float64", 6: "float32", 7: "float64"}
DESTINATIONS = {"f8e4m3": "float8e4m3fn", "f8e5m2": "float8e5m2"}
UNDEFINED, ZERO = "undefined", "zero"
"""What is not a code: nothing is expected, or a zero of either sign."""


def expect(name: str, destination: str, way: int, codes: tuple[int, ...]) -> int | str:
    """Return the expected element for codes of data, scale and perhaps shift."""
    try:
        result = compute(name, destination, way, *(number(name, code) for code in codes))
    except SilentError:
        return UNDEFINED
    sign = FLOATS[name].sign if result < 0 else 0
    return nearest_even(name, result) | sign if result else ZERO


def compute(
    name: str, destination: str, way: int, data: Fraction, scale: Fraction, *shift: Fraction
) -> Fraction:
    def in_work(x: Fraction) -> Fraction:
        return x if way == 5 else rounded(WORK.get(way, name), x)

    moved = data * scale
    if way != 2 or not shift:
        moved = in_work(moved)
    if shift:
        moved = in_work(moved - shift[0])
    if way in (6, 7):
        moved = rounded(name, moved)
    back = rounded(DESTINATIONS[destination], moved)
    if shift:
        back = in_work(back + shift[0])
    if scale == 0:
        raise SilentError
    return rounded(name, in_work(back / scale))
