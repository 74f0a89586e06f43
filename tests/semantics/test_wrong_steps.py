"""What wrong steps give is the same whether they are computed alone or after those of other causes,
with which they share what is the same so far.
"""

from __future__ import annotations

import pytest
from catalogue import CATALOG

from convcheck.causes.catalogue import causes_of
from convcheck.rules.causes import Cause
from convcheck.rules.find import find_case
from convcheck.rules.model import Case
from convcheck.semantics.body.wrong_steps import WrongSteps
from convcheck.semantics.expected_calls import Call
from convcheck.vectors.body import calls_of

CASES = (
    "onnx.QuantizeLinear-23/float32-float32-int8/tensor",
    "onnx.QuantizeLinear-23/float16-float16-float8e5m2/axis/saturate=0",
    "onnx.DequantizeLinear-21/int8-float32-int8/axis",
    "openvino.FakeConvert-13/float16-float16-float16/per-tensor-shift/destination_type=f8e5m2",
    "openvino.FakeQuantize-1/float16-float16-float16-float16-float16/tensor/levels=102",
)
CAUSES = [c for c in causes_of(CATALOG) if not (c.chain or c.version)]


@pytest.mark.parametrize("name", CASES)
def test_what_is_shared_changes_nothing(name: str) -> None:
    case = find_case(CATALOG, name, None, None, ())
    calls = calls_of(CATALOG.specs[case.spec], case, "edge", 0)[0][:2]
    shared, compared = _steps(case, calls), 0
    for cause in CAUSES:
        together, alone = _given(shared, cause, calls), _given(_steps(case, calls), cause, calls)
        assert together == alone, cause.name
        compared += bool(alone)
    assert compared > 5


def _steps(case: Case, calls: list[Call]) -> WrongSteps:
    return WrongSteps(CATALOG.specs[case.spec], case, calls)


def _given(steps: WrongSteps, cause: Cause, calls: list[Call]) -> list[object]:
    """Return the codes and patterns that a cause gives for each call, under each reading."""
    found: list[object] = []
    for wrong in steps((cause,)):
        given = [wrong.answer(i) for i in range(len(calls))]
        outputs = (one.outputs if one else () for one in given)
        found.append([[(o.codes.tolist(), o.patterns.tolist()) for o in each] for each in outputs])
    return found
