"""Operators of several inputs on the ONNX backends: a sequence of three scalars, a type-only input.

Expected bits are written by hand, for values that no reading disputes.
"""

from __future__ import annotations

import numpy as np
import pytest
from catalogue import CATALOG

from convcheck.backends.onnx.reference_evaluator import OnnxReference
from convcheck.backends.onnx.runtime import OnnxRuntime
from convcheck.backends.packing import too_large
from convcheck.backends.protocol import (
    LIMIT_VARIABLE,
    Backend,
    Declined,
    Outputs,
    Oversized,
    Refused,
)
from convcheck.rules.model import Attributes, Case

# 0, 1, 1.5, 2, 3, 4, 5, -1, NaN
FLOAT32 = {
    0: 0, 1: 0x3F800000, 1.5: 0x3FC00000, 2: 0x40000000, 3: 0x40400000, 4: 0x40800000,
    5: 0x40A00000, -1: 0xBF800000, -2: 0xC0000000, "nan": 0x7FC00000,
}  # fmt: skip
FLOAT64 = {
    0: 0, 1: 0x3FF0 << 48, 1.5: 0x3FF8 << 48, 2: 0x4000 << 48, 3: 0x4008 << 48,
    4: 0x4010 << 48, 5: 0x4014 << 48, -1: 0xBFF0 << 48, -2: 0xC000 << 48, "nan": 0x7FF8 << 48,
}  # fmt: skip
SEQUENCES = [
    ((0, 5, 2), [0, 2, 4]),  # a part of a step is left over
    ((0, 4, 2), [0, 2]),  # none is
    ((5, 0, -2), [5, 3, 1]),
    ((5, 0, 1), []),  # the wrong way
    ((3, 3, 1), []),
    ((4, 5, 2), [4]),
]


@pytest.fixture(scope="module", params=[OnnxRuntime, OnnxReference], ids=["ort", "reference"])
def backend(request: pytest.FixtureRequest) -> Backend:
    made: Backend = request.param()
    return made


@pytest.fixture(scope="module")
def types():
    return CATALOG.types.types


def sequence(types, name: str) -> Case:
    kind = types[name]
    return Case("onnx.Range-11", "onnx.Range", 11, (kind,) * 3, (kind,), ())


def code(name: str, value: object) -> int:
    if name.startswith("float"):
        return {"float32": FLOAT32, "float64": FLOAT64}[name][value]
    bits = int(name.removeprefix("int"))
    return value % (1 << bits)


def scalars(case: Case, values: tuple[object, ...]) -> list[np.ndarray]:
    kind = case.inputs[0]
    return [np.array(code(kind.name, v), kind.format.storage) for v in values]


@pytest.mark.parametrize("name", ["float32", "float64", "int16", "int32", "int64"])
def test_sequences(backend: Backend, types, name: str) -> None:
    case = sequence(types, name)
    assert backend.support(case) is None
    for given, due in SEQUENCES:
        answer = backend.answer(case, scalars(case, given))
        assert isinstance(answer, Outputs), answer
        assert answer.types == (name,)
        assert answer.arrays[0].dtype == case.outputs[0].format.storage
        assert answer.arrays[0].tolist() == [code(name, v) for v in due], given


@pytest.mark.parametrize("values", [(1, 2, 0), (0, 1, "nan")])
def test_what_raises_on_a_value_is_refused(backend: Backend, types, values) -> None:
    case = sequence(types, "float32")
    assert isinstance(backend.answer(case, scalars(case, values)), Refused)
    assert isinstance(backend.answer(case, scalars(case, (0, 1, 1))), Outputs)


def test_ort_has_no_kernel_for_other_types(types) -> None:
    case = sequence(types, "float16")
    answer = OnnxRuntime().answer(case, [np.array(0x3C00, np.uint16)] * 3)
    assert isinstance(answer, Declined)
    assert answer.missing


@pytest.mark.parametrize("shape", [(), (0,), (3,), (1, 2, 1, 2)], ids=str)
def test_of_a_second_input_only_the_type_counts(backend: Backend, types, shape) -> None:
    """CastLike: 1.5 to the type of another tensor, of another shape and of any values."""
    x, like = types["float32"], types["float8e4m3fn"]
    attributes: Attributes = (("saturate", 0),)
    case = Case("onnx.CastLike-19", "onnx.CastLike", 19, (x, like), (like,), attributes)
    for other in (np.full(7, 0x7F, np.uint8), np.array(0x00, np.uint8)):
        answer = backend.answer(case, [np.full(shape, 0x3FC00000, np.uint32), other])
        assert isinstance(answer, Outputs), answer
        assert answer.types == ("float8e4m3fn",)
        np.testing.assert_array_equal(answer.arrays[0], np.full(shape, 0x3C, np.uint8))


def test_what_is_larger_than_asked_and_allowed_is_left_where_it_is(
    backend: Backend, types, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(LIMIT_VARIABLE, "4")
    case = sequence(types, "int64")
    four = backend.answer(case, scalars(case, (0, 4, 1)))
    assert isinstance(four, Outputs)
    assert four.arrays[0].tolist() == [0, 1, 2, 3]
    five = backend.answer(case, scalars(case, (0, 5, 1)))
    assert five == Oversized(((5,),), ("int64",))
    kinds = (types["int8"],), (types["int16"],)
    cast = Case("onnx.Cast-21", "onnx.Cast", 21, *kinds, (), (("to", "int"),))
    answer = backend.answer(cast, [np.arange(5, dtype=np.uint8)])
    assert isinstance(answer, Outputs)
    assert answer.arrays[0].tolist() == [0, 1, 2, 3, 4]


def test_sizes() -> None:
    assert not too_large((1 << 24,), ())
    assert too_large((2, 1 << 24), ())
    assert not too_large((), ())
    assert not too_large((1 << 40, 0), ())
    assert not too_large((1 << 25,), [np.broadcast_to(np.uint8(0), (1 << 25,))])
