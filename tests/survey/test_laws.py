from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from catalogue import CATALOG
from oracle import decode

from convcheck.causes.catalogue import causes_of
from convcheck.causes.trial import Trial
from convcheck.numerics.codec import decode as numbers
from convcheck.rules.find import find_case
from convcheck.semantics.expected import UNDEFINED, Reading
from convcheck.semantics.vocabulary import Points
from convcheck.survey.survey import Known
from convcheck.vectors.inputs import numeric_inputs

TYPES = CATALOG.types.types
CAUSES = {cause.says: cause.name for cause in causes_of(CATALOG)}
KNOWN = Known(CATALOG, causes_of(CATALOG))
Value = Any  # a Fraction, or 'nan', 'inf', '-inf', '-0', '-nan'; a text


@cache
def case_of(source, target):
    if source == "complex64":
        return find_case(CATALOG, f"onnx.Cast-25/{source}-to-{target}", None, None, ())
    return find_case(CATALOG, "onnx.Cast-25", source, target, ())


def points(source, target, codes):
    fmt = TYPES[source].format
    bits = np.array(codes, fmt.storage)
    return Points(fmt, TYPES[target].format, bits, numbers(fmt, bits))


def nothing_due(got):
    return (Reading(got, np.full(len(got), UNDEFINED, np.uint8)),)


def fits_of(source, target, codes, got):
    case, asked = case_of(source, target), points(source, target, codes)
    trial = Trial(
        CATALOG.specs[case.spec], case, asked, got, np.zeros(len(got), bool), nothing_due(got)
    )
    fits, _ = KNOWN.of(trial)
    return tuple((kind, tuple(CAUSES[law] for law in laws)) for kind, laws in fits)


def fitting(source, target, codes, got):
    return dict(fits_of(source, target, codes, got)).get("", ())


def edge(source, target, wanted):
    """Return the edge inputs of a pair that a row might decide."""
    bits, _ = numeric_inputs(TYPES[source].format, TYPES[target].format, "edge", 0)
    return [code for code in bits.tolist() if wanted(decode(source, code))]


# Laws, from the exact value x, with bits and sign of the destination.


def number(x):
    return isinstance(x, Fraction)


def negative(x):
    return x.startswith("-") if isinstance(x, str) else x < 0


def half_away(x):
    whole = int(abs(x) + Fraction(1, 2))
    return -whole if x < 0 else whole


def by_way_of(bits, rounds, clamped):
    least, most = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1

    def answer(x, code):
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
    source: str
    target: str
    inputs: Callable[[Value], bool]
    answer: Callable[[Value, int], int]


def beyond(low, high, finite=False):
    return lambda x: not low <= x <= high if number(x) else not finite and x != "-0"


FAR = beyond(-128, 127)
FINITE = beyond(-128, 127, finite=True)
MODES = {"toward-zero": int, "nearest-even": round, "nearest-away": half_away}
INT_PLANTS = {
    "clamps": Plant(
        "float32", "int8", lambda x: FAR(x) and x not in ("nan", "-nan"),
        lambda x, c: -128 if negative(x) else 127,
    ),
    "always-min": Plant("float32", "int8", FAR, lambda x, c: -128),
    "beyond-is-min": Plant("float32", "int8", FAR, lambda x, c: -128),
    "wraps": Plant("float64", "int8", FINITE, lambda x, c: int(x)),
    "beyond-is-+0": Plant("float32", "int8", FAR, lambda x, c: 0),
    "beyond-is-+max": Plant("float32", "int8", FAR, lambda x, c: 127),
    "always-top-bit": Plant("float32", "uint8", FAR, lambda x, c: 128),
    "always-all-ones": Plant("float32", "int8", FAR, lambda x, c: -1),
    "the-code": Plant("float32", "int8", FAR, lambda x, c: c),
    "the-high-code": Plant("float32", "int8", FAR, lambda x, c: c >> 24),
    **{
        f"low-bits-{mode}": Plant(
            "float32", "int4", beyond(-8, 7, True), lambda x, c, r=rounds: r(x))
        for mode, rounds in MODES.items()
    },
    **{
        f"low-bits-of-int{bits}-{mode}{end}": Plant(
            "float64", "uint16" if mode == "toward-zero" else "int4",
            beyond(0, 65535) if mode == "toward-zero" else beyond(-8, 7),
            by_way_of(bits, rounds, end == "-clamp"))
        for mode, rounds in MODES.items()
        for bits in (32, 64)
        for end in ("", "-clamp")
    },
}  # fmt: skip


def planted(plant):
    codes = edge(plant.source, plant.target, plant.inputs)
    fmt = TYPES[plant.target].format
    answers = [plant.answer(decode(plant.source, c), c) % (1 << fmt.bits) for c in codes]
    return plant.source, plant.target, codes, np.array(answers, fmt.storage)


@pytest.mark.parametrize("name", INT_PLANTS)
def test_a_law_of_integers_is_recognised_and_a_near_miss_is_not(name):
    source, target, codes, got = planted(INT_PLANTS[name])
    assert len(got) > 20
    assert name in fitting(source, target, codes, got)
    near = got.copy()
    near[len(got) // 2] ^= 1
    assert name not in fitting(source, target, codes, near)


def test_the_laws_of_integers_are_told_apart():
    telling = {"wraps", "clamps", "beyond-is-min", "beyond-is-+0", "beyond-is-+max", "the-code"}
    for name in ("wraps", "low-bits-of-int32-toward-zero", "the-code"):
        fitted = fitting(*planted(INT_PLANTS[name]))
        assert [law for law in fitted if law in {*telling, name}] == [name]


def test_a_format_without_sign_and_zero():
    codes = edge("float32", "float8e8m0", lambda x: number(x) and x < 0)
    smallest = np.zeros(len(codes), np.uint8)
    laws = fitting("float32", "float8e8m0", codes, smallest)
    assert "clamps" in laws
    assert "always-+0" not in laws
    values = [-decode("float32", c) for c in codes]
    powers = [Fraction(2) ** (code - 127) for code in range(255)]
    up = [min(bisect_left(powers, x), 254) for x in values]
    laws = fitting("float32", "float8e8m0", codes, np.array(up, np.uint8))
    assert "magnitude-away-+max" in laws
    assert not [law for law in laws if law.startswith("rounds-")]


def test_by_way_of_an_integer_narrower_than_the_destination():
    plant = Plant("float32", "int64", beyond(-(2**63), 2**63 - 1), by_way_of(32, int, False))
    fitted = fitting(*planted(plant))
    assert "low-bits-of-int32-toward-zero" in fitted
    assert "beyond-is-min" not in fitted


OTHER_PLANTS = {
    "always-nan": ("float32", "float16", [0x7F800000, 1], [0x7E00, 0xFFFF]),
    "always-inf-with-its-sign": ("float32", "float16", [0x7F000000, 0xFF000000], [0x7C00, 0xFC00]),
    "always-+inf": ("float32", "float16", [0x7F000000, 0xFF000000], [0x7C00, 0x7C00]),
    "always--max": ("float32", "float16", [0x7F000000, 0xFF000000], [0xFBFF, 0xFBFF]),
    "always-0-with-its-sign": ("float32", "float16", [0x7F000000, 0xFF000000], [0, 0x8000]),
    "the-code": ("float16", "uint16", [0x7E01, 3], [0x7E01, 3]),
    "always-true": ("string", "bool", ["", "a"], [1, 1]),
    "always-false": ("string", "bool", ["", "a"], [0, 0]),
    "true-unless-empty": ("string", "bool", ["", "a", "0"], [0, 1, 1]),
    "true-unless-zero": ("complex64", "bool", [0, 1 << 63, 1], [0, 1, 1]),
    "prints-0-and-1": ("bool", "string", [0, 1], ["0", "1"]),
    "prints-False-and-True": ("bool", "string", [0, 1], ["False", "True"]),
    "prints-false-and-true": ("bool", "string", [0, 1], ["false", "true"]),
    "reads-any-number": ("string", "float16", ["+1", ".5", "-1e9"], [0x3C00, 0x3800, 0xFC00]),
}


@pytest.mark.parametrize("name", OTHER_PLANTS)
def test_another_law_is_recognised_and_a_near_miss_is_not(name):
    source, target, inputs, answers = OTHER_PLANTS[name]
    got = np.array(answers, TYPES[target].format.storage)
    assert name in fitting(source, target, inputs, got)
    got[-1] = "no" if target == "string" else 1 - answers[-1] if target == "bool" else 0x1234
    assert name not in fitting(source, target, inputs, got)


def test_what_a_text_leaves_out_has_laws_too():
    case = find_case(CATALOG, "onnx.Cast-1", "float32", "float8e5m2", ())
    asked = points("float32", "float8e5m2", [0x3F800000, 0x47800000, 0x7FC00000])
    got = np.array([0x3C, 0x7B, 0x7F], np.uint8)
    trial = Trial(CATALOG.specs[case.spec], case, asked, got, np.zeros(3, bool), nothing_due(got))
    [(_, laws)], _ = KNOWN.of(trial)
    assert "rounds-nearest-even-max" in [CAUSES[law] for law in laws]


def test_laws_of_each_kind_of_input():
    codes = edge("float16", "int8", FAR)
    values = [decode("float16", c) for c in codes]
    got = [int(x) % 256 if number(x) else 0 if x in ("nan", "-nan") else 99 for x in values]
    kinds = dict(fits_of("float16", "int8", codes, np.array(got, np.uint8)))
    assert list(kinds) == ["finite", "infinite", "NaN"]
    assert kinds["finite"][0] == "wraps"
    assert kinds["infinite"] == ()
    assert kinds["NaN"][0] == "nan-is-+0"
