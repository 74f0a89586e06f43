"""The edge calls catch wrong kernels and causes that can be observed.

Causes that no edge call catches are tried on the boundary tier, which may not show them either.
"""

from functools import partial

import numpy as np
import pytest
from catalogue import CATALOG, CORPUS
from planted.calls import OPERATORS, given, wrong_in
from planted.causes import EVERY, calls_of

from convcheck.backends.protocol import Outputs, Refused
from convcheck.causes.score import mutants
from convcheck.rules.cases import cases
from convcheck.semantics.expected import EXACT, REFUSED


def same(one, other):
    if not isinstance(one, Outputs) or not isinstance(other, Outputs):
        return type(one) is type(other)
    pairs = zip(one.arrays, other.arrays, strict=True)
    return one.types == other.types and all(np.array_equal(a, b) for a, b in pairs)


def refutes(calls, due, answer):
    """Return whether an answer differs from each reading of a call for certain."""
    undefined = calls.decisions[due.row].level == "undefined"
    if answer is None or undefined or (due.between and len(due.readings) > 1):
        return False
    return all(is_none_of(reading, answer) for reading in due.readings)


def is_none_of(reading, answer):
    if isinstance(answer, Refused) or reading.pattern == REFUSED:
        return isinstance(answer, Refused) != (reading.pattern == REFUSED)
    assert isinstance(answer, Outputs)
    return any(
        out.dtype.name != name
        or out.shape != codes.shape
        or bool(((out.codes != codes.reshape(-1)) & (out.patterns == EXACT)).any())
        for out, name, codes in zip(reading.outputs, answer.types, answer.arrays, strict=True)
    )


@pytest.mark.parametrize("name", OPERATORS)
def test_a_right_kernel_is_not_accused_and_each_wrong_one_is(name, record_property):
    """At least as many calls catch it as two lists of codes distinguish, and at most those that it
    answers differently.
    """
    operator = OPERATORS[name]
    shown = dict.fromkeys(operator.wrong, 0)
    for calls in map(calls_of, operator.cases):
        right = given(operator.right, calls)
        assert wrong_in(calls, right) == 0, calls.case.id
        for bug, kernel in operator.wrong.items():
            answers = given(kernel, calls)
            differing = sum(not same(*pair) for pair in zip(answers, right, strict=True))
            certain = sum(map(partial(refutes, calls), calls.expected, answers))
            wrong = wrong_in(calls, answers)
            assert certain <= wrong <= differing, (calls.case.id, bug)
            shown[bug] += wrong > 0
    record_property(f"planted ({name}, by hand)", (len(shown), sum(map(bool, shown.values()))))
    assert all(shown.values()), shown


OF_CALLS = [cause for cause in EVERY if cause.call or cause.under]
SCALARS = "float16-float16-float16/scalar-shift/destination_type=f8e4m3"
SOME = {
    "onnx.Range-11": ("int64-int64-int64",),
    "openvino.Range-4": ("float32-float32-float32-to-int8",),
    "openvino.FakeConvert-13": (SCALARS,),
    "openvino.FakeQuantize-1": ("float32-float32-float32-float32-float32/tensor/levels=256",),
    "openvino.ConvertPromoteTypes-14": ("int8-uint8/tensor-tensor",),
    "onnx.QuantizeLinear-13": ("float32-float32-uint8/tensor",),
    "onnx.QuantizeLinear-23": ("float32-float32-float8e5m2/tensor/saturate=0",),
    "onnx.DequantizeLinear-13": ("int8-float32-int8/tensor",),
}


def of_spec(spec, names):
    every = [case for case in cases(CATALOG.specs[spec]) if not case.outside]
    return [case for case in every if case.name.startswith(tuple(names))]


def hold(spec, names, record):
    found = [m for _, some in mutants(CORPUS, of_spec(spec, names), OF_CALLS) for m in some]
    record(f"planted ({spec}, causes)", (len(found), sum(m.caught > 0 for m in found)))
    assert [(m.case.id, m.cause.name, m.witness) for m in found if not m.caught] == []
    assert len(found) >= 2


@pytest.mark.parametrize("spec", SOME)
def test_a_cause_that_some_call_shows_is_caught(spec, record_property):
    hold(spec, SOME[spec], record_property)


@pytest.mark.slow
@pytest.mark.parametrize("spec", [*SOME, "onnx.DynamicQuantizeLinear-11"])
def test_a_cause_is_caught_in_every_case(spec, record_property):
    hold(spec, ("",), record_property)
