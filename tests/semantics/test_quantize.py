from itertools import product

import numpy as np
import pytest
from catalogue import CATALOG, calls_asked, element
from oracle.quantize import UNDEFINED, ZERO, dequantize, quantize

from convcheck.numerics.words import code_of
from convcheck.rules.cases import cases
from convcheck.semantics import expected as pattern
from convcheck.semantics.body.steps import compile_steps

SPECS = [name for name in CATALOG.specs if "uantizeLinear-" in name and "Dynamic" not in name]


def elements(case, call):
    x, scale, *zero = call
    said = dict(case.attributes)
    axis, block = int(said.get("axis", 1)), int(said.get("block_size", 0))
    for place in product(*map(range, x.shape)):
        met = ()
        if scale.ndim and block:
            at = axis % x.ndim
            met = (*place[:at], place[at] // block, *place[at + 1 :])
        elif scale.ndim:
            met = (place[axis],)
        yield int(x[place]), int(scale[met]), int(zero[0][met]) if zero else None


def due(case, codes):
    types = (case.inputs[0].name, case.inputs[1].name, case.outputs[0].name)
    if case.op == "onnx.DequantizeLinear":
        return dequantize(case.version, types, codes)
    precision, saturate = case.attribute("precision"), case.attribute("saturate")
    return quantize(
        case.version, types, codes, None if precision is None else int(precision),
        saturate=saturate != 0,  # "It is true by default."
    )  # fmt: skip


def held(case, call, expected):
    if expected.readings[0].pattern == pattern.UNDEFINED:
        wanted = [due(case, codes) for codes in elements(case, call)]
        assert all(each == {UNDEFINED} for each in wanted)
        return 0
    defined = 0
    for i, codes in enumerate(elements(case, call)):
        said = {element(reading.outputs[0], i) for reading in expected.readings}
        assert said == due(case, codes), (case.id, i, codes)
        defined += said != {UNDEFINED}
    return defined


@pytest.mark.parametrize("name", SPECS)
def test_the_edge_calls_against_the_oracle(name):
    defined = 0
    for case in cases(CATALOG.specs[name]):
        if not compile_steps(CATALOG.specs[name], case).outside:
            vectors = calls_asked(case)
            pairs = zip(vectors.calls, vectors.expected, strict=True)
            defined += sum(held(case, call, expected) for call, expected in pairs)
    assert defined > 300


INF, HALF = "0x7c00", "0x0800"  # of float16: an infinity, and 2^-13
PUT = [
    # 2.5001 is 2.5 in float16, the lowest allowed `precision`.
    (
        "onnx.QuantizeLinear-23/float32-float32-int8/in-float16/precision=10",
        ["2.5001", "1", "0"],
        {"2", "3"},
    ),
    # 2049 + 2^-13 is above a tie of float16, and on it in float32.
    *(
        (
            f"onnx.DequantizeLinear-{version}/int32-float16{to}/tensor-default",
            ["16785409", HALF],
            {"2048", "2050", INF},
        )
        for version, to in ((19, ""), (21, ""), (23, "-to-float16"))
    ),
    ("onnx.DequantizeLinear-19/float8e4m3fn-float32/tensor-default", ["-0", "2"], {ZERO}),
    (
        "onnx.DequantizeLinear-23/float4e2m1-float32-float4e2m1-to-float32/tensor",
        ["-0", "2", "0"],
        {ZERO},
    ),
    (
        "onnx.DequantizeLinear-28/float6e2m3-float32-float6e2m3-to-float32/tensor",
        ["-0", "2", "0"],
        {"-0"},
    ),
    # Underflow does not give -0.
    (
        "onnx.DequantizeLinear-19/float8e4m3fn-float32/tensor-default",
        ["-0.015625", "0x00000001"],
        {"-0"},
    ),
]


@pytest.mark.parametrize(("name", "words", "may_be"), PUT)
def test_what_may_come_of_one_element(name, words, may_be):
    spec = CATALOG.specs[name.partition("/")[0]]
    [case] = [case for case in cases(spec) if case.id == name]
    given = zip((dtype.format for dtype in case.inputs), words, strict=True)
    x, *others = (np.array(code_of(fmt, word)[0], fmt.storage) for fmt, word in given)
    made = compile_steps(spec, case).expect([x.reshape(1), *others])
    output = case.outputs[0].format
    codes = {w if w == ZERO else code_of(output, w)[0] for w in may_be}
    assert {element(reading.outputs[0], 0) for reading in made.readings} == codes
