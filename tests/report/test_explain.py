"""`convcheck explain`: the trace agrees with the evaluator, golden pages, bad input."""

import random
import re
import shlex
import subprocess

import numpy as np
import pytest
from catalogue import CATALOG
from command import check_golden, convcheck

from convcheck import __version__
from convcheck.judge.result import Example
from convcheck.judge.words import explain_arguments
from convcheck.rules.cases import cases
from convcheck.semantics.answers_at import run_program
from convcheck.semantics.evaluate import compile_case
from convcheck.semantics.expected import EXACT
from convcheck.semantics.trace import trace
from convcheck.vectors.generate import inputs_of

INT32 = "int32-int32-int32"
ANYTHING = "anything, it is undefined"
PROMOTE, FAKE = "openvino.ConvertPromoteTypes-14", "openvino.FakeConvert-13"
PAGES = {
    "explain-rounded": "onnx.Cast-21/float32-to-bfloat16 0.1 -v",
    "explain-text": "-- onnx.Cast-9/string-to-float16 -1e400",
    "explain-by-rule": "onnx.Cast-28/float8e5m2-to-float8e5m2 inf",
    "explain-to-text": "onnx.Cast-21/float32-to-string 0x00000001",
    "explain-reference": "onnx.Cast-21/float32-to-bfloat16 0x3f808001 --backend reference",
    "explain-range": "openvino.Range-4/float32-float32-float32-to-float16 0 1 0.1",
    "explain-promotion-disputed": f"{PROMOTE}/int8-uint8/scalar-tensor/"
    "pytorch_scalar_promotion=true",
    "explain-fake-convert-shift": f"{FAKE}/float16-float16-float16/per-tensor-shift/"
    "destination_type=f8e4m3 100 0.1 0.3 --backend reference",
}
# the question, and its rule | its level | the expected value | other fields of the page
FACTS = {
    "onnx.Cast-21 --from float32 --to float8e4m3fn --where saturate=0 464.25":
        "float-to-float8 | normative | any NaN | case [x] > max (max is 448) | "
        "[x] 480, x rounded to 3 mantissa bits (nearest-even), exponent unbounded",
    "onnx.Cast-21/float64-to-float8e5m2 -1.5":
        "float-to-float8-saturating | normative | 1 01111 10 -1.5 (0xbe)",
    "onnx.Cast-21/float32-to-int8 -0x1.9p6": "float-to-fixed | implied | 1001 1100 -100 (0x9c)",
    "onnx.Cast-13/string-to-float32 '[bold]1[/bold]'":
        f'literal-to-float | undefined | {ANYTHING} | input "[bold]1[/bold]"',
    "onnx.Cast-13/string-to-float64 1e999999999":
        "literal-to-float then float-to-float | implied | "
        f"0 11111111111 {52 * '0'} Inf (0x7ff0000000000000) | "
        "case text is decimal, then [x] > max (max is ~1.7976931348623157e+308)",
    "onnx.Cast-21/float32-to-int4 -1.5":
        "float-to-short | disputed | 1110 -2 (0xe) | expected 1111 -1 (0xf) | "
        "reading nearest-even | reading toward-zero",
    "onnx.Cast-24/float64-to-float8e4m3fn/saturate=0 0x407d000000000001":
        "float64-rounded-once then float-to-float8 | implied | any NaN | "
        "case differs through float32, then [x] > max (max is 448)",
    "onnx.Cast-19/float32-to-float8e5m2/saturate=2 -0":
        f"saturate-neither-0-nor-1 | undefined | {ANYTHING} | "
        "note a backend may also refuse this case",
    "onnx.Cast-21/int64-to-uint64 -1":
        f"fixed-to-fixed | normative | {16 * '1111 '}18446744073709551615 (0xffffffffffffffff)",
    "onnx.Cast-21/float32-to-float16 -0x1p-24":
        "float-to-float | implied | 1 00000 0000000001 -5.96046e-8 (0x8001)",
    f"openvino.Range-4/{INT32}-to-int32 -3 -10 -2 --backend reference":
        "integers-from-integers / no element is rounded | normative | "
        "int32 [4] -3, -5, -7, -9 | verdict as expected",
    "onnx.Range-11/int64-int64-int64 0 0x7fff 0x400":
        "integers / no element is rounded | normative | "
        f"int64 [32] {', '.join(map(str, range(0, 16384, 1024)))}, … and 16 more",
    f"openvino.Range-4/{INT32}-to-int32 1 5 0 --backend reference":
        f"undefined / step 0 | undefined | {ANYTHING} | verdict refused",
    f"{PROMOTE}/int8-uint8/tensor-tensor --backend reference":
        "promotion / uint8 x int8 | normative | a refusal | verdict refused, as expected",
    f"{PROMOTE}/int8-uint16/tensor-scalar/promote_unsafe=true -1 2 --backend reference":
        "integer to integer / else | normative | output_0 int32 [2, 1, 1] -1 (0xffffffff), "
        "-1 (0xffffffff) output_1 int32 scalar 2 (0x00000002) | verdict as expected | "
        "note `pytorch_scalar_promotion` was not given: its default false. With "
        "pytorch_scalar_promotion=true this answer is wrong.",
    f"{FAKE}/float16-float16/per-tensor/destination_type=f8e5m2 0x8900 0x2e66":
        "to-float8 / else | implied | float16 [1] -0.000152588 (0x8900)",
    f"{FAKE}/float16-float16/scale-widens/destination_type=f8e4m3 1 2 --backend reference":
        f"steps / outside: scale would widen data | undefined | {ANYTHING} | verdict refused",
}  # fmt: skip
BAD = {
    "onnx.Cast-2/float32-to-int8 1": "did you mean onnx.Cast-2",
    "onnx.Cast-21/flot32-to-int8 1": "did you mean float32",
    "onnx.Cast-1/bfloat16-to-int8 1": "onnx.Cast-1 has no case from bfloat16 to int8",
    "onnx.BitCast-26/string-to-int8 1": "onnx.BitCast-26 has no string as its input",
    "onnx.Cast-21 --from ieee --to bool 1": "choose one of float16, bfloat16",
    "onnx.Cast-21 1": "--from is missing",
    "onnx.Cast-21 --from int8 1": "--to is missing",
    "onnx.Cast-21/float32 1": "'onnx.Cast-21/float32' is not a case",
    "onnx.Cast-21/float32-to-int8 --to int8 1": "leave out --from, --to and --where",
    "onnx.Cast-21/float32-to-float8e5m2/saturate=x 1": "known: 0, 1",
    "onnx.Cast-21/float32-to-float8e5m2/clamp=1 1": "onnx.Cast-21 has saturate",
    "onnx.Cast-21/float32-to-float8e5m2/saturate=0/saturate=1 1": "saturate is given twice",
    "onnx.Cast-21/int8-to-int4/saturate=0 1": "saturate does not apply to int4",
    "onnx.Cast-21/float8e4m3fn-to-float32 0x1ff": "more than 8 bits",
    "onnx.Cast-21/uint8-to-float32 300": "from 0 to 255",
    "onnx.Cast-21/int8-to-float32 1.5": "from -128 to 127",
    "onnx.Cast-21/float32-to-int8 1e400": "-3.40282347e+38 to 3.40282347e+38",
    "onnx.Cast-21/float32-to-int8 -1e400": "outside the format",
    "onnx.Cast-21/float8e4m3fn-to-int8 inf": "has no inf",
    "onnx.Cast-21/float8e4m3fnuz-to-int8 -0": "float8e4m3fnuz has no -0",
    "onnx.Cast-24/float8e8m0-to-int8 0": "5.87747175e-39 to 1.70141183e+38",
    "onnx.Cast-21/float32-to-int8 twelve": "'twelve' is not a number",
    "onnx.Cast-21/float32-to-int8": "which VALUE?",
    "onnx.Cast-21/float32-to-int8 1 --form float32": "No such option '--form'",
    "onnx.Cast-21/float32-to-int8 1 --backend nowhere": "unknown backend 'nowhere'",
    f"openvino.Range-4/{INT32}-to-int32 1 2 3 4": "4 VALUEs instead of 3: start, stop, step",
    f"openvino.Range-4/{INT32}-to-int32 1": "1 VALUE instead of 3: start, stop, step",
    f"openvino.Range-4/{INT32}-to-int32": f"convcheck explain openvino.Range-4/{INT32}-to-int32 "
    "START STOP STEP",
    f"openvino.Range-4/{INT32}-to-int32 1 5000000000 2": "int32 has -2147483648 to 2147483647",
    f"openvino.Range-4/{INT32}-to-int32 1 five 2": "'five' is not a",
    f"openvino.Range-4/{INT32}-to-int33 1 5 2": f"did you mean openvino.Range-4/{INT32}-to-int32",
    f"openvino.Range-4/{INT32}-to-int32 1 100000000 1": "a sequence of 99,999,999 elements",
    "openvino.Range-4 1 5 2": "which case of openvino.Range-4?",
    f"{PROMOTE}/int8-uint9/tensor-tensor": "is not a case",
    f"{PROMOTE}/int8-uint8/tensor-tensor 1": "1 VALUE instead of 2: input_0, input_1",
}


@pytest.mark.parametrize("name", PAGES)
def test_pages(name):
    done = convcheck("explain", *shlex.split(PAGES[name]))
    assert (done.returncode, done.stderr) == (0, "")
    check_golden(f"{name}.txt", done.stdout.replace(__version__, "VERSION"))


@pytest.mark.parametrize("question", FACTS)
def test_what_is_expected_and_by_which_rule(question):
    done = convcheck("explain", *shlex.split(question))
    assert (done.returncode, done.stderr) == (0, "")
    assert max(map(len, done.stdout.splitlines())) <= 80
    # without the places of rules, and the meanings of level and verdict
    page = re.sub(r" +specs/\S+:[0-9]+$|(?<=d): .*$", "", done.stdout, flags=re.MULTILINE)
    fields = [" ".join(one.split()) for one in re.split(r"\n+(?! )", page)]
    rule, level, expected, *others = FACTS[question].split(" | ")
    due = (f"rule {rule}", f"level {level}", f"expected {expected}", *others)
    assert not [fact for fact in due if fact not in fields]


def test_an_attribute_that_reverses_what_is_expected_is_told():
    done = convcheck("explain", "onnx.Cast-21/float32-to-float8e4m3fn", "464.25")
    assert "`saturate` was not given: its default 1." in done.stdout
    assert "With saturate=0 any NaN is expected" in " ".join(done.stdout.split())
    other = convcheck("explain", "onnx.Cast-21/float32-to-float8e4m3fn", "1")
    assert "saturate=0" not in other.stdout


def test_a_long_name_stands_apart_from_the_type():
    case = "onnx.QuantizeLinear-23/float32-float32-float4e2m1/tensor"
    done = convcheck("explain", case, "4.5", "3", "0")
    [line] = [line for line in done.stdout.splitlines() if line.startswith("y_zero_point")]
    assert line.split()[:2] == ["y_zero_point", "float4e2m1"]


@pytest.mark.parametrize("line", BAD)
def test_bad_input(line):
    done = convcheck("explain", *shlex.split(line))
    assert done.returncode == 2, done.stdout
    assert BAD[line] in done.stderr
    assert "Traceback" not in done.stderr


ELEMENTWISE = [spec for spec in CATALOG.specs.values() if not spec.body.whole_calls]


@pytest.mark.parametrize("spec", ELEMENTWISE, ids=lambda spec: spec.id)
def test_a_trace_is_what_the_evaluator_does(spec):
    rng = random.Random(0)
    spec = CATALOG.specs[spec.id]
    for case in rng.sample(list(cases(spec)), 40):
        bits, _ = inputs_of(case, "edge", 0)
        program = compile_case(spec, case)
        expected = run_program(program, case, bits)
        for i in rng.sample(range(len(bits)), min(25, len(bits))):
            found = trace(program, case, bits[i : i + 1])
            decision = expected.decisions[expected.rows[i]]
            assert found.decision is decision
            assert found.links[-1].place == decision.place
            assert " > ".join(link.rule for link in found.links) == decision.rule
            assert tuple(g.outcome.reading for g in found.given) == decision.readings
            for r, reading in enumerate(expected.readings):
                given = found.given[min(r, len(found.given) - 1)]
                assert given.pattern == reading.patterns[i]
                assert given.pattern != EXACT or given.code == reading.codes[i]


def test_the_rounded_value_is_exact_however_far():
    """[x] of numbers far beyond max, whose exact value the evaluator does not need."""
    spec = CATALOG.specs["onnx.Cast-21"]
    case = next(c for c in cases(spec) if c.name == "float64-to-float8e4m3fn/saturate=1")
    bits = np.array([2**0.5 * 2.0**900, -(2.0**1023)]).view(np.uint64)
    for code, want in zip(bits, (1.375 * 2**900, -(2**1023)), strict=True):
        given = trace(compile_case(spec, case), case, np.array([code])).given[0]
        assert given.rounded
        assert given.rounded.value == want


def first(spec, name):
    return next(c for c in cases(CATALOG.specs[spec]) if c.name.startswith(name))


@pytest.mark.parametrize(("case", "word"), [
    (first("onnx.Cast-9", "string-to-float16"), "-1e400"),
    *(
        (first("onnx.Cast-9", "string-to-int8"), text)
        for text in ("it's $HOME\n\t\\ \x01", "", "日本 $(x)", "-1 2", "-\n")
    ),
    (first("onnx.Cast-21", "int4-to-float32"), 0xF),
    (first("onnx.Cast-21", "bool-to-string"), 1),
])  # fmt: skip
def test_the_report_s_command_works_in_a_shell(case, word):
    arguments = explain_arguments(case, Example((word,), 0, 0))
    line = "printf '%s\\0' " + " ".join(arguments)
    said = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=True).stdout
    words = said.split("\0")[:-1]
    assert words[-1] == word or isinstance(word, int)
    done = convcheck("explain", *words)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(case.id + "\n")


@pytest.mark.parametrize(("question", "backend", "said"), [
    ("float32-to-bfloat16 0x3f808001", "rounding_backends:Truncating", "WRONG: one ulp too"),
    ("uint8-to-uint8 100", "bad_backends:Segfault", "CRASHED"),
])  # fmt: skip
def test_a_wrong_answer_is_a_finding(question, backend, said):
    name, value = question.split()
    line = ("explain", f"onnx.Cast-21/{name}", value, "--backend", f"planted.{backend}")
    done = convcheck(*line)
    assert (done.returncode, done.stderr) == (1, "")
    assert said in done.stdout


def test_a_wrong_sequence_is_shown_beside_what_was_due():
    done = convcheck(
        *("explain", f"openvino.Range-4/{INT32}-to-int32", "1", "6", "2"),
        *("--backend", "planted.deviating:OneMore"),
    )
    assert (done.returncode, done.stderr) == (1, "")
    check_golden("explain-wrong-sequence.txt", done.stdout.replace(__version__, "VERSION"))


def test_onnxruntime_can_be_asked():
    done = convcheck(
        *("explain", "onnx.Cast-21/float32-to-float16", "inf", "--backend", "ort"),
        *("--backend", "reference"),
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("verdict   as expected") == 2


def test_a_time_out_names_the_flag_that_allows_more():
    hangs = "planted.bad_backends:HangsAlways"
    question = ("onnx.Cast-21/float32-to-float16", "1", "--backend", hangs, "--timeout", "0.4")
    done = convcheck("explain", *question)
    assert done.returncode == 1
    assert "no answer within 0.4 s (--timeout SECONDS allows more)" in " ".join(done.stdout.split())
