"""What becomes of numbers that go through something is the same, worked out for all causes together
or by the program of each.
"""

from __future__ import annotations

import numpy as np
import pytest
from catalogue import CATALOG

from convcheck.causes.catalogue import causes_of
from convcheck.rules.find import find_case
from convcheck.semantics.ahead import said_of_all
from convcheck.semantics.evaluate import points_of
from convcheck.semantics.wrong import compile_wrong, readings_at, right_program, way_through
from convcheck.vectors.inputs import numeric_inputs

CASES = (
    "onnx.Cast-21/float64-to-float8e4m3fn/saturate=0",
    "onnx.Cast-21/float64-to-int8",
    "onnx.Cast-21/int32-to-float16",
    "onnx.Cast-21/bfloat16-to-bool",
)


@pytest.mark.parametrize("name", CASES)
def test_what_is_worked_out_together_is_what_each_program_says(name: str) -> None:
    case = find_case(CATALOG, name, None, None, ())
    spec = CATALOG.specs[case.spec]
    bits = numeric_inputs(case.inputs[0].format, case.outputs[0].format, "edge", 0)[0]
    bits = bits[np.linspace(0, len(bits) - 1, 40).astype(np.intp)]
    applying = [cause for cause in causes_of(CATALOG) if cause.applies_to(case)]
    ways = {cause: way for cause in applying if (way := way_through(cause, spec, case))}
    together = said_of_all(ways.values(), points_of(case, bits))
    assert len(ways) > 10
    for cause, said in zip(ways, together, strict=True):
        program = compile_wrong(spec, case, (cause,)) or right_program(spec, case)
        apart = readings_at(program, points_of(case, bits))
        for one, other in zip(said, apart, strict=True):
            assert one.codes.tolist() == other.codes.tolist(), cause.name
            assert one.patterns.tolist() == other.patterns.tolist(), cause.name
