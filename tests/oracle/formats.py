"""Meanings of bit patterns: decoding, and the lists of values of formats.

A value is a `Fraction`, or one of 'nan', '-nan' (sign bit set), 'inf', '-inf' and '-0'. A
magnitude's number is its code without the sign bit. Numbers past the largest finite code continue
with the same mantissa width and unbounded exponents. `[x]`, "the value rounded to the target
mantissa width", is looked up in that continued list.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from itertools import pairwise
from typing import Literal, TypeAlias

Value: TypeAlias = Fraction | str

EXACT, BELOW, TIE, ABOVE = range(4)
"""Where a number lies between two neighbours: on the lower one, or by the middle of the two."""

BINADES_PAST_MAX = 2


@dataclass(frozen=True)
class Float:
    """Sign, exponent and mantissa bits, with the format's own specials.

    ieee: all ones in the exponent is Inf (mantissa 0) or NaN. fn: only S.1…1.1…1 is NaN and there
    is no Inf. fnuz: "only one zero and one nan (= negative zero)". finite: "no nan or infinities".
    """

    bits: int
    mantissa: int
    bias: int
    specials: Literal["ieee", "fn", "fnuz", "finite"]

    @cached_property
    def sign(self) -> int:
        return int(2 ** (self.bits - 1))

    @cached_property
    def binade(self) -> int:
        return int(2**self.mantissa)

    @cached_property
    def largest(self) -> int:
        last = self.sign - 1
        return {"ieee": last - self.binade, "fn": last - 1}.get(self.specials, last)

    @cached_property
    def negative_zero(self) -> int:
        """The code of -0, or of zero in a format without -0."""
        return 0 if self.specials == "fnuz" else self.sign

    def magnitude(self, code: int) -> Fraction:
        """Return 2^(e-bias) * 1.m, or 2^(1-bias) * 0.m if the exponent field is 0."""
        exponent, fraction = divmod(code, self.binade)
        if exponent == 0:
            return fraction * power(1 - self.bias - self.mantissa)
        return (self.binade + fraction) * power(exponent - self.bias - self.mantissa)

    def decode(self, code: int) -> Value:
        if self.specials == "fnuz" and code == self.sign:
            return "nan"
        negative, magnitude = divmod(code, self.sign)
        if magnitude > self.largest:
            infinite = self.specials == "ieee" and magnitude == self.largest + 1
            return ("-" if negative else "") + ("inf" if infinite else "nan")
        if negative:
            return -self.magnitude(magnitude) if magnitude else "-0"
        return self.magnitude(magnitude)


FLOATS = {
    "float16": Float(16, 10, 15, "ieee"),
    "float32": Float(32, 23, 127, "ieee"),
    "float64": Float(64, 52, 1023, "ieee"),
    "bfloat16": Float(16, 7, 127, "ieee"),
    "float8e4m3fn": Float(8, 3, 7, "fn"),
    "float8e4m3fnuz": Float(8, 3, 8, "fnuz"),
    "float8e5m2": Float(8, 2, 15, "ieee"),
    "float8e5m2fnuz": Float(8, 2, 16, "fnuz"),
    "float4e2m1": Float(4, 1, 1, "finite"),
    "float6e2m3": Float(6, 3, 1, "finite"),
    "float6e3m2": Float(6, 2, 3, "finite"),
}
E8M0 = "float8e8m0"
E8M0_BIAS = 127
E8M0_NAN = 255
SIGNED = {"int2": 2, "int4": 4, "int8": 8, "int16": 16, "int32": 32, "int64": 64}
UNSIGNED = {"uint2": 2, "uint4": 4, "uint8": 8, "uint16": 16, "uint32": 32, "uint64": 64}
INTEGERS = SIGNED | UNSIGNED
WIDTHS = INTEGERS | {name: float_.bits for name, float_ in FLOATS.items()} | {E8M0: 8, "bool": 1}


@cache
def power(exponent: int) -> Fraction:
    return Fraction(2) ** exponent


@cache
def span(name: str) -> tuple[int, int]:
    if name in SIGNED:
        half = int(2 ** (SIGNED[name] - 1))
        return -half, half - 1
    return 0, int(2 ** UNSIGNED[name]) - 1


def decode(name: str, code: int) -> Value:
    if not 0 <= code < 2 ** WIDTHS[name]:
        raise ValueError(f"{code} is no code of {name}")
    if WIDTHS[name] <= 16:
        return _decoded(name)[code]
    return _decode(name, code)


@cache
def _decoded(name: str) -> tuple[Value, ...]:
    return tuple(_decode(name, code) for code in range(2 ** WIDTHS[name]))


def _decode(name: str, code: int) -> Value:
    if name in FLOATS:
        return FLOATS[name].decode(code)
    if name == E8M0:
        return "nan" if code == E8M0_NAN else power(code - E8M0_BIAS)
    if name in SIGNED and code > span(name)[1]:
        return Fraction(code - 2 ** SIGNED[name])
    return Fraction(code)


@dataclass(frozen=True)
class Grid:
    """The magnitudes of a format in ascending order, scaled by one power of two."""

    scale: int
    points: Sequence[int]

    def locate(self, x: Fraction) -> tuple[int, int]:
        """Return the number of the greatest point not above |x|, and the position of |x| after
        it.

        |x| is at least the first point. Beyond the last point, the last one is returned, which
        exceeds the largest value.
        """
        over, under = abs(x.numerator) * self.scale, x.denominator
        at = bisect_right(self.points, over // under) - 1
        if at == len(self.points) - 1:
            return at, EXACT
        low, high = self.points[at], self.points[at + 1]
        if over == low * under:
            return at, EXACT
        return at, _side(2 * over, (low + high) * under)


def _side(number: int, middle: int) -> int:
    if number == middle:
        return TIE
    return BELOW if number < middle else ABOVE


@cache
def grid(name: str) -> Grid:
    if name == E8M0:
        codes = range(E8M0_NAN + BINADES_PAST_MAX)
        values = [power(code - E8M0_BIAS) for code in codes]
    else:
        float_ = FLOATS[name]
        codes = range(float_.largest + BINADES_PAST_MAX * float_.binade + 1)
        values = [float_.magnitude(code) for code in codes]
    scale = max(value.denominator for value in values[:2])
    return Grid(scale, [int(value * scale) for value in values])


def locate(name: str, x: Fraction) -> tuple[int, int]:
    if WIDTHS[name] <= 16:
        return grid(name).locate(x)
    return _locate_wide(FLOATS[name], x)


def _locate_wide(float_: Float, x: Fraction) -> tuple[int, int]:
    over, under = abs(x.numerator), x.denominator
    if over == 0:
        return 0, EXACT
    exponent = max(_binary_exponent(over, under), 1 - float_.bias)
    over, under = _times_power(over, under, float_.mantissa - exponent)
    steps, rest = divmod(over, under)
    code = (exponent + float_.bias - 1) * float_.binade + steps
    return code, EXACT if rest == 0 else _side(2 * rest, under)


def _binary_exponent(over: int, under: int) -> int:
    guess = over.bit_length() - under.bit_length()
    over, under = _times_power(over, under, -guess)
    return guess if over >= under else guess - 1


def _times_power(over: int, under: int, exponent: int) -> tuple[int, int]:
    return (over << exponent, under) if exponent >= 0 else (over, under << -exponent)


def nearest_even(name: str, x: Fraction) -> int:
    """Return `[|x|]`, ties to even, as a continued code."""
    code, side = locate(name, x)
    if side == TIE:
        return code + code % 2
    return code + 1 if side == ABOVE else code


class SilentError(Exception):
    """The text leaves this open: NaN, Inf, a step or scale of 0, overflow."""


def number(name: str, code: int) -> Fraction:
    value = decode(name, code)
    if value == "-0":
        return Fraction(0)
    if isinstance(value, str):
        raise SilentError
    return value


def rounded(name: str, x: Fraction) -> Fraction:
    """Round to a float, ties to even. Raises SilentError beyond its range."""
    code = nearest_even(name, x)
    if code > FLOATS[name].largest:
        raise SilentError
    return FLOATS[name].magnitude(code) * (-1 if x < 0 else 1)


def boundaries(destination: str) -> list[Fraction]:
    """Return a destination's values and midpoints of up to 8 bits, in ascending order.

    Signed formats have both signs. The list continues two binades past the largest magnitude, and
    for e8m0 two below the smallest. Integers and bool continue in steps of a half to four times
    their ends; unsigned ones continue below 0 to minus their greatest.
    """
    if WIDTHS[destination] > 8:
        raise ValueError(f"{destination} has too many boundaries")
    if destination == E8M0:
        return _with_midpoints([power(e) for e in range(-E8M0_BIAS - 2, E8M0_BIAS + 3)])
    if destination in FLOATS:
        points = grid(destination)
        positive = [Fraction(point, points.scale) for point in points.points]
        return _with_midpoints([-value for value in positive[:0:-1]] + positive)
    low, high = (0, 1) if destination == "bool" else span(destination)
    return _with_midpoints([Fraction(k) for k in range(min(4 * low, -high), 4 * high + 1)])


def _with_midpoints(values: list[Fraction]) -> list[Fraction]:
    middles = [(low + high) / 2 for low, high in pairwise(values)]
    return sorted(values + middles)
