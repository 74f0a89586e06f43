"""Emitted suites of cases, and a kernel's answers to them."""

import os
import re
import struct
import subprocess
from functools import cache

import numpy as np
from catalogue import CORPUS
from planted.field.bugs import BUGS
from planted.field.caught import case_of, caught_by, latest_cases
from planted.proof import edge

from convcheck.emit.suite import with_series
from convcheck.numerics.format import Float
from convcheck.semantics.expected import EXACT

WRONG = re.compile(r"^  wrong: (\d+) of \d+$", re.MULTILINE)
POINT = re.compile(r"^(not ok|ok) (\d+) - ", re.MULTILINE)

CASES = {
    case.id: case
    for case in (
        *map(case_of, BUGS),
        *(latest_cases("onnx.Cast")[name] for name in (
            "float32-to-int4", "bool-to-float16", "float16-to-bool", "int64-to-float64",
            "float64-to-uint64", "float8e4m3fnuz-to-int16", "uint4-to-float4e2m1")),
        *(latest_cases("pypto.cast")[name] for name in (
            "float32-to-int16/mode=CAST_RINT/satmode=OFF/product=A3",)),
    )
}  # fmt: skip


@cache
def suite(case):
    return with_series(CORPUS, case)


def asked(program, case, answers):
    """Return a program's exit code, number of wrong answers, and output.

    The kernel under test reads its answers from a file: pairs of 64 bits, input and output.
    """
    path = program.with_name("answers")
    pairs = zip(edge(case).inputs[0].tolist(), answers, strict=True)
    path.write_bytes(b"".join(struct.pack("=QQ", *pair) for pair in pairs))
    code, output = run(program, case.id, path)
    assert output.startswith("TAP version 13\n"), output
    return code, wrong_answers(output), output


def run(*command, cwd=None, **environment):
    """Return a command's exit code and output."""
    words, around = [*map(str, command)], {**os.environ, **environment}
    done = subprocess.run(words, cwd=cwd, env=around, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def write_files(folder, files):
    for name, content in files:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


def check_programs(program):
    """Check that a program catches every field bug, and passes right answers of each reading."""
    for bug in BUGS:
        case = case_of(bug)
        got = bug.convert(edge(case).inputs[0])
        code, wrong, _ = asked(program, case, got.tolist())
        assert (code, wrong) == (1, caught_by(bug.convert, edge(case))), bug.name
    for case in CASES.values():
        for reading in range(len(edge(case).expected.readings)):
            code, wrong, _ = asked(program, case, right_answers(case, reading))
            assert (code, wrong) == (0, 0), case.id


def words_of(case):
    """Return the bits of the words of the input and the output."""
    return [8 * fmt.storage.itemsize for _, fmt in suite(case).types]


def right_answers(case, reading=0):
    """Return an expected code for each vector."""
    expected, fmt = edge(case).expected.readings[reading], case.outputs[0].format
    nan = fmt.nan_code | fmt.sign_bit if isinstance(fmt, Float) else 0
    codes = np.where(expected.patterns == EXACT, expected.codes, nan)
    return [int(code) for code in codes]


def wrong_answers(output):
    """Check a program's TAP plan, and return how many answers it calls wrong."""
    points = POINT.findall(output)
    assert [int(number) for _, number in points] == [*range(1, len(points) + 1)]
    assert f"\n1..{len(points)}\n" in output
    wrong = [int(count) for count in WRONG.findall(output)]
    assert len(wrong) == [word for word, _ in points].count("not ok")
    return sum(wrong)
