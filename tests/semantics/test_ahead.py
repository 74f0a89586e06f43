"""What is worked out ahead for many programs is what each of them says."""

from __future__ import annotations

import numpy as np
import pytest
from catalogue import CATALOG

from convcheck.causes.catalogue import causes_of
from convcheck.rules.find import find_case
from convcheck.semantics.ahead import work_out_ahead
from convcheck.semantics.evaluate import points_of
from convcheck.semantics.wrong import compile_wrong, readings_at
from convcheck.vectors.inputs import numeric_inputs

CASES = (
    "onnx.Cast-21/float64-to-float8e4m3fn/saturate=0",
    "onnx.Cast-21/float64-to-int8",
    "onnx.Cast-21/int32-to-float16",
)


@pytest.mark.parametrize("name", CASES)
def test_what_is_worked_out_ahead_is_what_each_program_says(name: str) -> None:
    case = find_case(CATALOG, name, None, None, ())
    spec, causes = CATALOG.specs[case.spec], causes_of(CATALOG)
    bits = numeric_inputs(case.inputs[0].format, case.outputs[0].format, "edge", 0)[0]
    applying = (cause for cause in causes if cause.applies_to(case))
    programs = [made for cause in applying if (made := compile_wrong(spec, case, (cause,)))]
    few = np.linspace(0, len(bits) - 1, 40).astype(np.intp)
    some = points_of(case, bits).at(few)
    work_out_ahead(programs, some)
    assert some.x.significand.tolist() == points_of(case, bits[few]).x.significand.tolist()
    for program in programs:
        apart = readings_at(program, points_of(case, bits[few]))
        for one, other in zip(readings_at(program, some), apart, strict=True):
            assert one.codes.tolist() == other.codes.tolist()
            assert one.patterns.tolist() == other.patterns.tolist()
