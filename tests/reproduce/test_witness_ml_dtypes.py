"""A second witness: numpy and ml_dtypes agree with the evaluator where they are right.

They are never the oracle. ml_dtypes rounds once only from sources that fit float32, so wider ones
are asked of numpy, to its own types. ml_dtypes does not saturate: it is asked for saturate=0. Its
float4 and float6 have other ideas of NaN and of what is out of range: they are asked in range.
"""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from comparing import cast, numeric, questions
from numpy.typing import NDArray

from convcheck.numerics.codec import decode
from convcheck.numerics.codes import Codes, is_nan
from convcheck.numerics.format import Float
from convcheck.numerics.number import FINITE, exceeds
from convcheck.rules.model import Case
from convcheck.semantics.evaluate import evaluate
from convcheck.semantics.expected import ANY_NAN, EXACT, NEGATIVE_NAN
from convcheck.vectors.inputs import numeric_inputs

DTYPES = {
    "float16": np.float16, "float32": np.float32, "float64": np.float64,
    "bfloat16": ml_dtypes.bfloat16,
    "float8e4m3fn": ml_dtypes.float8_e4m3fn, "float8e4m3fnuz": ml_dtypes.float8_e4m3fnuz,
    "float8e5m2": ml_dtypes.float8_e5m2, "float8e5m2fnuz": ml_dtypes.float8_e5m2fnuz,
    "float4e2m1": ml_dtypes.float4_e2m1fn,
    "float6e2m3": ml_dtypes.float6_e2m3fn, "float6e3m2": ml_dtypes.float6_e3m2fn,
}  # fmt: skip
FLOAT8 = [name for name in DTYPES if name.startswith("float8")]
SMALLER = ["float4e2m1", "float6e2m3", "float6e3m2"]
SOURCES = ["float32", "float16", "bfloat16"]
INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]


def inputs(source: str, target: str) -> Codes:
    """Every code of up to 16 bits; of more, all the destination's boundaries and a random lot."""
    fmt = numeric(source)
    chosen, _ = numeric_inputs(fmt, numeric(target), "boundary", 0)
    random = np.random.default_rng(7).integers(0, 1 << min(fmt.bits, 63), 20_000, np.uint64)
    return np.unique(np.concatenate([chosen, random.astype(fmt.storage)]))


def told_by_the_witness(source: str, target: str, codes: Codes) -> Codes:
    known = np.dtype(DTYPES.get(source, source))
    with np.errstate(all="ignore"):
        answer = codes.view(known).astype(DTYPES[target])
    return answer.view(numeric(target).storage)


def unsaturated(source: str, target: str) -> Case:
    """The case of Cast-28 that asks for what the witness does."""
    asked = questions(28, source, [target])
    return next(case for case in asked if case.attribute("saturate") in (None, 0))


def agreed(source: str, target: str, codes: Codes) -> NDArray[np.bool_]:
    """Where the witness gives what the evaluator's first reading says; NaN is known as NaN."""
    expected = evaluate(cast(28), unsaturated(source, target), codes)
    answer, fmt = told_by_the_witness(source, target, codes), numeric(target)
    due, patterns = expected.readings[0].codes, expected.readings[0].patterns
    same = np.asarray(due == answer) & (patterns == EXACT)
    if not isinstance(fmt, Float):
        return same
    return same | (is_nan(fmt, answer) & np.isin(patterns, (ANY_NAN, NEGATIVE_NAN)))


def pairs(sources: list[str], targets: list[str]) -> list[tuple[str, str]]:
    return [(s, t) for s in sources for t in targets if s != t]


@pytest.mark.parametrize(
    ("source", "target"), pairs(SOURCES, [*FLOAT8, "float16", "bfloat16", "float32", "float64"])
)
def test_everything_up_to_float32(source: str, target: str) -> None:
    codes = inputs(source, target)
    assert len(codes) > 20_000
    assert agreed(source, target, codes).all()


@pytest.mark.parametrize(("source", "target"), pairs(FLOAT8, ["float16", "float32", "bfloat16"]))
def test_float8_widened(source: str, target: str) -> None:
    assert agreed(source, target, np.arange(256, dtype=np.uint8)).all()


@pytest.mark.parametrize(("source", "target"), pairs(SOURCES, SMALLER))
def test_float4_and_float6_in_range(source: str, target: str) -> None:
    codes = inputs(source, target)
    x = decode(numeric(source), codes)
    inside = (x.kind == FINITE) & ~exceeds(x, numeric(target).max)
    assert inside.sum() > 1000
    assert agreed(source, target, codes[inside]).all()


@pytest.mark.parametrize(
    ("source", "target"),
    [*pairs(INTEGERS, ["float32", "float64"]), ("float64", "float32"), ("float64", "float16")],
)
def test_what_numpy_knows_itself(source: str, target: str) -> None:
    assert agreed(source, target, inputs(source, target)).all()


def test_a_witness_that_is_wrong() -> None:
    """Why ml_dtypes is no oracle: it rounds a float64 to float32 first, and then once more."""
    just_above_a_tie = np.array([1.0625 + 2.0**-50]).view(np.uint64)
    assert told_by_the_witness("float64", "float8e4m3fn", just_above_a_tie) == 0x38
    assert not agreed("float64", "float8e4m3fn", just_above_a_tie).any()
