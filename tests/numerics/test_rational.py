from fractions import Fraction
from operator import ge, gt, le, lt
from random import Random

import numpy as np
import pytest
from bit_patterns import field
from comparing import numeric
from oracle.formats import FLOATS, nearest_even
from oracle.formats import decode as value_of_code

from convcheck.numerics.codec import decode
from convcheck.numerics.format import Int
from convcheck.numerics.modes import MODES, Grid
from convcheck.numerics.rational import (
    add,
    compared,
    divide,
    multiply,
    of_fractions,
    of_numbers,
    rounded,
    rounded_whole,
    subtract,
    take,
    to_fraction,
)
from convcheck.numerics.rounding import rounded_codes

DRAWN = 600
IEEE = ("float16", "bfloat16", "float32", "float64")
OPERATIONS = {
    "add": (add, lambda a, b: a + b),
    "subtract": (subtract, lambda a, b: a - b),
    "multiply": (multiply, lambda a, b: a * b),
    "divide": (divide, lambda a, b: a / b),
}


def floats(name):
    return numeric(name)


def codes(fmt, values):
    return np.array(values, np.uint64).astype(fmt.storage)


def pairs(draw, name):
    """Draw finite codes of a format, some close to each other, so that they cancel."""
    fmt = FLOATS[name]
    exponent = fmt.bits - 1 - fmt.mantissa
    first, second = (
        field(draw, exponent) << fmt.mantissa | field(draw, fmt.mantissa) for _ in range(2)
    )
    if draw.random() < 0.5:
        second = first + draw.randint(-3, 3) * (1 << draw.randint(0, fmt.mantissa + 4))
    a, b = (min(max(c, 0), fmt.largest) for c in (first, second))
    return a | draw.choice([0, fmt.sign]), b | draw.choice([0, fmt.sign])


def number(fmt, given):
    return of_numbers(decode(fmt, given))


def exact(name, code):
    value = value_of_code(name, code)
    return Fraction(0) if value == "-0" else Fraction(value)


def due(name, value):
    """Return a value's magnitude, rounded once by the oracle; infinity's code beyond max."""
    return min(nearest_even(name, abs(value)), FLOATS[name].largest + 1)


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("name", IEEE)
def test_one_rounding_of_the_exact_result(operation, name):
    draw = Random(f"{operation} {name}")
    drawn = [pairs(draw, name) for _ in range(DRAWN)]
    if operation == "divide":
        drawn = [(a, b) for a, b in drawn if b & ~FLOATS[name].sign]
    ours, right = OPERATIONS[operation]
    fmt = floats(name)
    result = ours(*(number(fmt, codes(fmt, list(column))) for column in zip(*drawn, strict=True)))
    values = [right(exact(name, a), exact(name, b)) for a, b in drawn]
    for target in IEEE:
        got = rounded_codes(result.numbers, floats(target)).tolist()
        for pair, value, code in zip(drawn, values, got, strict=True):
            negative = code >= FLOATS[target].sign
            assert code & (FLOATS[target].sign - 1) == due(target, value), (target, pair)
            assert negative == (value < 0) or value == 0, (target, pair)


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
@pytest.mark.parametrize("operation", OPERATIONS)
def test_every_value_of_a_short_format_with_some(operation, name):
    """All codes against a few, specials included, compared with numpy's own float32 and
    float64.

    Both formats are exact in float64, which has more than twice their bits, and two. So rounding
    its results once more is right.
    """
    fmt = floats(name)
    every = np.arange(1 << 16, dtype=np.uint16)
    x = number(fmt, every)
    for other in (0x0000, 0x8001, 0x3C01, 0x7BFF, 0xC2AB, fmt.infinity_code, fmt.nan_code):
        y = take(number(fmt, codes(fmt, [other])), np.zeros(len(every), np.intp))
        got = rounded_codes(OPERATIONS[operation][0](x, y).numbers, fmt)
        with np.errstate(all="ignore"):
            others = np.full(len(every), other, fmt.storage)
            theirs = getattr(np, operation)(as_float64(name, every), as_float64(name, others))
        assert same(name, got, theirs)


def as_float64(name, code):
    if name == "float16":
        return code.view(np.float16).astype(np.float64)
    return (code.astype(np.uint32) << np.uint32(16)).view(np.float32).astype(np.float64)


def same(name, got, theirs):
    """Compare codes with float64 results: rounded to float16 by numpy, to bfloat16 by us."""
    fmt = floats(name)
    if name == "float16":
        with np.errstate(all="ignore"):
            right = theirs.astype(np.float16).view(np.uint16)
    else:
        right = rounded_codes(decode(floats("float64"), theirs.view(np.uint64)), fmt)
    nan = np.isnan(theirs)
    return bool(np.array_equal(got[~nan], right[~nan]) and (got[nan] == fmt.nan_code).all())


ZEROS = {
    ("add", "+0", "+0"): "+0", ("add", "+0", "-0"): "+0", ("add", "-0", "-0"): "-0",
    ("add", "1", "-1"): "+0", ("subtract", "1", "1"): "+0", ("subtract", "-0", "+0"): "-0",
    ("subtract", "+0", "+0"): "+0", ("multiply", "-1", "+0"): "-0", ("multiply", "-0", "-0"): "+0",
    ("divide", "-0", "1"): "-0", ("divide", "1", "-inf"): "-0", ("divide", "+0", "-1"): "-0",
    ("add", "inf", "-1"): "inf", ("add", "inf", "-inf"): "nan", ("subtract", "inf", "inf"): "nan",
    ("subtract", "inf", "-inf"): "inf", ("add", "-1", "-inf"): "-inf", ("add", "nan", "1"): "nan",
    ("multiply", "inf", "-1"): "-inf", ("multiply", "inf", "+0"): "nan",
    ("multiply", "nan", "+0"): "nan", ("divide", "1", "-0"): "-inf", ("divide", "+0", "-0"): "nan",
    ("divide", "inf", "inf"): "nan", ("divide", "inf", "+0"): "inf", ("divide", "1", "nan"): "nan",
}  # fmt: skip
WORDS = {
    "+0": 0, "-0": 0x8000, "1": 0x3C00, "-1": 0xBC00, "inf": 0x7C00, "-inf": 0xFC00, "nan": 0x7E00,
}  # fmt: skip


@pytest.mark.parametrize("question", ZEROS, ids=" ".join)
def test_zeros_infinities_and_nans(question):
    operation, a, b = question
    fmt = floats("float16")
    x, y = (number(fmt, codes(fmt, [WORDS[word]])) for word in (a, b))
    result = OPERATIONS[operation][0](x, y)
    assert int(rounded_codes(result.numbers, fmt)[0]) == WORDS[ZEROS[question]]
    again = rounded(result, fmt)
    assert again.kind[0] == result.kind[0]


@pytest.mark.parametrize(("mode", "plus", "minus"), [
    ("nearest-even", 0x7C00, 0xFC00), ("nearest-away", 0x7C00, 0xFC00),
    ("toward-zero", 0x7BFF, 0xFBFF), ("away", 0x7C00, 0xFC00), ("floor", 0x7BFF, 0xFC00),
    ("ceil", 0x7C00, 0xFBFF), ("odd", 0x7BFF, 0xFBFF),
])  # fmt: skip
def test_overflow_goes_by_the_mode(mode, plus, minus):
    far = of_fractions([Fraction(10) ** 9, -(Fraction(10) ** 9)])
    assert rounded_codes(far.numbers, floats("float16"), mode).tolist() == [plus, minus]
    assert mode in MODES


FIRST = [
    Fraction(0),
    Fraction(1),
    Fraction(-7, 3),
    Fraction(2**64 - 1),
    Fraction(5, 2),
    Fraction(-1, 2),
]
RELATIONS = {"<": lt, "<=": le, ">": gt, ">=": ge}


def drawn(draw, count):
    found = []
    for _ in range(count):
        top, scale = draw.getrandbits(draw.choice([3, 24, 53, 200])), draw.randint(-1100, 1100)
        found.append(draw.choice([1, -1]) * top * Fraction(2) ** draw.choice([0, scale]))
    return found


@pytest.mark.parametrize("seed", range(20))
def test_nothing_is_lost_however_many_operations_follow_each_other(seed):
    draw, n = Random(seed), 40
    values = [*FIRST, *drawn(draw, n - len(FIRST))]
    x = of_fractions(values)
    for operation in draw.choices([*OPERATIONS], k=6):
        ours, right = OPERATIONS[operation]
        others = [v or Fraction(1, 3) for v in drawn(draw, n)]
        x = ours(x, of_fractions(others))
        values = [right(*pair) for pair in zip(values, others, strict=True)]
    assert [to_fraction(x, i) for i in range(n)] == values
    y = draw.sample(values, n)
    for relation, right_one in RELATIONS.items():
        held = [right_one(*pair) for pair in zip(values, y, strict=True)]
        assert compared(x, relation, of_fractions(y)).tolist() == held


@pytest.mark.parametrize("mode", MODES)
def test_whole_numbers_of_any_size(mode):
    draw, grid = Random(mode), Grid(Int(4096, signed=True), mode)
    values = [Fraction(k, 4) for k in range(-20, 21)]
    values += [v / Fraction(draw.randint(1, 9)) for v in drawn(draw, 200)]
    found = rounded_whole(of_fractions(values), mode)
    assert [to_fraction(found, i) for i in range(len(values))] == [grid.round(v) for v in values]
    assert [bool(s) for s in found.sign] == [v < 0 for v in values]
