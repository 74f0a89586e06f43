import shutil

import pytest
from emit.emitted import (
    CASES,
    asked,
    check_programs,
    right_answers,
    run,
    suite,
    words_of,
    write_files,
)
from planted.field.bugs import BUGS
from planted.field.caught import case_of, latest_cases
from planted.proof import edge

from convcheck.emit.languages import c_files

STRICT = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-Wshadow", "-Wconversion")
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


def compiler(name):
    found = shutil.which(name)
    if not found:
        pytest.skip(f"no {name}")
    return found


def compile_c(folder, program, *options, by="gcc"):
    source, made = folder / f"{by}.c", folder / f"test-{by}"
    source.write_text(program)
    code, said = run(compiler(by), *STRICT, *options, source, "-o", made)
    assert code == 0, said
    return made


def emit_to(folder, cases):
    write_files(folder, c_files([suite(case) for case in cases]))


def asker(cases):
    include = types = questions = ""
    for case in cases:
        name, (x, y) = suite(case).name, words_of(case)
        include += f'#include "{name}.h"\n'
        types += f"typedef uint{y}_t {name}_t;\n"
        questions += (
            f'  if (strcmp(argv[1], "{case.id}") == 0)\n'
            f"    CONVCHECK(&run, {name}, uint{x}_t, uint{y}_t, ({name}_t)answer);\n"
        )
    return f"{include}{types}{KERNEL}{questions}  return convcheck_end(&run);\n}}\n"


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    folder = tmp_path_factory.mktemp("suites")
    emit_to(folder, CASES.values())
    return compile_c(folder, asker(CASES.values()))


def test_field_bugs_are_caught_and_right_answers_pass(program):
    check_programs(program)


def test_readings_are_not_mixed(program):
    case = latest_cases("onnx.Cast")["float32-to-int4"]
    first, second = right_answers(case), right_answers(case, 1)
    other = next(i for i, pair in enumerate(zip(first, second, strict=True)) if len({*pair}) == 2)
    first[other] = second[other]
    code, wrong, output = asked(program, case, first)
    assert (code, wrong) == (1, 1)
    disputed = next(row for row in edge(case).decisions if len(row.readings) > 1)
    assert f"\n  reading: {disputed.readings[0]}\n" in output


def test_a_failure_names_the_sentence(program):
    bug = next(bug for bug in BUGS if bug.name == "NaN cut to its upper half")
    got = bug.convert(edge(case_of(bug)).inputs[0])
    *_, output = asked(program, case_of(bug), got.tolist())
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


def test_one_wrong_answer_of_all_is_found(tmp_path):
    cast = latest_cases("onnx.Cast")
    emit_to(tmp_path, [cast["float32-to-bfloat16"], cast["float16-to-float8e4m3fn/saturate=1"]])
    made = compile_c(tmp_path, EVERY, "-O3")
    code, output = run(made, "--exhaustive")
    rounded, zeros = output.partition("\nok 13")[::2]
    assert (code, rounded.count("not ok")) == (1, 1)
    assert rounded.count(" of 4294967296 inputs\n") == 6
    assert "  wrong: 1 of 4278124542\n" in rounded
    assert "    - input: 0x3fc17fff (1.51171863)\n      expected: 0x3fc1 (1.5078125)\n" in rounded
    assert zeros.count(" of 65536 inputs\n") > 0


def test_another_compiler_gives_no_warning(tmp_path):
    chosen = [case for case in CASES.values() if case.op == "onnx.Cast"]
    emit_to(tmp_path, chosen)
    compile_c(tmp_path, asker(chosen), by="clang")


def test_a_kernel_of_another_type_does_not_compile(tmp_path):
    emit_to(tmp_path, [latest_cases("onnx.Cast")["float32-to-bfloat16"]])
    program = EVERY.replace("float, uint16_t, rounded", "float, uint32_t, rounded")
    (tmp_path / "other.c").write_text(program.replace('#include "onnx_Cast_28_float16', "//"))
    code, said = run(compiler("gcc"), "-fsyntax-only", tmp_path / "other.c")
    assert code == 1
    assert "size of" in said
