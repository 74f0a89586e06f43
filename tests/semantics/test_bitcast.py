"""onnx.BitCast: every bit stays, of NaNs too, and only types of one width are asked."""

from __future__ import annotations

from catalogue import CATALOG

from convcheck.numerics.format import Bool, Float, Int
from convcheck.rules.cases import cases
from convcheck.semantics.expected import EXACT
from convcheck.vectors.generate import vectors_of
from convcheck.vectors.model import VectorSet

SPEC = CATALOG.specs["onnx.BitCast-26"]
CASES = list(cases(SPEC))


def width(fmt: object) -> int:
    assert isinstance(fmt, Bool | Float | Int)
    return fmt.bits


def test_pairs_are_those_of_one_width() -> None:
    types = {t.name: width(t.format) for t in SPEC.types["T1"]}
    wanted = {(a, b) for a in types for b in types if types[a] == types[b]}
    assert {(c.inputs[0].name, c.outputs[0].name) for c in CASES} == wanted
    assert len(CASES) == len(wanted) == 96


def test_every_bit_stays() -> None:
    for case in CASES:
        vectors = vectors_of(SPEC, case, "edge", 0)
        assert isinstance(vectors, VectorSet)
        [reading] = vectors.expected.readings
        assert (reading.patterns == EXACT).all()
        assert (reading.codes == vectors.inputs[0]).all()
        if width(case.inputs[0].format) <= 8 and not isinstance(case.inputs[0].format, Int):
            assert len(vectors) == 1 << width(case.inputs[0].format)
