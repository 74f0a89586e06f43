from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest
from catalogue import CATALOG

from convcheck.backends.protocol import LIMIT_VARIABLE, Declined, Outputs, Oversized, Refused
from convcheck.backends.torch import Torch
from convcheck.rules.model import Calling, Case, FunctionRow

# Find torch without importing it, which doubles the time of collection.
pytestmark = pytest.mark.skipif(
    find_spec("torch") is None, reason="needs torch: pip install '.[torch]'"
)


@pytest.fixture(scope="module")
def torch_():
    base = CATALOG.specs["onnx.Cast-28"]
    promoting = FunctionRow(attributes=(("unsafe", ("true",)), ("u64", None)))
    extra = {
        "test.Promote-1": {"torch": Calling("result_type", (promoting,))},
        "test.Sequence-1": {"torch": Calling("arange")},
        "test.Strange-1": {"torch": Calling("sort")},
    }
    specs = {name: replace(base, id=name, calls=calls) for name, calls in extra.items()}
    return Torch(catalog=replace(CATALOG, specs={**CATALOG.specs, **specs}))


def make(spec, inputs, outputs, attributes=()):
    op, _, version = spec.rpartition("-")
    known = CATALOG.types.types
    types = tuple(tuple(known[t] for t in side) for side in (inputs, outputs))
    return Case(spec, op, int(version), types[0], types[1], attributes)


def codes(case, *values):
    return [np.array(v, t.format.storage) for v, t in zip(values, case.inputs, strict=True)]


def got(answer):
    assert isinstance(answer, Outputs), answer
    return answer


def test_a_function_that_the_adapter_does_not_call_is_declined(torch_):
    strange = make("test.Strange-1", ["int8"], ["int8"])
    declined = Declined("this adapter calls no sort", missing=True)
    assert torch_.support(strange) == declined


PROMOTE = (("unsafe", "true"), ("u64", "f32"))
PROMOTIONS = [
    # types and values in, and out: a wider signed type; the dimensioned type; the wider float
    (("int8", [0xFF]), ("uint8", [200]), "int16", [0xFFFF], [0x00C8]),
    (("uint8", [1]), ("int64", 300), "uint8", [1], 300 % 256),
    (("float16", [0x3C00]), ("bfloat16", [0x3F80]), "float32", [0x3F800000], [0x3F800000]),
    (("int64", [2]), ("bfloat16", 0x3F80), "bfloat16", [0x4000], 0x3F80),
    (("bool", [1]), ("bool", [0]), "bool", [1], [0]),
]


@pytest.mark.parametrize(("left", "right", "common", "first", "second"), PROMOTIONS)
def test_promotions(torch_, left, right, common, first, second):
    case = make("test.Promote-1", [left[0], right[0]], [], PROMOTE)
    assert torch_.support(case) is None
    answer = got(torch_.answer(case, codes(case, left[1], right[1])))
    assert answer.types == (common, common)
    for array, due in zip(answer.arrays, (first, second), strict=True):
        assert array.tolist() == due
    back = make("test.Promote-1", [right[0], left[0]], [], PROMOTE)
    assert got(torch_.answer(back, codes(back, right[1], left[1]))).types == (common, common)


def test_promotions_that_torch_has_not(torch_):
    case = make("test.Promote-1", ["uint16", "int32"], [], PROMOTE)
    answer = torch_.answer(case, codes(case, [1], [1]))
    assert isinstance(answer, Declined)
    assert answer.missing
    assert "not supported, attempted to promote UInt16 and Int" in answer.message
    safe = make("test.Promote-1", ["int8", "int8"], [], (("unsafe", "false"), ("u64", "f32")))
    words = "torch's result_type has no unsafe=false, u64=f32: what it does is unsafe=true, u64=any"
    assert torch_.support(safe) == Declined(words, missing=True)


SEQUENCES = [
    (("int32", 0), ("int32", 5), ("int32", 2), "int64", [0, 2, 4]),
    (("int8", 5), ("int8", 0), ("int8", 0xFE), "int16", [5, 3, 1]),
    (("int8", 3), ("int8", 3), ("int8", 1), "uint8", []),
    # 0, 1.5, 0.5 in bfloat16, float16 and float32; the answer in float16
    (("bfloat16", 0), ("float16", 0x3E00), ("float32", 0x3F000000), "float16", [0, 0x3800, 0x3C00]),
    (("float32", 0x3FC00000), ("float32", 0), ("float32", 0xBF800000), "float32",
     [0x3FC00000, 0x3F000000]),
]  # fmt: skip


@pytest.mark.parametrize(("start", "stop", "step", "output", "due"), SEQUENCES)
def test_sequences(torch_, start, stop, step, output, due):
    case = make("test.Sequence-1", [start[0], stop[0], step[0]], [output])
    assert torch_.support(case) is None
    answer = got(torch_.answer(case, codes(case, start[1], stop[1], step[1])))
    assert answer.types == (output,)
    assert answer.arrays[0].tolist() == due
    assert answer.arrays[0].dtype == case.outputs[0].format.storage


def test_sequences_that_torch_refuses_or_has_not(torch_):
    case = make("test.Sequence-1", ["int32"] * 3, ["int32"])
    for values, words in (((1, 2, 0), "step must be nonzero"), ((5, 0, 1), "inconsistent with")):
        answer = torch_.answer(case, codes(case, *values))
        assert isinstance(answer, Refused)
        assert words in answer.message
    case = make("test.Sequence-1", ["int32"] * 3, ["uint64"])
    answer = torch_.answer(case, codes(case, 0, 3, 1))
    assert isinstance(answer, Declined)
    assert answer.missing
    case = make("test.Sequence-1", ["uint64"] * 3, ["int64"])
    assert isinstance(torch_.answer(case, codes(case, 0, 1 << 63, 1 << 62)), Refused)


def test_a_huge_sequence_has_its_length_and_no_memory(torch_):
    case = make("test.Sequence-1", ["int64"] * 3, ["float64"])
    answer = torch_.answer(case, codes(case, 0, 1 << 40, 1))
    assert answer == Oversized(((1 << 40,),), ("float64",))


def test_the_limit_is_the_runs(torch_, monkeypatch):
    monkeypatch.setenv(LIMIT_VARIABLE, "4")
    case = make("test.Sequence-1", ["int64"] * 3, ["int64"])
    assert got(torch_.answer(case, codes(case, 0, 4, 1))).arrays[0].tolist() == [0, 1, 2, 3]
    assert torch_.answer(case, codes(case, 0, 5, 1)) == Oversized(((5,),), ("int64",))
    cast = make("onnx.Cast-28", ["int8"], ["int16"])  # no larger than the input: values
    assert got(torch_.answer(cast, codes(cast, [1, 2, 3, 4, 5]))).arrays[0].tolist()[4] == 5
