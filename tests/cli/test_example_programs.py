import subprocess
import sys

import pytest
from c_compiler import c_compiler
from command import convcheck
from places import KERNELS

ASKED = ("onnx.QuantizeLinear-13", "--from", "float32", "--to", "int8", "--no-progress")


def program(language, folder, right="", wrong=""):
    name = {"c": "cast.c", "python": "cast.py"}[language]
    text = (KERNELS / name).read_text("utf-8")
    assert right in text
    source = folder / name
    source.write_text(text.replace(right, wrong) if right else text)
    if language == "python":
        return f"process:{sys.executable} {source}"
    mine = folder / "mine"
    flags = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-O2", "-I", str(KERNELS))
    subprocess.run([c_compiler(), *flags, "-o", str(mine), str(source), "-lm"], check=True)
    return f"process:{mine}"


@pytest.mark.parametrize("language", ["c", "python"])
def test_an_example_is_right_and_declines_other_cases(language, tmp_path):
    done = convcheck("run", "--backend", program(language, tmp_path), *ASKED)
    assert (done.returncode, done.stderr) == (0, "")
    assert "unsupported  5 cases: no such kernel" in done.stdout
    assert "PASS  2 cases, 46 calls judged" in done.stdout


FAULTS = (
    ("c", "rintf(x[i] / scale)", "truncf(x[i] / scale)", "toward-zero"),
    ("c", "x[i] / scale)", "x[i] * (1 / scale))", "reciprocal"),
    ("python", "whole + zero_point, -128), 127)", "whole, -128), 127)", "zero point"),
)


@pytest.mark.parametrize(("language", "right", "wrong", "said"), FAULTS)
def test_a_fault_is_found(language, right, wrong, said, tmp_path):
    done = convcheck("run", "--backend", program(language, tmp_path, right, wrong), *ASKED)
    assert done.returncode == 1
    assert said in " ".join(done.stdout.split())
