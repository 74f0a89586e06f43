"""`convcheck judge`: answers that somebody reports, without a backend."""

from __future__ import annotations

import pytest
from command import convcheck
from oracle import expect, fits

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
        (("onnx.Cast-21/float32-to-int8", "--got", "1"), 2, "Missing argument 'VALUE...'"),
        (("onnx.Cast-21/float32-to-int8", "1", "--got", "300"), 2, "int8 has -128 to 127"),
        (("onnx.Cast-21/float32-to-float16", "1", "--got", "0.1"), 2, "is no value of float16"),
        (("onnx.Range-11/int32-int32-int32", "1", "--got", "1"), 2, "is a whole call"),
        (("onnx.Nope-1/x", "1", "--got", "1"), 2, "onnx.Nope-1"),
    ],
)
def test_each_way_of_ending(words: tuple[str, ...], code: int, said: str) -> None:
    done = convcheck("judge", *words)
    assert (done.returncode, said in done.stdout + done.stderr) == (code, True), done.stderr
    assert bool(done.stdout) == (code != 2)


def test_causes_are_told_only_of_what_is_wrong_or_open() -> None:
    assert "cause" not in convcheck("judge", NARROW, "1", "--got", "1").stdout
