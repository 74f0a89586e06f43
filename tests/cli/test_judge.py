"""`convcheck explain` judges reported answers, without a backend."""

import re

import pytest
from command import convcheck
from oracle import expect, fits

RANGE = "openvino.Range-4/int8-int8-int8-to-int8"
PROMOTION = "openvino.ConvertPromoteTypes-14/int8-uint8/tensor-tensor"
WIDE = "openvino.ConvertPromoteTypes-14/int64-bool/tensor-tensor"
BACK = "openvino.FakeConvert-13/float32-float32/scalar/destination_type=f8e4m3"
NARROW = "onnx.Cast-21/float64-to-bfloat16"
QUANTIZE = "onnx.QuantizeLinear-23/float32-float32-int8/tensor"
AXIS = "onnx.QuantizeLinear-13/float32-float32-int8/axis-0"
X = "1,2,3,4,5,6,7,8,9,10,11,12"
DYNAMIC = "onnx.DynamicQuantizeLinear-11/float32-to-uint8/tensor"


@pytest.mark.parametrize("answer", ["0x3f80", "0x3f81", "0x3f82"])
def test_the_verdict_is_that_of_the_oracle(answer):
    done = convcheck("explain", NARROW, "0x3ff010000000002d", "--got", answer)
    [reading] = expect(21, "float64", "bfloat16", {}, 0x3FF010000000002D).readings
    right = fits(reading, "bfloat16", int(answer, 16))
    assert done.returncode == (0 if right else 1)
    assert ("RIGHT  1 answer" in done.stdout, "WRONG  1 of 1" in done.stdout) == (right, not right)
    assert "IEEE 754-2019, 4.3.1" in done.stdout


def test_what_gives_all_answers_is_told_and_what_tells_it_apart():
    values = ("0x3ff010000000002d", "0x3ff0300000000001")
    done = convcheck("explain", NARROW, *values, "--got", "0x3f80", "0x3f82", "-v")
    found = done.stdout.partition("all of these answers:")[2]
    alone = convcheck("explain", NARROW, values[0], "--got", "0x3f80", "-v").stdout
    assert "  truncates\n" in alone
    assert "  truncates\n" not in found
    assert "rounds twice, through float32" in alone


def test_answers_that_no_reading_gives_together_are_wrong():
    case = ("onnx.Cast-21", "--from", "float32", "--to", "int4")
    single = [
        convcheck("explain", *case, x, "--got", got) for x, got in (("-1.5", "-2"), ("2.5", "2"))
    ]
    assert [done.returncode for done in single] == [0, 0]
    done = convcheck("explain", *case, "-1.5", "1.5", "--got", "-2", "1")
    assert done.returncode == 1
    assert "no reading of a disputed rule holds for all answers" in done.stdout


@pytest.mark.parametrize(("words", "code", "said"), [
    (("onnx.Cast-21/float32-to-int8", "300", "--got", "44"), 0, "the standard leaves it open"),
    (("onnx.Cast-21/float32-to-int8", "-1", "--got", "-1"), 0, "RIGHT  1 answer"),
    (("onnx.Cast-21/float32-to-int8", "1", "--got", "refused"), 1, "WRONG  1 of 1 answer"),
    (("onnx.Cast-21/string-to-float16", "1e9", "--got", "inf"), 0, "RIGHT  1 answer"),
    (("onnx.Cast-21/int8-to-string", "5", "--got", "5"), 0, "RIGHT  1 answer"),
    (("onnx.Cast-21/float32-to-int8", "1", "2", "--got", "1"), 2, "2 VALUEs and 1 answer"),
    (("onnx.Cast-21/float32-to-int8", "1", "--got"), 2, "requires an argument"),
    (("onnx.Cast-21/float32-to-int8", "--got", "1"), 2, "no VALUE"),
    (("onnx.Cast-21/float32-to-int8", "1", "--got", "300"), 2, "int8 has -128 to 127"),
    (("onnx.Cast-21/float32-to-float16", "0.1", "--got", "0.1"), 0, "0.1 is not a float16"),
    (("onnx.Cast-21/float32-to-int8", "1,-inf,2", "--got", "1,5,2"), 0, "RIGHT  3 answers"),
    (("onnx.Cast-21/float32-to-int8", "-inf,1", "--got", "-5,2"), 1, "WRONG  1 of 2 answers"),
    (("onnx.Range-11/int32-int32-int32", "1", "--got", "1"), 2, "1 VALUE instead of 3"),
    ((RANGE, "5", "0", "1", "--got", "empty"), 0, "as expected"),
    ((RANGE, "5", "0", "1", "--got", "refused"), 1, "REFUSED"),
    ((RANGE, "0", "4", "2", "--got", "0", "2"), 0, "as expected"),
    ((RANGE, "0", "4", "0", "--got", "7"), 0, "not judged"),
    ((RANGE, "0", "4", "2", "--got", "0", "300"), 2, "int8 has -128 to 127"),
    ((PROMOTION, "--got", "refused"), 0, "refused, as expected"),
    ((PROMOTION, "1", "2", "--got", "int16"), 2, "0 answers instead of 2"),
    ((PROMOTION, "--got", "int17"), 2, "int17 is no type"),
    ((WIDE, "-5", "1", "--got", "int64", "-5", "1"), 0, "as expected"),
    ((WIDE, "-5", "1", "--got", "int64", "5", "1"), 1, "WRONG: another value"),
    ((BACK, "1", "1", "--got", "1", "1"), 2, "2 values instead of 1"),
    ((QUANTIZE, "2.5,500", "1", "0", "--got", "2", "127"), 0, "as expected"),
    ((QUANTIZE, "[2.5, 500]", "1", "0", "--got", "2,-128"), 1, "the lowest value instead of"),
    ((QUANTIZE, "2.5,500", "1,2,3", "0", "--got", "2"), 2, "3 values instead of 1"),
    ((QUANTIZE, "2.5,500", "1", "0", "--got", "1,2,3"), 2, "3 values instead of 2"),
    ((AXIS, X, "1,2", "0", "--got", "1,2,3,4,5,6,4,4,4,5,6,6"), 0, "as expected"),
    ((QUANTIZE, "2.4,500", "1", "0", "--got", "2,-128"), 1, "saturate / [x] > max"),
    ((DYNAMIC, "0,255,1.5", "--got", "0,255,2", "1", "0"), 0, "as expected"),
    ((DYNAMIC, "0,255,1.5", "--got", "0,255,2", "1", "7"), 1, "WRONG"),
    ((DYNAMIC, "0,255,1.5", "--got", "0,255,2"), 2, "1 answer instead of 3"),
    ((BACK, "1", "1", "--got", "1"), 0, "as expected"),
    (("onnx.Nope-1/x", "1", "--got", "1"), 2, "onnx.Nope-1"),
])  # fmt: skip
def test_each_way_of_ending(words, code, said):
    done = convcheck("explain", *words)
    assert (done.returncode, said in done.stdout + done.stderr) == (code, True), done.stderr
    assert bool(done.stdout) == (code != 2)


def test_causes_are_told_only_of_what_is_wrong_or_open():
    assert "cause" not in convcheck("explain", NARROW, "1", "--got", "1").stdout
    done = convcheck("explain", "onnx.Cast-21/float32-to-int8", "300", "1", "--got", "44", "1")
    assert ("RIGHT  2 answers" in done.stdout, "cause" in done.stdout) == (True, False)


def test_at_most_five_causes_are_named():
    case = ("onnx.Cast-13/float32-to-bool", "nan", "--got", "false")
    few, every = convcheck("explain", *case), convcheck("explain", *case, "-v")
    found = [done.stdout.partition("all of these answers:\n")[2].partition("\n\n")[0]
             for done in (few, every)]  # fmt: skip
    named = [line for line in found[0].splitlines() if not line.startswith("    ")]
    assert len(named) == 5 + 1
    assert named[-1].startswith("  and ")
    assert len(found[1]) > len(found[0])


OTHERWISE = (
    (("onnx.Cast-21/float32-to-float8e4m3fn", "464.25", "--got", "448"), 0,
     "`saturate` was not given: its default 1. "
     "With saturate=0 any NaN is expected, and 448 is wrong."),
    (("onnx.Cast-21/float32-to-float8e4m3fn", "464.25", "--got", "nan"), 1,
     "`saturate` was not given: its default 1. Right under saturate=0."),
    (("onnx.Cast-21/float32-to-float8e4m3fn/saturate=0", "464.25", "--got", "448"), 1,
     " Right under saturate=1."),
    (("onnx.QuantizeLinear-23/float32-float32-float8e4m3fn/tensor", "1000", "1", "0",
      "--got", "nan"), 1, "`saturate` was not given: its default 1. Right under saturate=0."),
    (("onnx.Cast-24/float32-to-float8e8m0", "3", "--got", "2"), 1,
     "`round_mode` was not given: its default up. Right under round_mode=down."),
    (("onnx.Cast-21/float32-to-float8e4m3fnuz", "inf", "--got", "240"), 1,
     "Right under onnx.Cast-24, onnx.Cast-25, onnx.Cast-28."),
)  # fmt: skip


@pytest.mark.parametrize(("words", "code", "said"), OTHERWISE)
def test_what_judges_otherwise_is_told(words, code, said):
    done = convcheck("explain", *words)
    assert done.returncode == code
    assert said in " ".join(done.stdout.split())


# Whole calls, each with a confirmed fault of a runtime.
FILED = (
    ((RANGE, "5", "0", "1", "--got", "5", "6", "7", "8", "9"), "too many elements",
     "uses the absolute distance to the limit"),
    ((PROMOTION, "--got", "int16"), "an answer instead of a refusal",
     "treats a promotion that widens both integers as safe"),
    ((WIDE, "8589934597", "1", "--got", "int64", "5", "1"), "another value",
     "goes through uint32, which wraps"),
    ((BACK, "0.5833333", "3", "--got", "0x3f155556"), "one ulp too large in magnitude",
     "multiplies by the reciprocal of the scale instead of dividing"),
)  # fmt: skip


@pytest.mark.parametrize(("words", "wrong", "cause"), FILED)
def test_a_whole_call_is_wrong_by_a_cause(words, wrong, cause):
    done = convcheck("explain", *words, COLUMNS="200")
    assert (done.returncode, done.stderr) == (1, "")
    assert f"WRONG: {wrong}" in done.stdout
    assert f"  {cause}\n" in done.stdout.partition("all of these answers:")[2]


def test_another_element_is_what_that_cause_does_not_give():
    done = convcheck("explain", RANGE, "5", "0", "1", "--got", "5", "6", "7", "8", "10")
    assert done.returncode == 1
    assert "no cause of the catalogue gives all of these answers" in done.stdout


def test_calls_that_tell_causes_apart_are_named():
    words = (BACK, "0.5833333", "3", "--got", "0x3f155556")
    done = convcheck("explain", *words, COLUMNS="200")
    told = done.stdout.partition("inputs that tell some of them apart:\n")[2].splitlines()
    assert told
    data, scale = told[0].strip().split("; ")
    assert float(scale)
    assert convcheck("explain", BACK, data, scale, "--got", "0").returncode in (0, 1)


@pytest.mark.parametrize(("value", "got", "cause"), [
    ("nan", "false", "gives False for NaN"),
    ("inf", "false", "gives False for an infinity of either sign"),
    ("0x80000000", "true", "gives True for -0"),
    ("0", "true", "gives True for zero"),
])  # fmt: skip
def test_the_outputs_of_a_bool_are_true_and_false(value, got, cause):
    done = convcheck("explain", "onnx.Cast-21/float32-to-bool", value, "--got", got, "-v")
    said = " ".join(done.stdout.split())
    assert cause in said
    assert not re.search(r"gives (\+0|min|\+max|true|false)", said)
