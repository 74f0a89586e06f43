import re
from dataclasses import replace

import numpy as np
import pytest
from catalogue import CATALOG, calls_asked
from oracle.formats import INTEGERS
from oracle.quantize import NARROW, dequantize, quantize
from planted.calls import by_way, given, wrong_in
from planted.field.quantization import BUGS
from planted.quantize_bugs import Way, answer, asked, coded, narrow_codes, values

from convcheck.rules.find import find_case

LINK = re.compile(r"[\w.-]+/[\w.-]+/(issues|pull)/\d+")
each = pytest.mark.parametrize("bug", BUGS.values(), ids=BUGS)


def case_of(bug):
    return find_case(CATALOG, bug.case, None, None, ())


def codes(name, numbers):
    if name in INTEGERS:
        whole = numbers.astype(np.int64) % (1 << INTEGERS[name])
        return whole.astype(np.uint8 if INTEGERS[name] <= 8 else np.uint32)
    return narrow_codes(name, numbers) if name in NARROW else coded(name, numbers)


def example(bug):
    case, one = case_of(bug), bug.example
    said = dict(case.attributes) | one.said
    case = replace(case, attributes=tuple(said.items()))
    shape, of_scale = one.shapes or ((len(one.x),), ())
    tensors = [(one.x, shape), (one.scale, of_scale), (one.zero, of_scale)]
    inputs = [
        codes(dtype.name, np.array(numbers, float)).reshape(dims)
        for dtype, (numbers, dims) in zip(case.inputs, tensors, strict=False)
    ]
    return case, inputs, codes(case.outputs[0].name, np.array(one.gave, float)).reshape(shape)


@each
def test_it_does_what_its_report_shows(bug):
    case, inputs, gave = example(bug)
    got = answer(bug.way, case, inputs)
    name = case.outputs[0].name
    assert values(name, got).tolist() == values(name, gave.astype(got.dtype)).tolist()


@each
def test_that_is_wrong_by_the_oracle_and_the_right_way_is_not(bug):
    case, inputs, _ = example(bug)
    wrong, right = (answer(way, case, inputs).reshape(-1) for way in (bug.way, Way()))
    due = [due_of(case, *one) for one in elements(case, inputs)]
    assert any(code not in some for code, some in zip(wrong.tolist(), due, strict=True))
    assert all(code in some for code, some in zip(right.tolist(), due, strict=True))


def elements(case, inputs):
    p = asked(Way(), case, inputs)
    x, scale, *zero = (
        codes(dtype.name, numbers).tolist()
        for dtype, numbers in zip(case.inputs, (p.x, p.scale, p.zero), strict=False)
    )
    return list(zip(x, scale, *(zero or [[None] * len(x)]), strict=True))


def due_of(case, x, scale, zero):
    types = (case.inputs[0].name, case.inputs[1].name, case.outputs[0].name)
    if case.op == "onnx.DequantizeLinear":
        return dequantize(case.version, types, (x, scale, zero))
    return quantize(case.version, types, (x, scale, zero))


def test_the_edge_calls_catch_every_fault(record_property):
    missed = []
    for name, bug in BUGS.items():
        calls = calls_asked(case_of(bug))
        missed += [] if wrong_in(calls, given(by_way(bug.way), calls)) else [name]
    record_property("planted (quantisation, field)", (len(BUGS), len(BUGS) - len(missed)))
    assert missed == []


def test_each_has_a_report_of_its_own():
    links = {bug.link for bug in BUGS.values()}
    assert len(BUGS) == len(links)
    assert all(map(LINK.fullmatch, links))
