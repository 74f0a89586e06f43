"""The OpenVINO adapter in its four variants. Expected bits are by hand, on undisputed values."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from catalogue import CATALOG

from convcheck.backends.openvino import OpenVino, trimmed
from convcheck.backends.process.standalone import OpenVinoServer
from convcheck.backends.protocol import (
    LIMIT_VARIABLE,
    Declined,
    Outputs,
    Oversized,
    Refused,
    open_backend,
)
from convcheck.errors import UnavailableError, UsageError
from convcheck.rules.model import Case

ov = pytest.importorskip("openvino", reason="openvino is not there: install convcheck[openvino]")

TYPES = CATALOG.types.types
VARIANTS = ["", "first", "const", "eval"]


def case(op, version, inputs, outputs, attributes=(), carried=()):
    types = [tuple(TYPES[name] for name in names) for names in (inputs, outputs)]
    return Case(f"{op}-{version}", op, version, types[0], types[1], attributes, carried)


def cast(source, target):
    return case("onnx.Cast", 21, [source], [target], carried=(("to", "int"),))


def convert(source, target):
    carried = (("destination_type", "string"),)
    return case("openvino.Convert", 1, [source], [target], carried=carried)


def promote(*inputs, unsafe="true", pytorch="false", u64="f32"):
    attributes = (
        ("promote_unsafe", unsafe),
        ("pytorch_scalar_promotion", pytorch),
        ("u64_integer_promotion_target", u64),
    )
    return case("openvino.ConvertPromoteTypes", 14, list(inputs), [], attributes)


def fake_convert(kind, destination, inputs=3):
    attributes = (("destination_type", destination),)
    return case("openvino.FakeConvert", 13, [kind] * inputs, [kind], attributes)


def span(kind, output):
    return case("openvino.Range", 4, [kind] * 3, [output], carried=(("output_type", "string"),))


def f32(*values):
    return np.array(values, np.float32).view(np.uint32)


def scalars(*values):
    return [f32(value).reshape(()) for value in values]


def codes(name, *values):
    return np.array(values, TYPES[name].format.storage)


def outputs(answer):
    assert isinstance(answer, Outputs), answer
    return list(answer.arrays), list(answer.types)


def only(answer, name, shape):
    (array,), (kind,) = outputs(answer)
    assert (kind, array.shape, array.dtype) == (name, shape, TYPES[name].format.storage)
    return [int(code) for code in array.reshape(-1)]


@pytest.fixture(scope="module", params=VARIANTS)
def backend(request):
    return OpenVino(request.param)


@pytest.fixture
def kernel():
    return OpenVino()


def test_names_and_versions_say_what_runs():
    found = [OpenVino(variant) for variant in VARIANTS]
    names = ["openvino", "openvino:first", "openvino:const", "openvino:eval"]
    assert [one.name for one in found] == names
    assert len({one.version for one in found}) == len(names)
    for one in found:
        assert one.version.startswith(f"openvino {ov.__version__.partition('-')[0]}, CPU, ")
        assert "INFERENCE_PRECISION_HINT f32, model cache off, 1 thread" in one.version


@pytest.mark.parametrize("begun", [
    "from convcheck.backends.openvino import OpenVino; OpenVino()",
    "from convcheck.backends.process.standalone import openvino_modules; openvino_modules()",
])  # fmt: skip
def test_nothing_is_told_to_the_makers_of_openvino(begun):
    told = "any(m.partition('.')[0] == 'openvino_telemetry' and x for m, x in sys.modules.items())"
    program = f"import sys; {begun}; assert 'openvino' in sys.modules; sys.exit({told})"
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)


def test_an_unknown_variant_is_a_usage_error():
    with pytest.raises(UsageError, match="no variant 'foo'") as caught:
        open_backend("openvino:foo")
    assert caught.value.hint == "one of openvino, openvino:first, openvino:const, openvino:eval"


def test_first_keeps_no_constants_of_another_call():
    backend = OpenVino("first")
    asked = case("openvino.FakeQuantize", 1, ["float32"] * 5, ["float32"], (("levels", 256),))
    for high in (255, 510):
        answer = backend.answer(asked, [f32(2, 1000), *scalars(0, high, 0, high)])
        assert only(answer, "float32", (2,)) == f32(2, high).tolist()


@pytest.mark.parametrize("address", ["openvino", "openvino:eval"])
def test_without_openvino_it_is_unavailable(address, monkeypatch):
    monkeypatch.setitem(sys.modules, "openvino", None)
    with pytest.raises(UnavailableError, match="not available"):
        open_backend(address)


def case_id(value):
    return value.id if isinstance(value, Case) else ""


HALF, BRAIN = codes("float16", 0x3C00, 0x3C00).reshape(2, 1), codes("bfloat16", 0x4010)
DEQUANTIZE = case("onnx.DequantizeLinear", 13, ["int8", "float32", "int8"], ["float32"])
# a case, its inputs; type and codes of the output
ANSWERS = [
    (cast("float32", "float8e4m3fn"), [f32(1, 2.5, 448, -0.0, 2**-9)],
     "float8e4m3fn", [0x38, 0x42, 0x7E, 0x80, 0x01]),
    (cast("int32", "int8"), [codes("int32", 200, 0xFFFFFFFF)], "int8", [200, 0xFF]),
    (cast("float32", "bool"), [f32(0, 1, -0.0)], "bool", [0, 1, 0]),
    (cast("bool", "bfloat16"), [codes("bool", 0, 1)], "bfloat16", [0, 0x3F80]),
    (cast("uint8", "int16"), [np.arange(12, dtype=np.uint8)[::3]], "int16", [0, 3, 6, 9]),
    # x·2−1 is 1; 2.125, rounded to 2; 2.25, exact in e4m3 and a tie in e5m2 that rounds to 2
    *((fake_convert("float32", kind), [f32(1.0, 1.5625, 1.625), f32(2), f32(1)],
       "float32", f32(1.0, 1.5, due).tolist())
      for kind, due in (("f8e4m3", 1.625), ("f8e5m2", 1.5))),
    (fake_convert("float16", "f8e5m2", 2), [HALF, codes("float16", 0x4000, 0x3C00).reshape(2, 1)],
     "float16", [0x3C00, 0x3C00]),
    (fake_convert("bfloat16", "f8e5m2", 2), [BRAIN, codes("bfloat16", 0x3F80)],  # a tie: 2.25 to 2
     "bfloat16", [0x4000]),
    (span("int32", "int32"), [codes("int32", v).reshape(()) for v in (2, 23, 3)],
     "int32", [2, 5, 8, 11, 14, 17, 20]),
    (span("float32", "float32"), scalars(1, 2.5, 0.5), "float32", f32(1, 1.5, 2).tolist()),
    (span("float32", "float16"), scalars(1, 2.5, 0.5), "float16", [0x3C00, 0x3E00, 0x4000]),
    (case("onnx.Range", 11, ["float32"] * 3, ["float32"]), scalars(3, 1, -1),
     "float32", f32(3, 2).tolist()),
    # the importer rejects models without the rank of x: (x - 10) * 0.5
    (replace(DEQUANTIZE, ranks=(1, 0, 0)), [codes("int8", 10, 20, 30), f32(0.5).reshape(()),
     codes("int8", 10).reshape(())], "float32", f32(0, 5, 10).tolist()),
]  # fmt: skip


@pytest.mark.parametrize(("question", "asked", "name", "due"), ANSWERS, ids=case_id)
def test_bits_by_hand(backend, question, asked, name, due):
    shape = asked[0].shape if asked[0].shape else (len(due),)
    assert only(backend.answer(question, asked), name, shape) == due


@pytest.mark.parametrize("shape", [(3,), (), (0,), (1, 2, 3, 1), (5,), (1,)])
def test_shapes_are_kept_and_packing_undone(backend, shape):
    asked = np.resize(codes("int8", 0xF9, 1, 7), shape)
    answer = backend.answer(cast("int8", "int4"), [asked])
    assert only(answer, "int4", shape) == [int(code) & 0xF for code in asked.reshape(-1)]
    packed = np.resize(codes("int4", 9, 1, 7), shape)
    answer = backend.answer(cast("int4", "int8"), [packed])
    assert only(answer, "int8", shape) == asked.reshape(-1).tolist()


def test_pad_bits_are_ignored_and_a_strange_bool_is_seen():
    for own, memory, due in (("i4", [0x21, 0xF3], [1, 2, 3]), ("boolean", [0, 1, 2], [0, 1, 2])):
        name = {"i4": "int4"}.get(own, "bool")
        ((found, shape, read),) = fetched(own, memory)
        assert (found, shape, read.tolist()) == (name, (3,), due)


def fetched(own, memory):
    types = {"int4": {"own": "i4", "bits": 4}, "bool": {"own": "boolean", "bits": 8}}
    tensor = ov.Tensor(getattr(ov.Type, own), ov.Shape([3]))
    tensor.data.view(np.uint8)[:] = memory
    return OpenVinoServer("").read([tensor], {"types": types, "outputs": 1}, [])


def test_a_type_that_convcheck_does_not_have_keeps_its_own_name():
    ((name, _, array),) = fetched("nf4", [0x21, 0x03])
    assert (array.tolist(), name) == ([0x21, 0x03], "nf4")


def test_what_is_too_large_stays_there(backend, monkeypatch):
    monkeypatch.setenv(LIMIT_VARIABLE, "4")
    answer = backend.answer(span("float32", "int32"), scalars(0, 5, 1))
    assert answer == Oversized(((5,),), ("int32",))
    answer = backend.answer(span("float32", "int32"), scalars(0, 4, 1))
    assert only(answer, "int32", (4,)) == [0, 1, 2, 3]


@pytest.mark.parametrize("variant", ["const", "eval"])
def test_an_exception_on_values_is_refused(variant):
    answer = OpenVino(variant).answer(span("float32", "float32"), scalars(0, 5, 0))
    assert isinstance(answer, Refused)
    assert answer.message.endswith("'step' cannot be zero, nan, or infinite.")


@pytest.mark.parametrize("variant", ["", "const"])
def test_promotions_convert_both_inputs(variant):
    one = OpenVino(variant)
    asked = [codes("int8", 1, 0xFF), codes("uint8", 200).reshape(())]
    arrays, types = outputs(one.answer(promote("int8", "uint8"), asked))
    assert types == ["int16", "int16"]
    assert [array.tolist() for array in arrays] == [[1, 0xFFFF], 200]
    for target, name, code in (("f32", "float32", 0x3F800000), ("i16", "int16", 1)):
        asked = [codes("uint64", 1), codes("int8", 1)]
        arrays, types = outputs(one.answer(promote("uint64", "int8", u64=target), asked))
        assert (types, [a.tolist() for a in arrays]) == ([name, name], [[code], [code]])


def test_promotions_of_other_attributes_share_a_model_but_no_type(kernel):
    asked = [codes("uint8", 7).reshape(()), codes("int16", 9)]
    for pytorch, unsafe in (("false", "false"), ("false", "true"), ("true", "true")):
        question = promote("uint8", "int16", unsafe=unsafe, pytorch=pytorch)
        assert outputs(kernel.answer(question, asked))[1] == ["int16", "int16"]
    narrow = promote("int16", "uint8", pytorch="true")
    assert outputs(kernel.answer(narrow, asked[::-1]))[1] == ["int16", "int16"]
    asked = [codes("int16", 9).reshape(()), codes("uint8", 7)]
    assert outputs(kernel.answer(narrow, asked))[1] == ["uint8", "uint8"]


WIDE = [f32(1, 2, 3), f32(1, 2, 3).reshape(3, 1), f32(1, 2, 3).reshape(3, 1)]
# a case, its inputs; the message, and whether something is missing
DECLINED = [
    *((promote(left, right, unsafe="false"), [codes(left, 1), codes(right, 1)], says, False)
      for left, right, says in (
          ("int8", "uint8", "cannot be safely promoted into any supported signed integer"),
          ("float16", "int64", "Integer input cannot be safely promoted to floating-point"),
          ("float16", "bfloat16", "Unsupported input element types"))),
    (fake_convert("float64", "f8e4m3"), [codes("float64", 0x3FF0000000000000)] * 3,
     "must be a bf16, f16, f32 but got: f64", False),
    (fake_convert("float32", "f8e4m3"), WIDE, "cannot be broadcast into data", False),
    *((promote(name, "float32"), [np.array([one], TYPES[name].format.storage), codes("float32", 1)],
       "is_type_supported", True) for name, one in (("uint2", 1), ("string", "1"))),
    (case("openvino.Nothing", 14, ["int8"], ["int8"]), None, "create operation: Nothing", True),
    (case("openvino.Range", 99, ["int8"], ["int8"]), None, "Unsupported opset version", True),
    (case("openvino.Range", 13, ["int8"] * 3, ["int8"], (), (("output_type", "string"),)), None,
     "opset13 has that of opset4", True),
    (case("openvino.Range", 4, ["int8"] * 3, ["int8"], (("bias", 1),),
          (("output_type", "string"),)), None, "no such attribute: bias", True),
    (cast("float32", "string"), [f32(1)], "", True),
    (cast("string", "float32"), [np.array(["1", "2"], object)], "", True),
]  # fmt: skip


@pytest.mark.parametrize(("question", "asked", "says", "missing"), DECLINED, ids=case_id)
def test_what_is_declined(backend, question, asked, says, missing):
    answer = backend.answer(
        question, asked or [codes("int8", 1).reshape(())] * len(question.inputs)
    )
    assert isinstance(answer, Declined), answer
    assert says in answer.message
    assert answer.missing == missing


BITS = [1, 0, 1, 1, 0, 0, 1, 0, 0, 1, 1]


@pytest.mark.parametrize("variant", ["const", "eval"])
def test_codes_of_one_bit_stand_from_the_high_end_of_a_byte_on(variant):
    answer = OpenVino(variant).answer(convert("uint1", "int32"), [codes("uint1", *BITS)])
    assert only(answer, "int32", (len(BITS),)) == BITS


def test_an_output_of_one_bit_is_asked_of_the_core_alone():
    """The plugin writes a byte for each bit, past the end of the output."""
    asked = convert("int32", "uint1"), [codes("int32", *BITS)]
    assert only(OpenVino("eval").answer(*asked), "uint1", (len(BITS),)) == BITS
    for variant in ("", "const"):
        declined = OpenVino(variant).answer(*asked)
        assert isinstance(declined, Declined)
        assert declined.message == "the CPU plugin overruns an output of u1"
        assert declined.missing


def test_the_core_evaluates_no_promotion():
    asked = [codes("int8", 1), codes("int8", 1)]
    answer = OpenVino("eval").answer(promote("int8", "int8"), asked)
    assert isinstance(answer, Declined)
    assert answer.missing


def test_support_declines_other_worlds_and_types(backend):
    assert backend.support(cast("float32", "int4")) is None
    assert backend.support(promote("float32", "int4")) is None
    assert backend.support(cast("float32", "float8e4m3fnuz")) == Declined(
        "OpenVINO has no type float8e4m3fnuz", missing=True
    )
    other = backend.support(case("pypto.cast", 1, ["float32"], ["int8"]))
    assert other is not None
    assert other.missing


def test_messages_have_no_source_lines_and_no_running_numbers(kernel):
    question = promote("int8", "uint8", unsafe="false")
    asked = [codes("int8", 1), codes("uint8", 1)]
    first, second = kernel.answer(question, asked), kernel.answer(question, asked)
    assert first == second
    assert first == Declined(
        "Check 'promote_unsafe' failed: Unsigned integer input cannot be safely promoted into any "
        "supported signed integer."
    )
    assert trimmed("Exception from src/a/b.cpp:12:\nno f32 (Clamp_37[0]:f32[3]) -> (u8[3])\n") == (
        "no f32 (Clamp[0]:f32[3]) -> (u8[3])"
    )


def test_outputs_that_are_an_input_unchanged_follow_the_input(kernel):
    """With set_input_tensor, such an output of dynamic dimensions is freed memory."""
    question = promote("int16", "int8", pytorch="true")
    for code in range(50):
        asked = [codes("int16", code).reshape(()), codes("int8", *range(code, code + 5))]
        arrays, types = outputs(kernel.answer(question, asked))
        assert types == ["int8", "int8"]
        assert [a.tolist() for a in arrays] == [code, list(range(code, code + 5))]


@pytest.mark.parametrize("variant", ["", "const"])
def test_an_input_of_which_only_the_type_counts(variant):
    one = OpenVino(variant)
    like = case("onnx.CastLike", 21, ["int32", "uint8"], ["uint8"])
    for extra in ((3,), ()):
        asked = [codes("int32", 1, 258), np.zeros(extra, np.uint8)]
        assert only(one.answer(like, asked), "uint8", (2,)) == [1, 2]


def test_answers_are_copies(kernel):
    first = kernel.answer(cast("int8", "int16"), [codes("int8", 1)])
    kernel.answer(cast("int8", "int16"), [codes("int8", 2)])
    assert only(first, "int16", (1,)) == [1]
