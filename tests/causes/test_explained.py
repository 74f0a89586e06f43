"""Bugs that were reported in public, and planted ones: what explains them, and that it is right.

The catalogue was not made from these bugs alone: what it has no words for is not explained, and
nothing wrong is said of it. Run with `-n 0 -s -m slow` to see both shares.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from catalogue import CATALOG, CORPUS
from planted.bugs import BUGS as PLANTED
from planted.bugs import Bug
from planted.field.bugs import BUGS as FIELD
from planted.proof import posed
from planted.subsumed import SUBSUMED

from convcheck.causes.catalogue import causes_of
from convcheck.causes.search import Search, diagnose
from convcheck.judge.answers import ANSWERED, Answers
from convcheck.judge.result import CaseDiagnosis
from convcheck.numerics.codes import Bits
from convcheck.rules.cases import cases
from convcheck.rules.model import Case, op_and_version, version_key
from convcheck.vectors.generate import vector_set
from convcheck.vectors.model import Tier, VectorSet

Convert = Callable[[Bits], Bits]
# The bug -> the causes that say what its report says, of each report that the catalogue explains.
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
EXPLAINED, AS_WHAT_THEY_ARE = 80, 60  # of a hundred, at least
PLACES = ("nibbles swapped", "wrong only", "output shape")  # bugs that are no conversions
SHOWN_ON = (
    "float64-to-float8e5m2/saturate=0",
    "float32-to-float8e4m3fn/saturate=1",
    "float32-to-float16",
    "float32-to-int32",
    "float32-to-int4",
    "float32-to-float8e4m3fnuz/saturate=0",
    "int64-to-int8",
    "float32-to-bool",
    "int64-to-float32",
    "int64-to-string",
    "string-to-float32",
    "int4-to-int8",
    "uint16-to-bool",
    "string-to-string",
    "float32-to-string",
    "float16-to-float8e4m3fn/saturate=1",
    "string-to-float16",
    "float32-to-float8e5m2/saturate=1",
)


@cache
def search() -> Search:
    return Search(causes_of(CATALOG), CATALOG)


@cache
def latest() -> dict[tuple[str, str], Case]:
    """Cases by operator and name, each of the latest version that has it."""
    specs = [spec for spec in CATALOG.specs.values() if not spec.body.whole_calls]
    in_order = sorted(specs, key=lambda spec: version_key(op_and_version(spec.id)[1]))
    return {(spec.op, case.name): case for spec in in_order for case in cases(spec)}


def told(case: Case, convert: Convert, tier: Tier = "edge") -> CaseDiagnosis | None:
    """What is said of a runtime that converts so, None where it is right."""
    if tier == "edge":
        vectors = CORPUS.vectors(case)
    else:
        vectors = vector_set(CATALOG.specs[case.spec], case, tier)
    assert isinstance(vectors, VectorSet)
    bits = vectors.inputs[0]
    answers = Answers(convert(bits), np.full(len(bits), ANSWERED, np.uint8), {})
    return diagnose(search(), vectors, answers)


def refuted(case: Case, convert: Convert, names: tuple[str, ...]) -> bool:
    """Tell whether the boundary tier has an answer that causes do not give."""
    alone = Search(search().named(names), CATALOG)
    vectors = vector_set(CATALOG.specs[case.spec], case, "boundary")
    bits = vectors.inputs[0]
    answers = Answers(convert(bits), np.full(len(bits), ANSWERED, np.uint8), {})
    found = diagnose(alone, vectors, answers)
    return found is None or names not in found.fits


@pytest.mark.parametrize("bug", FIELD[::4], ids=[bug.name for bug in FIELD[::4]])
def test_what_is_said_of_a_report_is_what_it_says(bug: object) -> None:
    """Every fourth one; the slow tests do all."""
    assert isinstance(bug, type(FIELD[0]))
    case = latest()[bug.op, bug.case]
    found = told(case, bug.convert)
    assert found is not None
    assert found.fits[:1] == tuple(filter(None, [OF_FIELD.get(bug.name)]))
    for names in found.fits[:1]:
        assert not refuted(case, bug.convert, names)


def planted_on(bug: Bug) -> tuple[Case, Convert] | None:
    """A case on which a planted bug shows, with its answers."""
    for name in SHOWN_ON:
        case = latest()["onnx.Cast", name]

        def convert(bits: Bits, case: Case = case) -> Bits:
            problem = posed(case, bits)
            got = bug.where_hit(problem)
            return problem.right if got is None else got

        if told(case, convert) is not None:
            return case, convert
    return None


@pytest.mark.slow
def test_no_explanation_is_wrong_and_how_many_bugs_have_one() -> None:
    bugs: list[tuple[str, Case, Convert, list[tuple[str, ...]]]] = [
        (bug.name, latest()[bug.op, bug.case], bug.convert, [OF_FIELD.get(bug.name, ())])
        for bug in FIELD
    ]
    for planted in (each for each in PLANTED if not each.name.startswith(PLACES)):
        shown = planted_on(planted)
        assert shown is not None, planted.name
        own = [(name,) for name in SUBSUMED.get(planted.name, ())]
        bugs.append((planted.name, *shown, own))
    explained, first = [], []
    for name, case, convert, own in bugs:
        found = told(case, convert)
        assert found is not None
        if found.fits:
            explained.append(name)
            assert not refuted(case, convert, found.fits[0]), (name, found.fits[0])
            first += [name] if found.fits[0] in own else []
        print(f"\n{name:52} {case.name:40} {found.fits[:2]}", end="")
    print(f"\n{len(bugs)} bugs: {len(explained)} explained, {len(first)} as what they are", end="")
    assert {bug.name for bug in FIELD} & set(explained) == OF_FIELD.keys()
    assert len(explained) * 100 >= len(bugs) * EXPLAINED
    assert len(first) * 100 >= len(bugs) * AS_WHAT_THEY_ARE
