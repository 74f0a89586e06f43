"""Numbers, compared with the oracle's values and with facts by hand."""

import time
from fractions import Fraction

import numpy as np
import pytest
from comparing import numeric, type_names
from oracle import decode as value_of_code

from convcheck.numerics.codec import decode
from convcheck.numerics.format import Float
from convcheck.numerics.modes import MODES, nearest_even
from convcheck.numerics.number import (
    FINITE,
    INFINITY,
    NAN,
    exceeds,
    from_fractions,
    is_nan,
    is_negative,
    numbers_of_texts,
    to_fraction,
)
from convcheck.numerics.rounding import round_to
from convcheck.numerics.words import parse_decimal, spell, spell_fraction

ALL = type_names(28)
UP_TO_16 = type_names(28, 1, 16)
FLOATS = [name for name in ALL if isinstance(numeric(name), Float)]

# 5/2, -5/2, 7/2, -7/2 and 9/4 rounded to integers.
HAND = {
    "nearest-even": (2, -2, 4, -4, 2), "nearest-away": (3, -3, 4, -4, 2),
    "nearest-up": (3, -2, 4, -3, 2), "toward-zero": (2, -2, 3, -3, 2),
    "away": (3, -3, 4, -4, 3), "floor": (2, -3, 3, -4, 2),
    "ceil": (3, -2, 4, -3, 3), "odd": (3, -3, 3, -3, 3),
    "half-of-last": (2, -2, 4, -4, 2), "nearest-toward-zero": (2, -2, 3, -3, 2),
}  # fmt: skip


def all_codes(fmt):
    return np.arange(1 << fmt.bits, dtype=np.uint64).astype(fmt.storage)


def told(x, index):
    sign = "-" if x.sign[index] else ""
    if x.kind[index] != FINITE:
        return sign + {INFINITY: "inf", NAN: "nan"}[x.kind[index]]
    value = to_fraction(x, index)
    return "-0" if value == 0 and sign else value


@pytest.mark.parametrize("name", UP_TO_16)
def test_every_code_decodes_to_what_the_oracle_says(name):
    x = decode(numeric(name), all_codes(numeric(name)))
    for code in range(len(x)):
        assert told(x, code) == value_of_code(name, code)


@pytest.mark.parametrize("name", FLOATS)
def test_the_ends_of_a_float_format(name):
    fmt = numeric(name)
    assert value_of_code(name, fmt.max_magnitude) == fmt.max
    assert fmt.value(0) == (0 if fmt.zero else Fraction(1, 2**127))
    assert fmt.min == (-fmt.max if fmt.signed else Fraction(1, 2**127))
    assert (
        Fraction(2) ** fmt.highest_exponent <= fmt.max < Fraction(2) ** (fmt.highest_exponent + 1)
    )
    if fmt.nan != "none":
        assert str(value_of_code(name, fmt.nan_code)).endswith("nan")
    if fmt.infinity:
        assert value_of_code(name, fmt.infinity_code) == "inf"
        assert value_of_code(name, fmt.infinity_code | fmt.sign_bit) == "-inf"


@pytest.mark.parametrize("name", [name for name in UP_TO_16 if name in FLOATS])
def test_nan_and_sign_of_every_code(name):
    fmt = numeric(name)
    values = [str(value_of_code(name, code)) for code in range(1 << fmt.bits)]
    assert is_nan(fmt, all_codes(fmt)).tolist() == [v.endswith("nan") for v in values]
    if fmt.signed and fmt.nan != "sign-only":
        assert is_negative(fmt, all_codes(fmt)).tolist() == [v.startswith("-") for v in values]


@pytest.mark.parametrize("mode", MODES)
def test_modes_by_hand(mode):
    values = [Fraction(5, 2), Fraction(-5, 2), Fraction(7, 2), Fraction(-7, 2), Fraction(9, 4)]
    rounded = round_to(from_fractions(values), numeric("int32"), MODES[mode]).magnitude.tolist()
    signs = [1 if value > 0 else -1 for value in values]
    assert tuple(s * r for s, r in zip(signs, rounded, strict=True)) == HAND[mode]


def test_what_is_below_the_64_bits_of_a_significand_still_counts():
    tie = Fraction(2**24 + 1)
    values = [tie, tie + Fraction(1, 10**60), tie - Fraction(1, 10**60)]
    rounded = round_to(from_fractions(values), numeric("float32"), nearest_even).magnitude
    assert (rounded - rounded[0]).tolist() == [0, 1, 0]
    assert exceeds(from_fractions(values), tie).tolist() == [False, True, False]


@pytest.mark.parametrize(("text", "value"), [
    ("448", "448"), ("-0.1", "-1/10"), (".5", "1/2"), ("5.", "5"), ("+1E2", "100"),
    ("1e0000000005", "100000"), ("1e-000000000000001", "1/10"), ("-0e99999999999", "0"),
    ("1" + "0" * 6500 + "e-6500", "1"), ("0." + "0" * 7000 + "1e7001", "1"),
])  # fmt: skip
def test_decimal_texts(text, value):
    assert parse_decimal(text) == Fraction(value)


@pytest.mark.parametrize(
    "text", ["", ".", "e5", "+", "1e", "1e+", " 1", "1 ", "1\n", "1_0", "0x1", "--1", "inf", "١"]
)
def test_other_texts(text):
    assert parse_decimal(text) is None


def test_a_long_text_is_told_from_the_midpoint_that_it_is_just_above():
    midpoint = "1.00000005960464477539062500"
    texts = [midpoint, midpoint + "0" * 9000, midpoint + "0" * 9000 + "1"]
    x = numbers_of_texts(np.array(texts, object))
    rounded = round_to(x, numeric("float32"), nearest_even).magnitude.tolist()
    assert rounded == [0x3F800000, 0x3F800000, 0x3F800001]


def test_far_exponents_cost_nothing_and_stay_far():
    texts = [
        "1e999999999999",
        "-1e-99999999999999999999",
        "9" * 9000 + "e999999999",
        "0e1000000000",
    ]
    start = time.perf_counter()
    x = numbers_of_texts(np.array(texts * 5, object))
    assert time.perf_counter() - start < 2
    float64 = numeric("float64")
    assert exceeds(x, float64.max).tolist() == [True, False, True, False] * 5
    assert round_to(x, float64, nearest_even).magnitude[1] == 0
    assert x.sign[:4].tolist() == [False, True, False, False]
    assert (x.significand[:4] != 0).tolist() == [True, True, True, False]


def test_special_texts():
    x = numbers_of_texts(np.array(["INF", "-inf", "NaN", "hello", "-0", "+infinity"], object))
    assert x.kind.tolist() == [INFINITY, INFINITY, NAN, NAN, FINITE, INFINITY]
    assert x.sign.tolist() == [False, True, False, False, True, False]


def test_spellings_by_hand():
    words = [spell(numeric("float8e4m3fn"), code) for code in (0, 0x80, 0x7E, 0x7F, 0xFF, 1)]
    assert words == ["0", "-0", "448", "NaN", "-NaN", "0.001953125"]
    assert spell(numeric("float8e4m3fnuz"), 0x80) == "NaN"
    assert [spell(numeric("float16"), code) for code in (0x7C00, 0xFC00)] == ["Inf", "-Inf"]
    assert spell(numeric("int4"), 8) == "-8"
    assert spell(numeric("bool"), 1) == "True"
    assert [spell(numeric("float32"), code) for code in (0x3DCCCCCD, 1)] == ["0.1", "1.4013e-45"]
    assert spell_fraction(Fraction(1, 3), 5) == "~0.33333"
    assert spell_fraction(Fraction(464)) == "464"
