"""The packages that a release publishes."""

import os
import subprocess
import sys
import zipfile

import pytest
from places import ROOT

MOST = 12_000_000  # bytes of a wheel


def python(*words, cwd, **environment):
    done = subprocess.run(
        [sys.executable, *map(str, words)], cwd=cwd, env={**os.environ, **environment},
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.long
def test_a_wheel_runs_without_a_checkout(tmp_path):
    python("-m", "build", ROOT, "-o", tmp_path / "dist", cwd=tmp_path)  # the wheel from the sdist
    [wheel] = (tmp_path / "dist").glob("*.whl")
    assert wheel.stat().st_size < MOST
    zipfile.ZipFile(wheel).extractall(tmp_path / "installed")
    (tmp_path / "empty").mkdir()

    def convcheck(*words):
        path = str(tmp_path / "installed")
        return python("-P", "-m", "convcheck", *words, cwd=tmp_path / "empty", PYTHONPATH=path)

    said = convcheck("run", "--backend", "ort", "onnx.Cast-21/float32-to-bfloat16")
    assert "PASS  1 case" in said
    said = convcheck("generate", "--check", "onnx.BitCast-26")
    assert said.split(" is up")[0] == str(tmp_path / "installed" / "convcheck" / "data" / "vectors")
