"""Every law of a survey, held to answers computed from exact values, and to near misses."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from catalogue import CATALOG
from oracle import decode

from convcheck.numerics.codec import decode as numbers
from convcheck.numerics.format import Bits
from convcheck.semantics.vocabulary import Points
from convcheck.survey.law_words import with_one_nan
from convcheck.survey.laws import LAWS, MEANINGS, fits_of, fitting
from convcheck.vectors.inputs import numeric_inputs

TYPES = CATALOG.types.types
Value = Any  # a Fraction, or 'nan', 'inf', '-inf', '-0', '-nan'; a text


def points(source: str, target: str, codes: Any) -> Points:
    fmt = TYPES[source].format
    bits: Bits = np.array(codes, fmt.storage)
    return Points(fmt, TYPES[target].format, bits, numbers(fmt, bits))


def edge(source: str, target: str, wanted: Callable[[Value], bool]) -> list[int]:
    """The edge inputs of a pair that a row might decide."""
    bits, _ = numeric_inputs(TYPES[source].format, TYPES[target].format, "edge", 0)
    return [code for code in bits.tolist() if wanted(decode(source, code))]


# What each law says, from the exact value x; bits and sign of the destination.


def number(x: Value) -> bool:
    return isinstance(x, Fraction)


def negative(x: Value) -> bool:
    return x.startswith("-") if isinstance(x, str) else x < 0


def half_even(x: Fraction) -> int:
    return round(x)


def half_away(x: Fraction) -> int:
    whole = int(abs(x) + Fraction(1, 2))
    return -whole if x < 0 else whole


def by_way_of(bits: int, rounds: Callable[[Fraction], int], clamped: bool) -> Callable[..., int]:
    least, most = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1

    def answer(x: Value, code: int) -> int:
        if number(x) and least <= rounds(x) <= most:
            return rounds(x)
        if x == "-0":
            return 0
        if clamped and x in ("nan", "-nan"):
            return 0
        return most if clamped and not negative(x) else least

    return answer


@dataclass(frozen=True)
class Plant:
    """A law's pair of types, the inputs it speaks of, and what it answers (mod the width)."""

    source: str
    target: str
    inputs: Callable[[Value], bool]
    answer: Callable[[Value, int], int]


def beyond(low: int, high: int, finite: bool = False) -> Callable[[Value], bool]:
    """Out of a range, on either side."""
    return lambda x: not low <= x <= high if number(x) else not finite and x != "-0"


FAR = beyond(-128, 127)


def not_nan(x: Value) -> bool:
    return FAR(x) and x not in ("nan", "-nan")


FINITE = beyond(-128, 127, finite=True)
INT_PLANTS = {
    "clamps": Plant("float32", "int8", not_nan, lambda x, c: -128 if negative(x) else 127),
    "INT_MIN": Plant("float32", "int8", FAR, lambda x, c: -128),
    "wraps": Plant("float64", "int8", FINITE, lambda x, c: int(x)),
    "to nearest even, wraps": Plant("float32", "int4", beyond(-8, 7, True),
                                    lambda x, c: half_even(x)),
    "half away from zero, wraps": Plant("float32", "int4", beyond(-8, 7, True),
                                        lambda x, c: half_away(x)),
    "0": Plant("float32", "int8", FAR, lambda x, c: 0),
    "max": Plant("float32", "int8", FAR, lambda x, c: 127),
    "only the top bit set": Plant("float32", "uint8", FAR, lambda x, c: 128),
    "-1": Plant("float32", "int8", FAR, lambda x, c: -1),
    "low bits of the code": Plant("float32", "int8", FAR, lambda x, c: c),
    "high bits of the code": Plant("float32", "int8", FAR, lambda x, c: c >> 24),
    **{
        f"{said}through int{bits}, {end}": Plant(
            "float64", "int4" if said else "uint16",
            beyond(-8, 7) if said else beyond(0, 65535), by_way_of(bits, rounds, clamped))
        for said, rounds in (("", int), ("to nearest even, ", half_even),
                             ("half away from zero, ", half_away))
        for bits in (32, 64)
        for end, clamped in (("INT_MIN beyond", False), ("clamped", True))
    },
}  # fmt: skip


def planted(plant: Plant) -> tuple[Points, Bits]:
    codes = edge(plant.source, plant.target, plant.inputs)
    fmt = TYPES[plant.target].format
    answers = [plant.answer(decode(plant.source, c), c) % (1 << fmt.bits) for c in codes]
    return points(plant.source, plant.target, codes), np.array(answers, fmt.storage)


@pytest.mark.parametrize("name", INT_PLANTS)
def test_a_law_of_integers_is_recognised_and_a_near_miss_is_not(name: str) -> None:
    asked, got = planted(INT_PLANTS[name])
    assert len(got) > 20
    assert name in fitting(asked, got)
    for i in (0, len(got) // 2, len(got) - 1):
        near = got.copy()
        near[i] ^= 1
        assert name not in fitting(asked, near)
    assert fits_of(asked, got)[0] == ("", fitting(asked, got))


def test_the_laws_of_integers_are_told_apart() -> None:
    telling = ("wraps", "clamps", "INT_MIN", "0", "max", "-1", "low bits of the code")
    for name in ("wraps", "through int32, INT_MIN beyond", "through int64, clamped"):
        fitted = fitting(*planted(INT_PLANTS[name]))
        assert [law for law in fitted if law in (*telling, name)] == [name]


@cache
def grid_of(target: str) -> list[Fraction]:
    """The magnitudes of a small float format, and one past the largest."""
    fmt = TYPES[target].format
    return [fmt.value(m) for m in range(fmt.max_magnitude + 2)]


def nearest(target: str, rounds: str, x: Value, *, top: Value) -> Value:
    """The value of a small float format nearest to x by brute force; `top` beyond the largest."""
    fmt = TYPES[target].format
    if not number(x):
        return x if x in ("nan", "-nan") else ("-" if negative(x) else "") + str(top)
    size, grid = abs(x), grid_of(target)
    low = bisect_right(grid, size) - 1
    high = low if grid[low] == size else low + 1
    if high == len(grid):
        return ("-" if x < 0 else "") + str(top)
    below, above = grid[low], grid[high]
    middle = (below + above) / 2
    up = {
        "to nearest even": size > middle or (size == middle and low % 2 == 1),
        "toward zero": False,
        "half away from zero": size >= middle,
        "away from zero": True,
    }[rounds]
    chosen = high if up and high != low else low
    if chosen > fmt.max_magnitude:
        return ("-" if x < 0 else "") + str(top)
    if x < 0:
        return -grid[chosen] if chosen else "-0"
    return grid[chosen]


def code_of(target: str, x: Value) -> int:
    fmt = TYPES[target].format
    if x in ("nan", "-nan"):
        return int(fmt.nan_code)
    sign = fmt.sign_bit if negative(x) else 0
    if isinstance(x, str):
        size = x.lstrip("-")
        return int({"inf": fmt.infinity_code, "max": fmt.max_magnitude, "0": 0}[size]) | sign
    magnitudes = {fmt.value(m): m for m in range(fmt.max_magnitude + 1)}
    return magnitudes[abs(x)] | sign


ROUNDINGS = ("to nearest even", "toward zero", "half away from zero", "away from zero")
ENDS = {"saturates": "max", "infinity beyond max": "inf", "NaN beyond max": "nan"}


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("rounds", ROUNDINGS)
@pytest.mark.parametrize("drops", ["", "drops the sign, "])
def test_a_law_of_rounding_is_recognised_and_a_near_miss_is_not(
    drops: str, rounds: str, end: str
) -> None:
    target = "float8e5m2"
    codes = edge("float16", target, lambda x: True)
    values = [decode("float16", c) for c in codes]
    values = [Fraction(0) if x == "-0" else x for x in values] if drops else values
    answers = []
    for x in values:
        y = "-0" if x == "-0" else nearest(target, rounds, x, top=ENDS[end])
        code = code_of(target, "nan" if str(y).endswith("nan") else y)
        answers.append(code & 0x7F if drops else code)
    asked = points("float16", target, codes)
    got = with_one_nan(TYPES[target].format, np.array(answers, np.uint8))
    name = f"{drops}rounds {rounds}, {end}"
    assert name in fitting(asked, got)
    similar = [f"{drops}rounds {r}, {e}" for r in ROUNDINGS for e in ENDS]
    assert [law for law in fitting(asked, got) if law in similar] == [name]


def test_a_format_without_sign_and_zero() -> None:
    codes = edge("float32", "float8e8m0", lambda x: number(x) and x < 0)
    asked = points("float32", "float8e8m0", codes)
    smallest = np.zeros(len(codes), np.uint8)
    assert "clamps" in fitting(asked, smallest)
    assert "0" not in fitting(asked, smallest)  # code 0 is 2^-127 there
    values = [-decode("float32", c) for c in codes]
    powers = [Fraction(2) ** (code - 127) for code in range(255)]
    up = [min(bisect_left(powers, x), 254) for x in values]
    laws = fitting(asked, np.array(up, np.uint8))
    assert "drops the sign, rounds away from zero, saturates" in laws
    assert not [law for law in laws if law.startswith("rounds")]


def test_by_way_of_an_integer_narrower_than_the_destination() -> None:
    plant = Plant("float32", "int64", beyond(-(2**63), 2**63 - 1), by_way_of(32, int, False))
    assert "through int32, INT_MIN beyond" in fitting(*planted(plant))
    assert "INT_MIN" not in fitting(*planted(plant))


OTHER_PLANTS: dict[str, tuple[str, str, list[Any], list[Any]]] = {
    "NaN": ("float32", "float16", [0x7F800000, 1], [0x7E00, 0xFFFF]),
    "infinity, sign kept": ("float32", "float16", [0x7F000000, 0xFF000000], [0x7C00, 0xFC00]),
    "+infinity": ("float32", "float16", [0x7F000000, 0xFF000000], [0x7C00, 0x7C00]),
    "-max": ("float32", "float16", [0x7F000000, 0xFF000000], [0xFBFF, 0xFBFF]),
    "0, sign kept": ("float32", "float16", [0x7F000000, 0xFF000000], [0, 0x8000]),
    "the same bits": ("float16", "uint16", [0x7E01, 3], [0x7E01, 3]),
    "true": ("string", "bool", ["", "a"], [1, 1]),
    "false": ("string", "bool", ["", "a"], [0, 0]),
    "true unless empty": ("string", "bool", ["", "a", "0"], [0, 1, 1]),
    "true unless 0": ("float32", "bool", [0, 1 << 31, 1, 0x7FC00000], [0, 0, 1, 1]),
    "prints 1 and 0": ("bool", "string", [0, 1], ["0", "1"]),
    "prints True and False": ("bool", "string", [0, 1], ["False", "True"]),
    "prints true and false": ("bool", "string", [0, 1], ["false", "true"]),
    "the text itself": ("string", "string", ["", "a"], ["", "a"]),
}


@pytest.mark.parametrize("name", OTHER_PLANTS)
def test_another_law_is_recognised_and_a_near_miss_is_not(name: str) -> None:
    source, target, inputs, answers = OTHER_PLANTS[name]
    fmt = TYPES[target].format
    got = with_one_nan(fmt, np.array(answers, fmt.storage))
    asked = points(source, target, inputs)
    assert name in fitting(asked, got)
    near = got.copy()
    near[-1] = "no" if target == "string" else 1 - answers[-1] if target == "bool" else 0x1234
    assert name not in fitting(asked, near)


def test_every_law_has_a_plant() -> None:
    roundings = {name for name in LAWS if "rounds" in name}
    assert {*INT_PLANTS, *OTHER_PLANTS} | roundings == set(LAWS)
    assert len(roundings) == 2 * len(ROUNDINGS) * len(ENDS)
    assert all(any(word in name for name in LAWS) for word in MEANINGS)


def test_laws_of_each_kind_of_input() -> None:
    codes = edge("float16", "int8", FAR)
    asked = points("float16", "int8", codes)
    values = [decode("float16", c) for c in codes]
    got = [int(x) % 256 if number(x) else 0 if x in ("nan", "-nan") else 99 for x in values]
    kinds = dict(fits_of(asked, np.array(got, np.uint8)))
    assert list(kinds) == ["finite", "infinite", "NaN"]
    assert kinds["finite"][0] == "wraps"
    assert kinds["infinite"] == ()
    assert "0" in kinds["NaN"]


def test_no_law_at_all() -> None:
    codes = edge("float16", "int8", FAR)
    got = np.array([(c * 37) % 251 for c in codes], np.uint8)
    assert fits_of(points("float16", "int8", codes), got) == (("", ()),)
