"""Emitted suites of cases, and a kernel's answers to them."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import numpy as np
from catalogue import CORPUS
from planted.field.bugs import BUGS
from planted.field.caught import case_of, latest_cases

from convcheck.emit.suite import Suite, suite_of
from convcheck.numerics.format import Float
from convcheck.rules.model import Case
from convcheck.semantics.expected import EXACT
from convcheck.vectors.model import VectorSet

WRONG = re.compile(r"^  wrong: (\d+) of \d+$", re.MULTILINE)
POINT = re.compile(r"^(not ok|ok) (\d+) - ", re.MULTILINE)

CASES = {
    case.id: case
    for case in (
        *map(case_of, BUGS),
        *(latest_cases("onnx.Cast")[name] for name in (
            "float32-to-int4", "bool-to-float16", "float16-to-bool", "int64-to-float64",
            "float64-to-uint64", "float8e4m3fnuz-to-int16", "uint4-to-float4e2m1")),
        *(latest_cases("pypto.cast")[name] for name in (
            "float32-to-int16/mode=CAST_RINT/satmode=OFF/product=A3",)),
    )
}  # fmt: skip


@cache
def suite(case: Case) -> Suite:
    found = suite_of(CORPUS, case)
    assert found is not None
    return found


@cache
def vectors(case: Case) -> VectorSet:
    found = CORPUS.vectors(case)
    assert isinstance(found, VectorSet)
    return found


def write_answers(path: Path, inputs: Iterable[int], outputs: Iterable[int]) -> Path:
    """Write a kernel's answers: pairs of 64 bits, input and output."""
    pairs = zip(inputs, outputs, strict=True)
    path.write_bytes(b"".join(struct.pack("=QQ", *pair) for pair in pairs))
    return path


def right_answers(case: Case, reading: int = 0) -> list[int]:
    """Return an expected code for each vector."""
    expected, fmt = vectors(case).expected.readings[reading], case.outputs[0].format
    nan = fmt.nan_code | fmt.sign_bit if isinstance(fmt, Float) else 0
    codes = np.where(expected.patterns == EXACT, expected.codes, nan)
    return [int(code) for code in codes]


def wrong_answers(output: str) -> int:
    """Check a program's TAP plan, and return how many answers it calls wrong."""
    points = POINT.findall(output)
    assert [int(number) for _, number in points] == [*range(1, len(points) + 1)]
    assert f"\n1..{len(points)}\n" in output
    wrong = [int(count) for count in WRONG.findall(output)]
    assert len(wrong) == [word for word, _ in points].count("not ok")
    return sum(wrong)
