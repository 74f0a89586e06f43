"""The adapters of ONNX Runtime and the reference evaluator: what goes in and out, and declining.

Values are 1 and the like, which no rule disputes: how the runtimes convert is not tested here.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from convcheck.backends.onnx.reference_evaluator import OnnxReference
from convcheck.backends.onnx.runtime import OnnxRuntime
from convcheck.backends.packing import pack, unpack
from convcheck.backends.protocol import Backend, Declined, Outputs, Refused, open_backend
from convcheck.errors import Place, UnavailableError, UsageError
from convcheck.numerics.format import Bool, Float, Int, Text
from convcheck.rules.model import Attributes, Case, DType

FORMATS = {
    "float16": Float(5, 10, 15, "ieee", True),
    "bfloat16": Float(8, 7, 127, "ieee", True),
    "float32": Float(8, 23, 127, "ieee", True),
    "float64": Float(11, 52, 1023, "ieee", True),
    "float8e4m3fn": Float(4, 3, 7, "all-ones"),
    "float8e4m3fnuz": Float(4, 3, 8, "sign-only", negative_zero=False),
    "float8e5m2": Float(5, 2, 15, "ieee", True),
    "float8e5m2fnuz": Float(5, 2, 16, "sign-only", negative_zero=False),
    "float8e8m0": Float(8, 0, 127, "all-ones", signed=False, zero=False, negative_zero=False),
    "float4e2m1": Float(2, 1, 1, "none"),
    "float6e2m3": Float(2, 3, 1, "none"),
    "bool": Bool(),
    "string": Text(),
    **{f"int{bits}": Int(bits, True) for bits in (2, 4, 8, 16, 32, 64)},
    **{f"uint{bits}": Int(bits, False) for bits in (2, 4, 8, 16, 32, 64)},
}
ONE = {
    "float16": 0x3C00,
    "bfloat16": 0x3F80,
    "float32": 0x3F800000,
    "float64": 0x3FF0000000000000,
    "float8e4m3fn": 0x38,
    "float8e4m3fnuz": 0x40,
    "float8e5m2": 0x3C,
    "float8e5m2fnuz": 0x40,
    "float8e8m0": 0x7F,
    "float4e2m1": 0x2,
}
LATER = {"int2", "uint2", "float8e8m0", "float4e2m1", "float6e2m3"}  # than Cast-21
CAST_21 = [name for name in FORMATS if name not in LATER]
SHAPES = [(3,), (), (0,), (1, 2, 3, 1)]
ONNX_NAMES = {"float32": "FLOAT", "float64": "DOUBLE"}


def dtype(name: str) -> DType:
    onnx = ONNX_NAMES.get(name, name.upper())
    return DType(name, FORMATS[name], (("onnx", onnx),), Place("test", 1))


def cast(source: str, target: str, version: int = 21, attributes: Attributes = ()) -> Case:
    return Case(
        spec=f"onnx.Cast-{version}",
        op="onnx.Cast",
        version=version,
        inputs=(dtype(source),),
        outputs=(dtype(target),),
        attributes=attributes,
        carried=(("to", "string" if version < 6 else "int"),),
    )


def ones(name: str, shape: tuple[int, ...] = (3,)) -> np.ndarray:
    fmt = FORMATS[name]
    return np.full(shape, "1" if isinstance(fmt, Text) else ONE.get(name, 1), fmt.storage)


def text(*values: str) -> np.ndarray:
    return np.array(values, object)


def outputs(answer: object) -> tuple[np.ndarray, str]:
    assert isinstance(answer, Outputs), answer
    return answer.arrays[0], answer.types[0]


@pytest.fixture(scope="module")
def ort() -> Backend:
    return OnnxRuntime()


@pytest.fixture(scope="module")
def reference() -> Backend:
    return OnnxReference()


@pytest.mark.parametrize("name", ["int2", "uint2", "int4", "uint4", "float4e2m1", "float6e2m3"])
@given(values=st.lists(st.integers(0, 255), max_size=9))
def test_packing_is_low_bits_first_and_reverses(name: str, values: list[int]) -> None:
    fmt = FORMATS[name]
    codes = np.array(values, np.uint8) & np.uint8((1 << fmt.bits) - 1)
    memory = pack(fmt, np.array(values, np.uint8))
    stream = sum(int(code) << (i * fmt.bits) for i, code in enumerate(codes))
    assert memory.tobytes() == stream.to_bytes(-(-len(values) * fmt.bits // 8), "little")
    np.testing.assert_array_equal(unpack(fmt, memory, codes.shape), codes)


def test_pad_bits_are_ignored_and_shapes_kept() -> None:
    memory = np.array([0x21, 0xF3], np.uint8)
    np.testing.assert_array_equal(unpack(FORMATS["int4"], memory, (1, 3)), [[1, 2, 3]])
    assert unpack(FORMATS["int4"], memory[:1], ()).shape == ()


def test_memory_of_another_size_is_an_error() -> None:
    with pytest.raises(ValueError, match="2 bytes for 5 codes of 4 bits"):
        unpack(FORMATS["int4"], np.zeros(2, np.uint8), (5,))


def test_wide_codes_and_bools_are_stored_as_they_are() -> None:
    codes = np.array([[0x0102, 0x0304]], np.uint16)
    assert pack(FORMATS["int16"], codes).tobytes() == codes.tobytes()
    bools = unpack(FORMATS["bool"], np.array([0, 1, 2], np.uint8), (3,))
    np.testing.assert_array_equal(bools, [0, 1, 2])  # a bool that is neither is to be seen


@pytest.mark.parametrize("source", CAST_21)
def test_ort_answers_every_pair_of_cast_21_in_every_shape(ort: Backend, source: str) -> None:
    for target in CAST_21:
        case = cast(source, target)
        assert ort.support(case) is None
        for shape in SHAPES:
            got, name = outputs(ort.answer(case, [ones(source, shape)]))
            assert (name, got.shape, got.dtype) == (target, shape, FORMATS[target].storage)
            np.testing.assert_array_equal(got, ones(target, shape))


@pytest.mark.parametrize("source", [name for name in CAST_21 if FORMATS[name] != Text()])
def test_the_reference_keeps_one_and_shapes(reference: Backend, source: str) -> None:
    for target in ("float16", "bfloat16", "float8e5m2fnuz", "int4", "uint64", "bool"):
        for shape in SHAPES:
            answer = reference.answer(cast(source, target), [ones(source, shape)])
            if (source, target) == ("uint4", "int4"):
                assert isinstance(answer, Declined)
                continue
            got, name = outputs(answer)
            assert (name, got.shape, got.dtype) == (target, shape, FORMATS[target].storage)
            np.testing.assert_array_equal(got, ones(target, shape))


@pytest.mark.parametrize("kind", ["ort", "reference"])
def test_float8e8m0_and_two_bits(kind: str, request: pytest.FixtureRequest) -> None:
    backend: Backend = request.getfixturevalue(kind)
    for target in ("float8e8m0", "int2", "uint2"):
        got, name = outputs(backend.answer(cast("float32", target, 25), [ones("float32", (5,))]))
        assert name == target
        np.testing.assert_array_equal(got, ones(target, (5,)))


def test_negative_codes_of_four_bits(ort: Backend, reference: Backend) -> None:
    codes = np.array([0xF, 0x8, 0x7], np.uint8)
    for backend in (ort, reference):
        got, _ = outputs(backend.answer(cast("int4", "int8"), [codes]))
        np.testing.assert_array_equal(got, [0xFF, 0xF8, 7])
        back, _ = outputs(backend.answer(cast("int8", "int4"), [got]))
        np.testing.assert_array_equal(back, codes)


def test_attributes_reach_the_node(ort: Backend, reference: Backend) -> None:
    big = np.array([2.0**20], np.float32).view(np.uint32)
    for backend in (ort, reference):
        for saturate, code in ((0, 0x7F), (1, 0x7E)):
            case = cast("float32", "float8e4m3fn", attributes=(("saturate", saturate),))
            assert outputs(backend.answer(case, [big]))[0] == code


def test_one_instance_goes_from_case_to_case(ort: Backend) -> None:
    for target in ("float16", "bfloat16", "float16"):
        got, name = outputs(ort.answer(cast("float32", target), [ones("float32")]))
        assert (name, got[0]) == (target, ONE[target])


def test_inputs_need_not_be_contiguous(ort: Backend) -> None:
    codes = np.arange(12, dtype=np.uint8)[::3]
    got, _ = outputs(ort.answer(cast("uint8", "int16"), [codes]))
    np.testing.assert_array_equal(got, [0, 3, 6, 9])


def test_ort_texts_in_and_out(ort: Backend) -> None:
    texts = text("é", "", " 1\n", "a\0b").reshape(2, 2)
    got, name = outputs(ort.answer(cast("string", "string"), [texts]))
    assert (name, got.dtype, got.tolist()) == ("string", object, texts.tolist())
    got, _ = outputs(ort.answer(cast("string", "bfloat16"), [text("1", "-2", "INF")]))
    np.testing.assert_array_equal(got, [0x3F80, 0xC000, 0x7F80])
    got, _ = outputs(ort.answer(cast("bfloat16", "string"), [got]))
    assert got.tolist() == ["1", "-2", "INF"]


def test_reference_texts_in_and_out(reference: Backend) -> None:
    got, name = outputs(reference.answer(cast("int8", "string"), [np.array([1, 0xFF], np.uint8)]))
    assert (name, got.dtype, got.tolist()) == ("string", object, ["1", "-1"])
    got, name = outputs(reference.answer(cast("string", "float16"), [text("1", "-2")]))
    assert (name, got.tolist()) == ("float16", [0x3C00, 0xC000])


def test_an_exception_on_a_value_is_refused(ort: Backend, reference: Backend) -> None:
    answer = ort.answer(cast("string", "float32"), [text("1", "abc")])
    assert isinstance(answer, Refused)
    assert answer.message.startswith("RUNTIME_EXCEPTION: ")
    assert answer.message.endswith("stod")
    answer = reference.answer(cast("string", "float32"), [text("1", "abc")])
    assert answer == Refused("ValueError: could not convert string to float: 'abc'")


@pytest.mark.parametrize(
    ("case", "words"),
    [
        (cast("float32", "float16", 1), "Could not find an implementation for Cast(1)"),
        (cast("float16", "float32", 1), "InsertedPrecisionFreeCast"),
        (cast("string", "float32", 6), "Type 'tensor(string)' of input parameter"),
        (cast("float32", "float4e2m1", 23), "Could not find an implementation for Cast(23)"),
        (cast("float16", "float4e2m1", 23), "Failed to find kernel for Cast(23)"),
        (cast("float32", "float6e2m3", 25), "Invalid tensor data type 27"),
        (cast("float32", "float16", 28), "Unsupported model IR version: 14"),
    ],
)
def test_ort_declines_what_it_has_no_kernel_for(ort: Backend, case: Case, words: str) -> None:
    answer = ort.answer(case, [ones(case.inputs[0].name)])
    assert isinstance(answer, Declined)
    assert words in answer.message
    assert answer.missing


def test_ort_declines_a_model_that_it_turns_down_in_its_own_words(ort: Backend) -> None:
    case = cast("float32", "float8e8m0", 24, (("round_mode", "bogus"),))
    words = "FAIL: Exception during initialization: Attribute round_mode must be"
    answer = ort.answer(case, [ones("float32")])
    assert isinstance(answer, Declined)
    assert answer.message == f"{words} 'up', 'down', or 'nearest'."
    assert not answer.missing


def test_the_reference_declines_what_depends_on_no_value(reference: Backend) -> None:
    answer = reference.answer(cast("bfloat16", "string"), [ones("bfloat16")])
    assert isinstance(answer, Declined)
    assert answer.missing
    assert "cannot cast dtype bfloat16" in answer.message
    answer = reference.answer(cast("float32", "float16", 1), [ones("float32")])
    assert answer == Declined("KeyError: 'FLOAT16'", missing=True)
    bogus = cast("float32", "float8e8m0", 24, (("round_mode", "bogus"),))
    answer = reference.answer(bogus, [ones("float32")])
    assert answer == Declined("ValueError: Unsupported rounding mode: bogus", missing=False)


def test_what_fails_only_for_this_shape_is_refused(reference: Backend) -> None:
    case = cast("float32", "float8e8m0", 24)
    assert isinstance(reference.answer(case, [ones("float32", ())]), Refused | Outputs)
    assert isinstance(reference.answer(case, [ones("float32", (1,))]), Outputs)


@pytest.mark.parametrize("kind", ["ort", "reference"])
def test_other_worlds_and_types_cannot_be_asked(kind: str, request: pytest.FixtureRequest) -> None:
    backend: Backend = request.getfixturevalue(kind)
    other = Case("pypto.cast", "pypto.cast", 1, (dtype("int8"),), (dtype("int8"),), ())
    assert backend.support(other) == Declined("pypto.cast is not an ONNX operator", missing=True)
    nameless = DType("int7", Int(7, True), (), Place("test", 1))
    answer = backend.support(Case("onnx.Cast-21", "onnx.Cast", 21, (nameless,), (nameless,), ()))
    assert answer is not None
    assert answer.message == "the installed onnx package has no type int7"


def test_providers() -> None:
    with pytest.raises(UnavailableError, match="has no NoExecutionProvider") as caught:
        OnnxRuntime("NoExecutionProvider")
    assert "ort:CPUExecutionProvider" in caught.value.hint
    named = OnnxRuntime("CPUExecutionProvider")
    assert named.name == "ort:CPUExecutionProvider"
    assert "CPUExecutionProvider, graph inputs, optimisation off, 1 thread" in named.version


def test_another_provider_does_not_fall_back_on_the_cpu() -> None:
    try:
        azure = OnnxRuntime("AzureExecutionProvider")
    except UnavailableError:
        pytest.skip("this build of onnxruntime has no other provider")
    answer = azure.answer(cast("float32", "float16"), [ones("float32")])
    assert isinstance(answer, Declined)
    assert answer.missing
    assert "default CPU EP" in answer.message


def test_versions_say_what_ran(ort: Backend, reference: Backend) -> None:
    assert (ort.name, reference.name) == ("ort", "onnx-reference")
    assert ort.version.startswith("onnxruntime ")
    assert reference.version.endswith(" ReferenceEvaluator")


@pytest.mark.parametrize("name", ["pypto", "onnx-reference", "reference"])
def test_a_backend_without_variants_refuses_one(name: str) -> None:
    with pytest.raises(UsageError):
        open_backend(f"{name}:x")
