"""`convcheck prove`: verdicts, causes, exit codes, files and bad input."""

import json
import subprocess
import sys
from xml.etree import ElementTree

import jsonschema
import pytest
from command import convcheck, refused
from places import ROOT
from prove.mutants import KERNELS

from convcheck.documents.schemas import schema_text

FOLDER = KERNELS.parent
CASE = "onnx.Cast-21/float32-to-bfloat16"
# (conversion, function, cause) of mistakes that runtimes have made
WRONG = [
    ("float64-to-bfloat16", "f64_to_bf16_twice", "through-float32"),
    ("float64-to-float8e4m3fn/saturate=1", "f64_to_e4m3_twice", "through-float32"),
    ("int64-to-bfloat16", "i64_to_bf16_twice", "through-float32"),
    ("uint64-to-bfloat16", "u64_to_bf16_twice", "through-float32"),
    ("int32-to-float8e4m3fn/saturate=1", "i32_to_e4m3_twice", "through-bfloat16"),
    ("float32-to-bfloat16", "f32_to_bf16_truncated", "truncates"),
    ("float32-to-float16", "f32_to_f16_flushed", "flushes-tiny-with-sign"),
    ("float32-to-float8e4m3fn/saturate=0", "f32_to_e4m3_infinity", "saturates"),
    ("float32-to-float8e5m2/saturate=1", "f32_to_e5m2_overflow", "overflows-to-infinity"),
    ("int32-to-uint8", "i32_to_u8_clamped", "clamps"),
    ("float64-to-bool", "f64_to_bool_whole", "whole-toward-zero"),
    ("float32-to-int32", "f32_to_i32_rounded", "whole-nearest-even"),
    ("float64-to-float32", "f64_to_f32_unsigned_zero", "loses-sign-of-zeros"),
]
# another function for a case of the list above
MORE = [("f32_to_bf16_away", "ties-away"), ("f32_to_bf16_cut_nan", "cuts-nan")]


def mapped(folder, rows):
    file = folder / "map.toml"
    file.write_text("".join(f'"onnx.Cast-21/{case}" = "{where}"\n' for case, where in rows.items()))
    return file


def test_mistakes_of_runtimes_are_refuted_with_their_cause(tmp_path):
    rows = {case: f"{FOLDER}/wrong.c:{name}" for case, name, _ in WRONG}
    done = convcheck("prove", "--map", mapped(tmp_path, rows), "-o", "p.json", "-o", "p.xml",
                     "-o", "p.jsonl", cwd=tmp_path)  # fmt: skip
    assert done.returncode == 1, done.stderr
    found = json.loads((tmp_path / "p.json").read_text())
    jsonschema.Draft202012Validator(json.loads(schema_text("proof"))).validate(found)
    assert {one["verdict"] for one in found["proofs"]} == {"refuted"}
    assert found["specs"].keys() == {"onnx.Cast-21"}
    causes = {one["function"].rpartition(":")[2]: one["cause"] for one in found["proofs"]}
    for _, name, cause in WRONG:
        assert f"({cause})" in causes[name]
    suite = ElementTree.parse(tmp_path / "p.xml").getroot()
    assert (suite.get("tests"), suite.get("failures")) == (str(len(WRONG)), str(len(WRONG)))
    log = convcheck("report", "p.jsonl", cwd=tmp_path)
    assert log.returncode == 1


@pytest.mark.parametrize(("name", "cause"), MORE)
def test_a_refutation_has_its_input(name, cause):
    done = convcheck("prove", CASE, f"{FOLDER}/wrong.c:{name}")
    assert done.returncode == 1
    assert "REFUTED   0x" in done.stdout
    assert "expected" in done.stdout
    assert f"({cause})" in " ".join(done.stdout.split())


def test_one_function_is_proved_for_several_cases():
    done = convcheck("prove", "onnx.Cast-2[13]/float32-to-float8e5m2/saturate=[01]",
                     f"{FOLDER}/right.c:f32_to_e5m2")  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("PROVED") == 4
    assert "all 4,294,967,296 inputs" in done.stdout


CHAINS = """
#include <stdint.h>
double through(double x) { return (float)x; }
double itself(double x) { return x; }
int64_t low(int32_t x) { return (int8_t)x; }
uint8_t seven(double x) { return 7; }
int64_t clamped(int32_t x) { return x > 127 ? 127 : x < -128 ? -128 : x; }
"""


@pytest.mark.parametrize(("name", "types", "verdict"), [
    ("through", "float64-to-float32-to-float64", "proved"),
    ("itself", "float64-to-float32-to-float64", "refuted"),
    ("low", "int32-to-int8-to-int64", "proved"),
    ("low", "int32-to-int8-to-int16-to-int64", "proved"),
    ("clamped", "int32-to-int8-to-int64", "refuted"),
    ("seven", "float64-to-float32-to-float8e4m3fn/saturate=7", "undecided"),
])  # fmt: skip
def test_a_chain_of_casts_is_decided(tmp_path, name, types, verdict):
    (tmp_path / "k.c").write_text(CHAINS)
    done = convcheck("prove", f"onnx.Cast-21/{types}", "k.c:" + name, cwd=tmp_path)
    codes = {"proved": 0, "refuted": 1, "undecided": 3}
    assert done.returncode == codes[verdict], done.stderr
    assert verdict.upper() in done.stdout


def test_a_kernel_that_rounds_twice_is_the_chain_but_not_the_cast():
    where = f"{FOLDER}/wrong.c:f64_to_bf16_twice"
    chain, cast = "float64-to-float32-to-bfloat16", "float64-to-bfloat16"
    assert convcheck("prove", f"onnx.Cast-21/{chain}", where).returncode == 0
    assert convcheck("prove", f"onnx.Cast-21/{cast}", where).returncode == 1


SHIFTED = """
#include <stdint.h>
uint32_t f(uint8_t x) { return x < 200 || x > 222 ? x : x << (x - 159); }
"""


def test_an_answer_that_c_leaves_undefined_is_refuted_if_the_machine_is_wrong(tmp_path):
    (tmp_path / "k.c").write_text(SHIFTED)
    done = convcheck("prove", "onnx.Cast-21/uint8-to-uint32", "k.c:f", cwd=tmp_path)
    assert (done.returncode, "undefined in C" in done.stdout) == (1, True), done.stdout


LOOPS = """
#include <stdint.h>
#include <stddef.h>
uint16_t by_steps(uint32_t m) {
  int e = 0;
  if (!m) return 0;
  while (!(m & 0x80000000)) { m <<= 1; e++; }
  uint32_t kept = m >> 24, rest = m << 8;
  kept += rest > 0x80000000 || (rest == 0x80000000 && (kept & 1));
  return (uint16_t)(((uint32_t)(31 - e + 126) << 7) + kept);
}
void previous(const uint8_t *x, uint8_t *y, size_t n) {
  uint8_t last = 0;
  for (size_t i = 0; i < n; i++) { y[i] = x[i] | last; last = x[i] & 0; }
}
void shifted(const uint8_t *x, uint8_t *y, size_t n) {
  for (size_t i = 0; i < n; i++) y[i] = x[i + 1];
}
void moved(const uint8_t *x, uint8_t *y, size_t n) {
  const uint8_t *p = x + 1;
  for (size_t i = 0; i < n; i++) y[i] = p[i];
}
void last(const uint8_t *x, uint8_t *y, size_t n) {
  for (size_t i = 0; i < n; i++) y[i] = x[i];
  y[n] = 0;
}
void fewer(const uint8_t *x, uint8_t *y, size_t n) {
  for (size_t i = 0; i + 1 < n; i++) y[i] = x[i];
}
void skips(const uint8_t *x, uint8_t *y, size_t n) {
  if (n < 4) return;
  for (size_t i = 0; i < n; i++) y[i] = x[i] ^ 0;
}
void ends(const uint8_t *x, uint8_t *y, size_t n) {
  for (size_t i = 0; i < n && x[i] != 7; i++) y[i] = x[i];
}
void some(const uint8_t *x, uint8_t *y, size_t n) {
  for (size_t i = 0; i < n; i++) if (x[i] != 7) y[i] = x[i];
}
void sums(const uint8_t *x, uint8_t *y, size_t n) {
  uint8_t all = 0;
  for (size_t i = 0; i < n; i++) y[i] = all += x[i];
}
void whole(const int32_t *x, uint8_t *y, int n, int unused) {
  for (int i = 0; i < n; i++) y[i] = (uint8_t)x[i];
}
float kept_float(double x) { return (float)(x * 1.0 + 0.0); }
int8_t undefined(int8_t x) { return x << 8 >> (x & 31) << 31; }
static const uint16_t table[4] = {0, 1, 0, 0};
uint16_t between(uint8_t x) {
  uint16_t v;
  __builtin_memcpy(&v, (const char *)table + x * 3, 2);
  return v;
}
uint8_t elsewhere(uint8_t x) { extern uint8_t other(uint8_t); return other(x); }
int8_t kept(int8_t x, int other) { return x + other; }
uint8_t overflows(int32_t x) { return (uint8_t)((x + 1 > x) ? x : 0); }
int64_t wider(int32_t x) { return x; }
"""


@pytest.mark.parametrize(("case", "name", "code", "said"), [
    ("uint32-to-bfloat16", "by_steps", 0, "PROVED"),
    ("uint8-to-uint8", "shifted", 3, "takes another element"),
    ("uint8-to-uint8", "moved", 3, "takes another element"),
    ("uint8-to-uint8", "last", 3, "loop"),
    ("uint8-to-uint8", "fewer", 3, "loop"),
    ("uint8-to-uint8", "skips", 3, "short arrays are left out"),
    ("uint8-to-uint8", "ends", 3, "may end before the last element"),
    ("uint8-to-uint8", "some", 3, "it gives no result for 0x7"),
    ("uint8-to-uint8", "sums", 3, "carries more than its index"),
    ("int32-to-uint8", "whole", 2, "parameter 'unused'"),
    ("uint8-to-uint8", "elsewhere", 3, "the call of other"),
    ("bool-to-uint16", "between", 3, "between two elements of a table"),
    ("int32-to-int8", "wider", 3, "no number of 8 bits"),
    ("int64-to-float32", "kept_float", 3, "its first parameter is no number of 64 bits"),
    ("float64-to-float32", "kept_float", 1, "(loses-negative-zero)"),
    ("int8-to-int8", "kept", 2, "which value has the parameter 'other'?"),
    ("int32-to-uint8", "nothing", 2, "has no function 'nothing'"),
])  # fmt: skip
def test_loops_and_what_is_not_modelled(tmp_path, case, name, code, said):
    (tmp_path / "k.c").write_text(LOOPS)
    done = convcheck("prove", f"onnx.Cast-21/{case}", f"k.c:{name}", cwd=tmp_path)
    assert done.returncode == code, done.stdout + done.stderr
    assert said in " ".join((done.stdout + done.stderr).split())


@pytest.mark.parametrize(("words", "said"), [
    ([], "which CASE and which FILE:NAME?"),
    ([CASE, "k.c"], "no file"),
    ([CASE, "missing.c:f"], "no file 'missing.c'"),
    ([CASE, "bad.c:f"], "clang:"),
    ([CASE, "bad.ll:f"], "is no LLVM IR"),
    ([CASE, "k.txt:f"], "is no .c, .cpp, .ll or .bc"),
    ([CASE, "k.c:f", "--map", "map.toml"], "--map names cases and functions"),
    (["--map", "bad.toml"], "is not TOML"),
    (["--map", "numbers.toml"], "is no FILE:NAME"),
    (["onnx.Cast-99/float32-to-int8", "k.c:f"], "onnx.Cast-99"),
    ([CASE, "k.c:f", "--cflags", "-nonsense"], "clang:"),
])  # fmt: skip
def test_bad_input_is_refused(tmp_path, words, said):
    texts = {"k.c": "int f(float x) { return 0; }", "k.txt": "", "bad.c": "int f( {",
             "bad.ll": "define nonsense", "map.toml": "", "bad.toml": "=",
             "numbers.toml": '"a" = 1'}  # fmt: skip
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    assert said in refused("prove", *words, cwd=tmp_path)


QUANTIZED = """
#include <math.h>
#include <stdint.h>
static int8_t rounded(float y, int8_t y_zero_point) {
  y = rintf(y) + y_zero_point;
  return y != y ? 0 : y < -128 ? -128 : y > 127 ? 127 : (int8_t)y;
}
int8_t divides(float x, float y_scale, int8_t y_zero_point) {
  return rounded(x / y_scale, y_zero_point);
}
int8_t multiplies(float x, float y_scale, int8_t y_zero_point) {
  return rounded(x * (1.0f / y_scale), y_zero_point);
}
"""


@pytest.mark.parametrize(("name", "scale", "code"), [
    ("divides", "0.0078125/y_zero_point=0", 0),
    ("multiplies", "5.224/y_zero_point=0", 1),
    pytest.param("divides", "5.224/y_zero_point=0", 0, marks=pytest.mark.slow),
])  # fmt: skip
def test_quantization_by_a_given_scale(tmp_path, name, scale, code):
    (tmp_path / "k.c").write_text(QUANTIZED)
    case = f"onnx.QuantizeLinear-21/float32-float32-int8/tensor/y_scale={scale}"
    done = convcheck("prove", case, f"k.c:{name}", "-o", "p.json", cwd=tmp_path)
    assert done.returncode == code, done.stdout + done.stderr
    [found] = json.loads((tmp_path / "p.json").read_text())["proofs"]
    assert found["verdict"] == ("refuted" if code else "proved")
    assert ("(quotient-by-reciprocal)" in found["cause"]) == bool(code)


def test_a_missing_compiler_is_exit_code_4(tmp_path):
    (tmp_path / "k.c").write_text("float f(float x) { return x; }")
    done = convcheck("prove", CASE, "k.c:f", cwd=tmp_path, PATH=str(tmp_path))
    assert done.returncode == 4
    assert "no clang" in done.stderr


def test_a_marked_test_fails_unless_the_function_is_proved(tmp_path):
    lines = [
        f"@pytest.mark.convcheck_prove('{CASE}', '{FOLDER}/{where}')\ndef test_{i}(): pass"
        for i, where in enumerate(("right.c:f32_to_bf16", "wrong.c:f32_to_bf16_away"))
    ]
    (tmp_path / "test_kernels.py").write_text("\n".join(["import pytest", *lines, ""]))
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "1 failed, 1 passed" in done.stdout
    assert "ties-away" in done.stdout


def test_the_example_program_is_proved_by_both_solvers(tmp_path):
    example = ROOT / "examples" / "cast.c"
    case, where = "onnx.Cast-21/float32-to-float8e4m3fn/saturate=[01]", f"{example}:float8e4m3fn"
    done = convcheck("prove", case, where, "--cflags", "-Dstatic=", "--solver", "both",
                     "-o", "p.json", cwd=tmp_path)  # fmt: skip
    assert done.stdout.count("PROVED") == 2
    solvers = json.loads((tmp_path / "p.json").read_text())["solvers"]
    assert solvers.keys() == {"z3-solver", "bitwuzla"}


def test_what_llvm_leaves_open_is_undecided(tmp_path):
    """The larger of two zeros may be either."""
    (tmp_path / "k.ll").write_text(
        'target triple = "aarch64-unknown-linux-gnu"\n'
        "declare float @llvm.maxnum.f32(float, float)\n"
        "define float @f(double %x) {\n  %y = fptrunc double %x to float\n"
        "  %z = fcmp oeq float %y, 0.0\n  %n = fneg float %y\n"
        "  %m = call float @llvm.maxnum.f32(float %y, float %n)\n"
        "  %r = select i1 %z, float %m, float %y\n  ret float %r\n}\n"
    )
    done = convcheck("prove", "onnx.Cast-21/float64-to-float32", "k.ll:f", cwd=tmp_path)
    said = " ".join(done.stdout.split())
    assert (done.returncode, "LLVM allows several results" in said) in ((3, True), (1, False))


def test_llvm_ir_is_read_as_it_is(tmp_path):
    (tmp_path / "k.ll").write_text(
        "define i8 @f(i32 %x) {\n  %y = trunc i32 %x to i8\n  ret i8 %y\n}\n"
    )
    done = convcheck("prove", "onnx.Cast-21/int32-to-uint8", "k.ll:f", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "k.ll:f, LLVM IR: 2 instructions, 1 block, no loop" in done.stdout
