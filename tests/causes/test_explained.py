"""Causes found for public bug reports are right. Bugs without an entry get no cause."""

from functools import cache

import pytest
from catalogue import CATALOG, CORPUS
from planted.causes import EVERY, Convert, answering
from planted.field.bug import FieldBug
from planted.field.bugs import BUGS as FIELD
from planted.field.caught import latest_cases

from convcheck.causes.search import Search, diagnose
from convcheck.judge.answers import Answers
from convcheck.rules.model import Case
from convcheck.vectors.corpus import Corpus
from convcheck.vectors.model import Tier, VectorSet

# Bug -> the causes in its report, if the catalogue explains it.
OF_FIELD: dict[str, tuple[str, ...]] = {
    "bfloat16 is the upper half of float32": ("the-high-code",),
    "NaN cut to its upper half": ("cuts-nan",),
    "NaN rounded as a number": ("rounds-nan",),
    "subnormals flushed on the way to bfloat16": ("flushes-inputs-with-sign",),
    "bfloat16 copied by a packer that rounds": (
        "flushes-inputs-with-sign", "nan-is-infinity-of-its-sign",
    ),
    "float64 to bfloat16 through float32": ("through-float32",),
    "float64 to bfloat16 with float32 subnormals flushed": ("through-float32-flushed",),
    "int64 to bfloat16 through float32": ("through-float32",),
    "int32 to bfloat16 through float32": ("through-float32",),
    "float16 subnormals shifted twice": ("cuts-nan", "flushes-tiny-with-sign"),
    "bits lost before float16 subnormals are rounded": ("aligns-without-sticky",),
    "count of a shift modulo 32": ("shift-modulo-32-without-sticky",),
    "ties away from zero to float16": ("ties-away",),
    "float16 cut off": ("truncates",),
    "zero above half the smallest subnormal": ("zero-below-2^-24",),
    "zero for the smallest subnormal": ("zero-below-2^-23",),
    "carry into the exponent lost": ("loses-the-carry",),
    "lower word of float64 dropped": ("drops-the-low-word",),
    "float64 to float16 in two steps": ("through-float32",),
    "ties away from zero to float8e4m3fn": ("ties-away",),
    "float8e4m3fn cut off": ("truncates",),
    "top binade of float8e4m3fn lost": (
        "ties-away-zero-below-the-least", "top-exponent-once-rounded-is-max",
    ),
    "top binade of float8e4m3fnuz lost": (
        "ties-away-zero-below-the-least", "top-exponent-once-rounded-is-max",
    ),
    "NaN from 448 on": ("compares-x-nan",),
    "448 instead of NaN": ("saturates",),
    "infinity above the largest float8e5m2": ("compares-x-infinity",),
    "signalling NaN taken for a number": ("signalling-nan-is-most",),
    "ties away from zero to float8e5m2": ("ties-away",),
    "float8e5m2 through float16": ("through-float16",),
    "float8e4m3fn through float16 cut off": ("cut-to-float16",),
    "count of a shift modulo 64": ("shift-modulo-64",),
    "-0 of a format without": ("minus-zero-is-nan",),
    "ties away from zero to float4e2m1": ("ties-away",),
    "top binade of float4e2m1 lost": ("top-exponent-is-max",),
    "nearest is up among subnormals": ("up-between-2^-127-and-2^-126",),
    "NaN above the largest float8e8m0": ("compares-x-nan", "rounds-the-exponent-field"),
    "NaN for small float64": ("exponent-wraps-to-nan",),
    "NaN of float8e8m0 to infinity": ("nan-is-+inf",),
    "infinity of float16 to 65536": (
        "reads-infinity-and-nan-of-float16-as-numbers", "flushes-inputs-with-sign",
    ),
    "subnormals of float16 as normal numbers": ("reads-subnormals-of-float16-as-normal",),
    "NaN of float8e4m3fnuz to -0": ("nan-is--0",),
    "NaN of float8e4m3fn to 480": ("reads-infinity-and-nan-of-float8e4m3fn-as-numbers",),
    "zero of float8e5m2 to 2^-15": ("reads-all-of-float8e5m2-as-normal",),
    "True as -1": ("negates",),
    "bool of a whole part": ("whole-toward-zero",),
    "ties away from zero to int4": ("ties-away",),
    "uint8 clamped": ("clamps",),
    "lowest on either side": ("beyond-is-min",),
    "uint64 to float32 through float64": ("through-float64",),
}  # fmt: skip


@cache
def search() -> Search:
    return Search(EVERY, CATALOG)


def converted(case: Case, convert: Convert, tier: Tier) -> tuple[VectorSet, Answers]:
    of_tier = CORPUS if tier == "edge" else Corpus(CATALOG, tier, 0, ())
    vectors = of_tier.vectors(case)
    assert isinstance(vectors, VectorSet)
    return vectors, answering(vectors, convert(vectors.inputs[0]))


def refuted(case: Case, convert: Convert, names: tuple[str, ...]) -> bool:
    alone = Search(search().named(names), CATALOG)
    found = diagnose(alone, *converted(case, convert, "boundary"))
    return found is None or names not in found.fits


FEW = 4


@pytest.mark.parametrize(
    "bug",
    [pytest.param(bug, id=bug.name, marks=[pytest.mark.slow] * bool(number % FEW))
     for number, bug in enumerate(FIELD)],
)  # fmt: skip
def test_what_is_said_of_a_report_is_what_it_says(bug: FieldBug) -> None:
    """Every fourth report; the slow tests check all."""
    case = latest_cases(bug.op)[bug.case]
    found = diagnose(search(), *converted(case, bug.convert, "edge"))
    assert found is not None
    assert found.fits[:1] == tuple(filter(None, [OF_FIELD.get(bug.name)]))
    for names in found.fits[:1]:
        assert not refuted(case, bug.convert, names)
