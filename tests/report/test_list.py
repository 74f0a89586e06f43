"""`convcheck show`, and shell completion."""

import os
import subprocess
import sys

import pytest
from command import check_golden, convcheck, refused

from specs import write_spec

BAD = {
    ("cases", "onnx.Cast-2"): "no spec matches 'onnx.Cast-2'",
    ("cases", "--where", "clamp=1"): "unknown attribute 'clamp'",
    ("cases", "--case", "*quaternion*"): "matches no case",
    ("cases", "--tier", "huge"): "'huge' is not one of",
    ("specs", "acme.*"): "no spec matches 'acme.*'",
    ("specs", "--specs", "/nowhere"): "/nowhere is not a folder",
    ("colours",): "no spec matches 'colours'",
}
COMPLETED = {
    ("convcheck explain onnx.Cast-2", 2): "onnx.Cast-28",
    ("convcheck explain onnx.Cast-21 --from uin", 4): "uint8",
    ("convcheck explain --backend refer", 3): "reference",
    ("convcheck show onnx.Cast-2", 2): "onnx.Cast-24",
    ("convcheck show cases onnx.Cast-2", 3): "onnx.Cast-21",
    ("convcheck show cases --to float8", 4): "float8e4m3fnuz",
    ("convcheck run --to float8", 3): "float8",
}


@pytest.mark.parametrize("name", ["show-specs", "show-types"])
def test_lists(name):
    done = convcheck(*name.split("-"))
    assert (done.returncode, done.stderr) == (0, "")
    check_golden(f"{name}.txt", done.stdout, width=None)


def test_cases():
    done = convcheck("show", "cases", "onnx.Cast-24", "--from", "int8", "--to", "float8e8m0")
    assert done.stdout.splitlines() == [
        f"onnx.Cast-24/int8-to-float8e8m0/saturate={saturate}/round_mode={mode}"
        for saturate in (0, 1) for mode in ("up", "down", "nearest")
    ]  # fmt: skip


@pytest.mark.parametrize(("asked", "unit"), [
    ("onnx.Cast-21 --to int4", "values"), ("openvino.Range-4", "calls"),
    ("openvino.FakeConvert-13", "calls"),
])  # fmt: skip
def test_counts(asked, unit):
    show = ("show", "cases", *asked.split())
    *lines, last = convcheck(*show, "--count").stdout.splitlines()
    assert [line.split()[1] for line in lines] == convcheck(*show).stdout.splitlines()
    counts = [int(line.split()[0]) for line in lines]
    assert all(counts)
    assert last.split() == [str(sum(counts)), "in", str(len(lines)), "cases"]
    planned = convcheck("run", *asked.split(), "--dry-run").stdout.splitlines()[-1]
    assert f"{sum(counts):,} {unit}" in planned


@pytest.mark.parametrize("arguments", BAD)
def test_bad_input(arguments):
    assert BAD[arguments] in refused("show", *arguments)


def test_specs_of_one_s_own(tmp_path):
    write_spec(tmp_path)
    done = convcheck("show", "specs", "acme.*", "--specs", tmp_path)
    assert done.stdout.splitlines()[1].split() == [*("acme.Convert-1", "table", "3", "3", "6", "-")]


LISTING = """
import sys
from convcheck.__main__ import main
sys.argv = ["convcheck", "show", "backends"]
try: main()
finally: print(sorted({"onnx", "onnxruntime", "openvino", "torch", "ml_dtypes"} & set(sys.modules)))
"""


def test_backends(tmp_path):
    """Of another package one lacks its runtime, and two are broken. None is loaded."""
    (tmp_path / "elsewhere.py").write_text("import no_such_runtime.core\n")
    (tmp_path / "shattered.py").write_text("raise RuntimeError('driver\\ntoo old')\n")
    facts = tmp_path / "elsewhere-1.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: elsewhere\nVersion: 1\n")
    (facts / "entry_points.txt").write_text(
        "[convcheck.backends]\nelsewhere = elsewhere:B\nshattered = shattered:B\n"
        "deadly = planted.bad_backends:DiesOnOpening\n"
    )
    paths = os.pathsep.join((str(tmp_path), os.environ["PYTHONPATH"]))
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", LISTING], capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONPATH": paths, "COLUMNS": "80", "NO_COLOR": "1"},
    )  # fmt: skip
    lines = {line.split()[0]: line for line in done.stdout.splitlines()}
    assert {"ort", "reference", "onnx-reference"} <= lines.keys()
    assert "onnxruntime" in lines["ort"]
    wanted = "not available: No module named 'no_such_runtime'; pip install no_such_runtime"
    assert wanted in done.stdout
    assert "not available: RuntimeError: driver too old" in done.stdout
    assert "not available: backend 'deadly': died of SIGSEGV while it was starting" in done.stdout
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize(("line", "at"), COMPLETED)
def test_completion(line, at):
    asking = {"_CONVCHECK_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": str(at)}
    done = convcheck(**asking)
    words = [entry.partition(",")[2] for entry in done.stdout.splitlines()]
    assert COMPLETED[line, at] in words
    assert all(word.startswith(line.split()[-1]) for word in words)
