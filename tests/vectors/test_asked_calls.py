from collections import defaultdict

import numpy as np
import pytest
from catalogue import CATALOG, calls_asked

from convcheck.rules.body.steps import Steps
from convcheck.rules.cases import cases
from convcheck.semantics.body.steps import layout_of, outside_of
from convcheck.semantics.expected import EXACT

SCALED = [s for s in CATALOG.specs.values() if isinstance(s.body, Steps)]
QUANTIZING = [s for s in SCALED if s.op in ("onnx.QuantizeLinear", "onnx.DequantizeLinear")]
# The ends of the codes, and one with distinct bytes; for floats the positive ones.
ENDS = {
    "float32": {1, 0x7F7FFFFF, 0x01234567},
    "float16": {1, 0x7BFF, 0x0123},
    "bfloat16": {1, 0x7F7F, 0x0123},
    "float8e8m0": {0, 1, 0xFE},
    "int16": {0x8000, 0x7FFF, 0x8123},
    "uint16": {0, 0xFFFF, 0x8123},
    "int8": {0x80, 0x7F},
    "uint8": {0, 0xFF},
    "int4": {8, 7},
    "uint4": {0, 15},
    "int2": {2, 1},
    "uint2": {0, 3},
}


def inside(spec):
    steps = spec.body_as(Steps)
    return [c for c in cases(spec) if not outside_of(steps, layout_of(spec, c), c)]


@pytest.mark.parametrize("spec", QUANTIZING, ids=lambda spec: spec.id)
def test_the_ends_of_the_codes_of_scales_and_zero_points_are_asked(spec):
    found = defaultdict(set)
    for case in inside(spec):
        for call in calls_asked(case).calls:
            for place, codes in enumerate(call[1:]):
                found[place, case.inputs[place + 1].name].update(codes.reshape(-1).tolist())
    asked = {key for key in found if key[1] in ENDS}
    assert {name for _, name in found.keys() - asked} <= {
        "int32", "float4e2m1", "float6e2m3", "float6e3m2",
        "float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz",
    }  # fmt: skip
    assert not {key: missing for key in asked if (missing := ENDS[key[1]] - found[key])}


@pytest.mark.parametrize("name", ["openvino.FakeConvert-13", "openvino.FakeQuantize-1"])
def test_the_ends_of_the_codes_of_every_other_input_are_asked(name):
    found = defaultdict(set)
    for case in inside(CATALOG.specs[name]):
        calls = calls_asked(case)
        for call, due in zip(calls.calls, calls.expected, strict=True):
            if due.readings[0].pattern == EXACT:
                for place, codes in enumerate(call[1:]):
                    found[place, case.inputs[0].name].update(codes.reshape(-1).tolist())
    assert len(found) == {"openvino.FakeConvert-13": 2, "openvino.FakeQuantize-1": 4}[name] * 3
    assert not {key: missing for key in found if (missing := ENDS[key[1]] - found[key])}


@pytest.mark.parametrize("spec", QUANTIZING, ids=lambda spec: spec.id)
def test_an_int32_that_float32_does_not_hold_is_asked_beside_a_tie(spec):
    taking = [c for c in inside(spec) if c.inputs[0].name == "int32"]
    assert taking or spec.version in (19, 21)  # no scale for an int32 in quantising
    for case in taking if spec.op == "onnx.QuantizeLinear" else ():
        beside = 0
        for x, scale, *_ in calls_asked(case).calls:
            if x.ndim != 1 or scale.size != 1:
                continue
            by = float(scale.reshape(-1).view(np.float32)[0])
            if not 0 < by < np.inf:
                continue
            values = x.view(np.int32).astype(np.int64)
            large = values[np.abs(values) > 1 << 24]
            cut = large & ~((1 << np.frexp(np.abs(large))[1] - 24) - 1)
            beside += int((np.rint(large / by) != np.rint(cut / by)).sum())
        assert beside >= 2, case.id


def test_shapes_of_every_rank_have_dimensions_of_1():
    found = defaultdict(set)
    for spec in SCALED:
        for case in inside(spec):
            shapes = {call[0].shape for call in calls_asked(case).calls if call[0].size > 1}
            found[spec.op] |= {len(shape) for shape in shapes if 1 in shape}
    assert set(found) == {spec.op for spec in SCALED}
    assert all(ranks >= {2, 3, 4} for ranks in found.values()), found
