from itertools import product

import numpy as np
import pytest
from catalogue import CATALOG

from convcheck.backends.onnx.reference_evaluator import OnnxReference
from convcheck.backends.onnx.runtime import OnnxRuntime
from convcheck.backends.protocol import Declined, Outputs, Refused, open_backend
from convcheck.backends.reference import Reference
from convcheck.errors import Place, UnavailableError, UsageError
from convcheck.numerics.format import Int, Text
from convcheck.numerics.words import code_of
from convcheck.rules.find import find_case
from convcheck.rules.model import Case, DType

TYPES = CATALOG.types.types
CAST_21 = [dtype.name for dtype in CATALOG.specs["onnx.Cast-21"].types["T1"]]
SHAPES = [(3,), (), (0,), (1, 2, 3, 1)]


def cast(source, target, version=21, attributes=()):
    return Case(
        spec=f"onnx.Cast-{version}",
        op="onnx.Cast",
        version=version,
        inputs=(TYPES[source],),
        outputs=(TYPES[target],),
        attributes=attributes,
        carried=(("to", "string" if version < 6 else "int"),),
    )


def ones(name, shape=(3,)):
    fmt = TYPES[name].format
    return np.full(shape, "1" if isinstance(fmt, Text) else code_of(fmt, "1")[0], fmt.storage)


def text(*values):
    return np.array(values, object)


def outputs(answer):
    assert isinstance(answer, Outputs), answer
    return answer.arrays[0], answer.types[0]


@pytest.fixture(scope="module")
def ort():
    return OnnxRuntime()


@pytest.fixture(scope="module")
def reference():
    return OnnxReference()


@pytest.mark.parametrize("source", CAST_21)
def test_ort_answers_every_pair_of_cast_21_in_every_shape(ort, source):
    for target in CAST_21:
        case = cast(source, target)
        assert ort.support(case) is None
        for shape in SHAPES:
            got, name = outputs(ort.answer(case, [ones(source, shape)]))
            assert (name, got.shape, got.dtype) == (target, shape, TYPES[target].format.storage)
            np.testing.assert_array_equal(got, ones(target, shape))


@pytest.mark.parametrize("source", [name for name in CAST_21 if name != "string"])
def test_the_reference_keeps_one_and_shapes(reference, source):
    for target in ("float16", "bfloat16", "float8e5m2fnuz", "int4", "uint64", "bool"):
        for shape in SHAPES:
            answer = reference.answer(cast(source, target), [ones(source, shape)])
            if (source, target) == ("uint4", "int4"):
                assert isinstance(answer, Declined)
                continue
            got, name = outputs(answer)
            assert (name, got.shape, got.dtype) == (target, shape, TYPES[target].format.storage)
            np.testing.assert_array_equal(got, ones(target, shape))


def test_float8e8m0_and_two_bits(ort, reference):
    for backend, target in product((ort, reference), ("float8e8m0", "int2", "uint2")):
        got, name = outputs(backend.answer(cast("float32", target, 25), [ones("float32", (5,))]))
        assert name == target
        np.testing.assert_array_equal(got, ones(target, (5,)))


def test_negative_codes_of_four_bits(ort, reference):
    codes = np.array([0xF, 0x8, 0x7], np.uint8)
    for backend in (ort, reference):
        got, _ = outputs(backend.answer(cast("int4", "int8"), [codes]))
        np.testing.assert_array_equal(got, [0xFF, 0xF8, 7])
        back, _ = outputs(backend.answer(cast("int8", "int4"), [got]))
        np.testing.assert_array_equal(back, codes)


def test_attributes_reach_the_node(ort, reference):
    big = np.array([2.0**20], np.float32).view(np.uint32)
    for backend in (ort, reference):
        for saturate, code in ((0, 0x7F), (1, 0x7E)):
            case = cast("float32", "float8e4m3fn", attributes=(("saturate", saturate),))
            assert outputs(backend.answer(case, [big]))[0] == code


def test_ort_texts_in_and_out(ort):
    texts = text("é", "", " 1\n", "a\0b").reshape(2, 2)
    got, name = outputs(ort.answer(cast("string", "string"), [texts]))
    assert (name, got.dtype, got.tolist()) == ("string", object, texts.tolist())
    got, _ = outputs(ort.answer(cast("string", "bfloat16"), [text("1", "-2", "INF")]))
    np.testing.assert_array_equal(got, [0x3F80, 0xC000, 0x7F80])
    got, _ = outputs(ort.answer(cast("bfloat16", "string"), [got]))
    assert got.tolist() == ["1", "-2", "INF"]


def test_reference_texts_in_and_out(reference):
    got, name = outputs(reference.answer(cast("int8", "string"), [np.array([1, 0xFF], np.uint8)]))
    assert (name, got.dtype, got.tolist()) == ("string", object, ["1", "-1"])
    got, name = outputs(reference.answer(cast("string", "float16"), [text("1", "-2")]))
    assert (name, got.tolist()) == ("float16", [0x3C00, 0xC000])


def test_an_exception_on_a_value_is_refused(ort, reference):
    answer = ort.answer(cast("string", "float32"), [text("1", "abc")])
    assert isinstance(answer, Refused)
    assert answer.message.startswith("RUNTIME_EXCEPTION: ")
    assert answer.message.endswith("stod")
    answer = reference.answer(cast("string", "float32"), [text("1", "abc")])
    assert answer == Refused("ValueError: could not convert string to float: 'abc'")


@pytest.mark.parametrize(("case", "words"), [
    (cast("float32", "float16", 1), "Could not find an implementation for Cast(1)"),
    (cast("float16", "float32", 1), "InsertedPrecisionFreeCast"),
    (cast("string", "float32", 6), "Type 'tensor(string)' of input parameter"),
    (cast("float32", "float4e2m1", 23), "Could not find an implementation for Cast(23)"),
    (cast("float16", "float4e2m1", 23), "Failed to find kernel for Cast(23)"),
    (cast("float32", "float6e2m3", 25), "Invalid tensor data type 27"),
    (cast("float32", "float16", 28), "Unsupported model IR version: 14"),
])  # fmt: skip
def test_ort_declines_what_it_has_no_kernel_for(ort, case, words):
    answer = ort.answer(case, [ones(case.inputs[0].name)])
    assert isinstance(answer, Declined)
    assert words in answer.message
    assert answer.missing


def test_ort_declines_a_model_that_it_turns_down_in_its_own_words(ort):
    case = cast("float32", "float8e8m0", 24, (("round_mode", "bogus"),))
    words = "FAIL: Exception during initialization: Attribute round_mode must be"
    answer = ort.answer(case, [ones("float32")])
    assert isinstance(answer, Declined)
    assert answer.message == f"{words} 'up', 'down', or 'nearest'."
    assert not answer.missing


def test_the_reference_declines_what_depends_on_no_value(reference):
    answer = reference.answer(cast("bfloat16", "string"), [ones("bfloat16")])
    assert isinstance(answer, Declined)
    assert answer.missing
    assert "cannot cast dtype bfloat16" in answer.message
    answer = reference.answer(cast("float32", "float16", 1), [ones("float32")])
    assert answer == Declined("KeyError: 'FLOAT16'", missing=True)
    bogus = cast("float32", "float8e8m0", 24, (("round_mode", "bogus"),))
    answer = reference.answer(bogus, [ones("float32")])
    assert answer == Declined("ValueError: Unsupported rounding mode: bogus", missing=False)


def test_what_fails_only_for_this_shape_is_refused(reference):
    case = cast("float32", "float8e8m0", 24)
    assert isinstance(reference.answer(case, [ones("float32", ())]), Refused | Outputs)
    assert isinstance(reference.answer(case, [ones("float32", (1,))]), Outputs)


def test_other_worlds_and_types_cannot_be_asked(ort, reference):
    other = Case("pypto.cast", "pypto.cast", 1, (TYPES["int8"],), (TYPES["int8"],), ())
    nameless = (DType("int7", Int(7, True), (), Place("test", 1)),)
    unknown = Case("onnx.Cast-21", "onnx.Cast", 21, nameless, nameless, ())
    for backend in (ort, reference):
        said = Declined("pypto.cast is not an ONNX operator", missing=True)
        assert backend.support(other) == said
        answer = backend.support(unknown)
        assert answer.message == "the installed onnx package has no type int7"


def test_providers():
    with pytest.raises(UnavailableError, match="has no NoExecutionProvider") as caught:
        OnnxRuntime("NoExecutionProvider")
    assert "ort:CPUExecutionProvider" in caught.value.hint
    named = OnnxRuntime("CPUExecutionProvider")
    assert named.name == "ort:CPUExecutionProvider"
    assert "CPUExecutionProvider, graph inputs, optimisation off, 1 thread" in named.version


def test_another_provider_does_not_fall_back_on_the_cpu():
    try:
        azure = OnnxRuntime("AzureExecutionProvider")
    except UnavailableError:
        pytest.skip("this build of onnxruntime has no other provider")
    answer = azure.answer(cast("float32", "float16"), [ones("float32")])
    assert isinstance(answer, Declined)
    assert answer.missing
    assert "default CPU EP" in answer.message


def test_versions_say_what_ran(ort, reference):
    assert (ort.name, reference.name) == ("ort", "onnx-reference")
    assert ort.version.startswith("onnxruntime ")
    assert reference.version.endswith(" ReferenceEvaluator")


@pytest.mark.parametrize("shape", [(), (0,), (3,), (1, 2, 1, 2)], ids=str)
def test_only_a_type_counts(ort, reference, shape):
    """CastLike: 1.5 to the type of another tensor, of any shape and values."""
    x, like = TYPES["float32"], TYPES["float8e4m3fn"]
    attributes = (("saturate", 0),)
    case = Case("onnx.CastLike-19", "onnx.CastLike", 19, (x, like), (like,), attributes)
    for backend in (ort, reference):
        for other in (np.full(7, 0x7F, np.uint8), np.array(0x00, np.uint8)):
            got, name = outputs(
                backend.answer(case, [np.full(shape, 0x3FC00000, np.uint32), other])
            )
            assert name == "float8e4m3fn"
            np.testing.assert_array_equal(got, np.full(shape, 0x3C, np.uint8))


@pytest.mark.parametrize("name", ["pypto", "onnx-reference", "reference"])
def test_a_backend_without_variants_refuses_one(name):
    with pytest.raises(UsageError):
        open_backend(f"{name}:x")


def answer(reference, saturate, bits):
    name = f"onnx.Cast-21/float32-to-float8e4m3fn/saturate={saturate}"
    found = reference.answer(find_case(CATALOG, name, None, None, ()), [bits])
    return found.arrays[0]


def test_what_was_asked_before_changes_no_answer():
    reference, huge = Reference(CATALOG), np.array([0x7F00_0000, 0x3F80_0000], np.uint32)
    clamped = answer(reference, 1, huge)
    assert clamped.tolist() == [0x7E, 0x38]
    clamped[:] = 0
    assert answer(reference, 1, huge).tolist() == [0x7E, 0x38]
    assert answer(reference, 0, huge).tolist() == [0x7F, 0x38]
    huge[:] = 0x4000_0000
    assert answer(reference, 0, huge).tolist() == [0x40, 0x40]
    assert answer(reference, 0, huge.reshape(2, 1)).shape == (2, 1)
