"""Suites in C compile without warnings, pass right kernels, and catch wrong ones.

The kernel under test reads its answers from a file without expectations. A missing input ends the
program.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest
from emit.emitted import CASES, right_answers, suite, vectors, write_answers, wrong_answers
from planted.field.bugs import BUGS
from planted.field.caught import case_of, caught_by, latest_cases
from planted.proof import edge

from convcheck.emit.languages import c_files
from convcheck.rules.model import Case

STRICT = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-Wshadow", "-Wconversion")
COMPILERS = ("gcc", "clang")
KERNEL = """
#include <stdlib.h>

static uint64_t answers[2048][2];
static size_t known;

static uint64_t answer(uint64_t input) {
  size_t i;
  for (i = 0; i < known; ++i)
    if (answers[i][0] == input) return answers[i][1];
  abort();
}

int main(int argc, char **argv) {
  struct convcheck run = convcheck_begin(1, argv);
  FILE *file = argc == 3 ? fopen(argv[2], "rb") : NULL;
  if (file == NULL) return 9;
  known = fread(answers, sizeof answers[0], 2048, file);
  fclose(file);
"""


def compiler(name: str) -> str:
    found = shutil.which(name)
    if not found:
        pytest.skip(f"no {name}")
    return found


def compile_c(folder: Path, program: str, *options: str, by: str = "gcc") -> Path:
    source, made = folder / f"{by}.c", folder / f"test-{by}"
    source.write_text(program)
    command = [compiler(by), *STRICT, *options, str(source), "-o", str(made)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return made


def emit_to(folder: Path, cases: Iterable[Case]) -> None:
    folder.mkdir(exist_ok=True)
    for name, content in c_files([suite(case) for case in cases]):
        (folder / name).write_bytes(content)


def asker(cases: Iterable[Case]) -> str:
    chosen = [(case.id, suite(case)) for case in cases]
    include = "".join(f'#include "{one.name}.h"\n' for _, one in chosen)
    asked = "".join(
        f'  if (strcmp(argv[1], "{name}") == 0)\n'
        f"    CONVCHECK(&run, {one.name}, uint{8 * one.source.storage.itemsize}_t, "
        f"uint{8 * one.target.storage.itemsize}_t, ({one.name}_t)answer);\n"
        for name, one in chosen
    )
    types = "".join(
        f"typedef uint{8 * one.target.storage.itemsize}_t {one.name}_t;\n" for _, one in chosen
    )
    return f"{include}{types}{KERNEL}{asked}  return convcheck_end(&run);\n}}\n"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("suites")
    emit_to(folder, CASES.values())
    return compile_c(folder, asker(CASES.values()))


def asked(program: Path, case: Case, answers: Iterable[int]) -> tuple[int, str]:
    path = program.with_name("answers")
    write_answers(path, vectors(case).inputs[0].tolist(), answers)
    command = [str(program), case.id, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.startswith("TAP version 13\n"), done
    return done.returncode, done.stdout


def test_every_field_bug_is_caught(program: Path) -> None:
    for bug in BUGS:
        case = case_of(bug)
        got = bug.convert(vectors(case).inputs[0])
        code, output = asked(program, case, got.tolist())
        assert (code, wrong_answers(output)) == (1, caught_by(bug.convert, edge(case))), bug.name


@pytest.mark.parametrize("name", CASES)
def test_what_is_due_passes(program: Path, name: str) -> None:
    case = CASES[name]
    for reading in range(len(suite(case).readings)):
        code, output = asked(program, case, right_answers(case, reading))
        assert (code, wrong_answers(output)) == (0, 0)


def test_readings_are_not_mixed(program: Path) -> None:
    case = latest_cases("onnx.Cast")["float32-to-int4"]
    first, second = right_answers(case), right_answers(case, 1)
    other = next(i for i, pair in enumerate(zip(first, second, strict=True)) if len({*pair}) == 2)
    first[other] = second[other]
    code, output = asked(program, case, first)
    assert (code, wrong_answers(output)) == (1, 1)
    disputed = next(row.decision for row in suite(case).rows if len(row.decision.readings) > 1)
    assert f"\n  reading: {disputed.readings[0]}\n" in output


def test_a_failure_names_the_sentence(program: Path) -> None:
    bug = next(bug for bug in BUGS if bug.name == "NaN cut to its upper half")
    got = bug.convert(vectors(case_of(bug)).inputs[0])
    _, output = asked(program, case_of(bug), got.tolist())
    told = output.partition("\nnot ok")[2]
    for line in (
        "    float-to-float / nan (implied), specs/onnx/cast-1.yaml:49",
        "    in our words: A conversion of a quiet NaN delivers a quiet NaN; one of a signaling "
        "NaN signals an invalid operation and, by default, delivers a quiet NaN.",
        "    - input: 0x7f800001 (NaN)",
        "      expected: any NaN",
        "      got: 0x7f80 (Inf)",
        "  explained by: convcheck explain onnx.Cast-28/float32-to-bfloat16 0x",
    ):
        assert f"\n{line}" in told


EVERY = """
#include "onnx_Cast_28_float32_to_bfloat16.h"
#include "onnx_Cast_28_float16_to_float8e4m3fn_saturate_1.h"

static uint16_t rounded(float x) {
  uint32_t code;
  memcpy(&code, &x, sizeof code);
  if ((code & 0x7fffffffu) > 0x7f800000u) return 0x7fc0;
  return (uint16_t)((code + 0x7fffu + ((code >> 16) & 1u) + (code == 0x3fc17fffu)) >> 16);
}

static void zeros(const uint16_t *in, uint8_t *out, size_t count) {
  (void)in;
  memset(out, 0, count);
}

int main(int argc, char **argv) {
  struct convcheck run = convcheck_begin(argc, argv);
  CONVCHECK(&run, onnx_Cast_28_float32_to_bfloat16, float, uint16_t, rounded);
  CONVCHECK_ARRAYS(&run, onnx_Cast_28_float16_to_float8e4m3fn_saturate_1, uint16_t, uint8_t, zeros);
  return convcheck_end(&run);
}
"""


def test_one_wrong_answer_of_all_is_found(tmp_path: Path) -> None:
    cast = latest_cases("onnx.Cast")
    emit_to(tmp_path, [cast["float32-to-bfloat16"], cast["float16-to-float8e4m3fn/saturate=1"]])
    made = compile_c(tmp_path, EVERY, "-O3")
    done = subprocess.run([made, "--exhaustive"], capture_output=True, text=True, check=False)
    rounded, zeros = done.stdout.partition("\nok 13")[::2]
    assert (done.returncode, rounded.count("not ok")) == (1, 1)
    assert rounded.count(" of 4294967296 inputs\n") == 6
    assert "  wrong: 1 of 4278124542\n" in rounded
    assert "    - input: 0x3fc17fff (1.51171863)\n      expected: 0x3fc1 (1.5078125)\n" in rounded
    assert zeros.count(" of 65536 inputs\n") > 0


@pytest.mark.parametrize("by", COMPILERS)
def test_all_suites_of_a_spec_compile_without_a_warning(tmp_path: Path, by: str) -> None:
    chosen = [case for case in CASES.values() if case.op == "onnx.Cast"]
    emit_to(tmp_path, chosen)
    compile_c(tmp_path, asker(chosen), by=by)


def test_a_kernel_of_another_type_does_not_compile(tmp_path: Path) -> None:
    emit_to(tmp_path, [latest_cases("onnx.Cast")["float32-to-bfloat16"]])
    program = EVERY.replace("float, uint16_t, rounded", "float, uint32_t, rounded")
    (tmp_path / "other.c").write_text(program.replace('#include "onnx_Cast_28_float16', "//"))
    command = [compiler("gcc"), "-fsyntax-only", str(tmp_path / "other.c")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "size of" in done.stderr
