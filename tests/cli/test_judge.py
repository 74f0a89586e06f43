"""`convcheck judge`: answers that somebody reports, without a backend."""

from __future__ import annotations

import pytest
from command import convcheck
from oracle import expect, fits

RANGE = "openvino.Range-4/int8-int8-int8-to-int8"
PROMOTION = "openvino.ConvertPromoteTypes-14/int8-uint8/tensor-tensor"
WIDE = "openvino.ConvertPromoteTypes-14/int64-bool/tensor-tensor"
BACK = "openvino.FakeConvert-13/float32-float32/scalar/destination_type=f8e4m3"
NARROW = "onnx.Cast-21/float64-to-bfloat16"


@pytest.mark.parametrize("answer", ["0x3f80", "0x3f81", "0x3f82"])
def test_the_verdict_is_that_of_the_oracle(answer: str) -> None:
    done = convcheck("judge", NARROW, "0x3ff010000000002d", "--got", answer)
    [reading] = expect(21, "float64", "bfloat16", {}, 0x3FF010000000002D).readings
    right = fits(reading, "bfloat16", int(answer, 16))
    assert done.returncode == (0 if right else 1)
    assert ("RIGHT  1 answer" in done.stdout, "WRONG  1 of 1" in done.stdout) == (right, not right)
    assert "IEEE 754-2019, 4.3.1" in done.stdout


def test_what_gives_all_answers_is_told_and_what_tells_it_apart() -> None:
    """Through float32 both are wrong; whoever truncates gives the first alone."""
    values = ("0x3ff010000000002d", "0x3ff0300000000001")
    done = convcheck("judge", NARROW, *values, "--got", "0x3f80", "0x3f82", "-v")
    found = done.stdout.partition("all of these answers:")[2]
    alone = convcheck("judge", NARROW, values[0], "--got", "0x3f80", "-v").stdout
    assert "  truncates\n" in alone
    assert "  truncates\n" not in found
    assert "rounds twice, through float32" in alone


def test_answers_that_no_reading_gives_together_are_wrong() -> None:
    case = ("onnx.Cast-21", "--from", "float32", "--to", "int4")
    single = [
        convcheck("judge", *case, x, "--got", got) for x, got in (("-1.5", "-2"), ("2.5", "2"))
    ]
    assert [done.returncode for done in single] == [0, 0]
    done = convcheck("judge", *case, "-1.5", "1.5", "--got", "-2", "1")
    assert done.returncode == 1
    assert "no reading of a disputed rule holds for all answers" in done.stdout


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("onnx.Cast-21/float32-to-int8", "300", "--got", "44"), 0, "the standard leaves it open"),
        (("onnx.Cast-21/float32-to-int8", "-1", "--got", "-1"), 0, "RIGHT  1 answer"),
        (("onnx.Cast-21/float32-to-int8", "1", "--got", "refused"), 1, "WRONG  1 of 1 answer"),
        (("onnx.Cast-21/string-to-float16", "1e9", "--got", "inf"), 0, "RIGHT  1 answer"),
        (("onnx.Cast-21/int8-to-string", "5", "--got", "5"), 0, "RIGHT  1 answer"),
        (("onnx.Cast-21/float32-to-int8", "1", "2", "--got", "1"), 2, "2 VALUEs and 1 answer"),
        (("onnx.Cast-21/float32-to-int8", "1", "--got"), 2, "requires an argument"),
        (("onnx.Cast-21/float32-to-int8", "1"), 2, "Missing option '--got'"),
        (("onnx.Cast-21/float32-to-int8", "--got", "1"), 2, "no VALUE"),
        (("onnx.Cast-21/float32-to-int8", "1", "--got", "300"), 2, "int8 has -128 to 127"),
        (("onnx.Cast-21/float32-to-float16", "1", "--got", "0.1"), 2, "is no value of float16"),
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
        ((BACK, "1", "1", "--got", "1", "1"), 2, "2 answers"),
        ((BACK, "1", "1", "--got", "1"), 0, "as expected"),
        (("onnx.Nope-1/x", "1", "--got", "1"), 2, "onnx.Nope-1"),
    ],
)
def test_each_way_of_ending(words: tuple[str, ...], code: int, said: str) -> None:
    done = convcheck("judge", *words)
    assert (done.returncode, said in done.stdout + done.stderr) == (code, True), done.stderr
    assert bool(done.stdout) == (code != 2)


def test_causes_are_told_only_of_what_is_wrong_or_open() -> None:
    assert "cause" not in convcheck("judge", NARROW, "1", "--got", "1").stdout


# Whole calls: in each, a fault of a runtime's that was confirmed beside it.
FILED = (
    ((RANGE, "5", "0", "1", "--got", "5", "6", "7", "8", "9"), "too many elements",
     "counts steps whichever way the limit is"),
    ((PROMOTION, "--got", "int16"), "an answer instead of a refusal",
     "takes what widens both integers for safe"),
    ((WIDE, "8589934597", "1", "--got", "int64", "5", "1"), "another value",
     "goes through uint32; what that cannot hold: wrap"),
    ((BACK, "0.5833333", "3", "--got", "0x3f155556"), "one ulp too large in magnitude",
     "multiplies by the reciprocal of the scale in place of dividing"),
)  # fmt: skip


@pytest.mark.parametrize(("words", "wrong", "cause"), FILED)
def test_of_a_whole_call_it_says_what_is_wrong_and_what_gives_it(
    words: tuple[str, ...], wrong: str, cause: str
) -> None:
    done = convcheck("judge", *words, COLUMNS="200")
    assert (done.returncode, done.stderr) == (1, "")
    assert f"WRONG: {wrong}" in done.stdout
    assert f"  {cause}\n" in done.stdout.partition("all of these answers:")[2]


def test_another_element_is_what_that_cause_does_not_give() -> None:
    done = convcheck("judge", RANGE, "5", "0", "1", "--got", "5", "6", "7", "8", "10")
    assert done.returncode == 1
    assert "no cause of the catalogue gives all of these answers" in done.stdout


def test_calls_that_tell_causes_apart_are_named() -> None:
    """What is named is asked of both: one of the two gives each answer, the other does not."""
    words = (BACK, "0.5833333", "3", "--got", "0x3f155556")
    done = convcheck("judge", *words, COLUMNS="200")
    told = done.stdout.partition("inputs that tell some of them apart:\n")[2].splitlines()
    assert told
    data, scale = told[0].strip().split("; ")
    assert float(scale)
    assert convcheck("judge", BACK, data, scale, "--got", "0").returncode in (0, 1)
