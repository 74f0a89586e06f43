import numpy as np
import pytest
from catalogue import CATALOG
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import ranges
from oracle.formats import WIDTHS

from convcheck.numerics.format import Float
from convcheck.numerics.words import code_of
from convcheck.rules.cases import cases
from convcheck.semantics.body.formula import compile_formula
from convcheck.semantics.expected import UNDEFINED
from convcheck.vectors.body.formula import formula_calls

OPENVINO = CATALOG.specs["openvino.Range-4"]
ONNX = tuple(CATALOG.specs[name] for name in ("onnx.Range-11", "onnx.Range-27"))
CASES = {case.id: (spec, case) for spec in (OPENVINO, *ONNX) for case in cases(spec)}


def call(case, codes):
    types = zip(codes, case.inputs, strict=True)
    return tuple(np.array(code, dtype.format.storage) for code, dtype in types)


def found(spec, case, codes):
    readings = compile_formula(spec, case).expect(call(case, codes)).readings
    if readings[0].pattern == UNDEFINED:
        return None
    return {tuple(reading.outputs[0].codes.tolist()) for reading in readings}


def due(spec, case, codes):
    if spec in ONNX:
        return ranges.onnx(case.inputs[0].name, codes)
    first, second, third = (t.name for t in case.inputs)
    return ranges.openvino((first, second, third), case.outputs[0].name, codes)


OUTPUTS = sorted({(spec.id, case.outputs[0].name) for spec, case in CASES.values()})


@pytest.mark.parametrize(("spec_id", "output"), OUTPUTS)
def test_every_edge_call_is_as_the_oracle_has_it(spec_id, output):
    checked = 0
    for spec, case in CASES.values():
        if (spec.id, case.outputs[0].name) == (spec_id, output):
            for asked in formula_calls(spec, case, "edge", 0)[0]:
                if any(tensor.ndim for tensor in asked):
                    assert (
                        compile_formula(spec, case).expect(asked).readings[0].pattern == UNDEFINED
                    )
                    continue
                codes = tuple(int(tensor) for tensor in asked)
                assert found(spec, case, codes) == due(spec, case, codes), (case.id, codes)
                checked += 1
    assert checked > 20


@st.composite
def arguments(draw, case):
    codes = []
    for dtype in case.inputs:
        fmt = dtype.format
        if draw(st.integers(0, 7)) == 0:
            codes.append(draw(st.integers(0, 2 ** WIDTHS[dtype.name] - 1)))
        elif isinstance(fmt, Float):
            digits, places = draw(st.integers(-999, 999)), draw(st.integers(-3, 4))
            number = f"{digits or 1}e{places - 3}"
            largest = f"{'-' if digits < 0 else ''}{fmt.max}"
            codes.append(code_of(fmt, largest if abs(float(number)) > fmt.max else number)[0])
        else:
            low = -100 if fmt.signed else 0
            codes.append(draw(st.integers(low, 100)) & fmt.mask)
    return tuple(codes)


@settings(deadline=None, max_examples=800, derandomize=True)
@given(st.data())
def test_any_call_is_as_the_oracle_has_it(data):
    spec, case = CASES[data.draw(st.sampled_from(sorted(CASES)))]
    codes = data.draw(arguments(case))
    if compile_formula(spec, case).size(call(case, codes)) <= 300:
        assert found(spec, case, codes) == due(spec, case, codes), (case.id, codes)
