"""`run --certificate FILE`: written beside reports, held to the same rules, and never a lie."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from command import convcheck, report_at
from report_json import held_to_schema

from convcheck.backends.binaries import hashed, module_paths
from convcheck.backends.protocol import backend_names, code_of_backend

ASKED = ("onnx.Cast-21", "--from", "int8", "--to", "int16")
BACKEND = """
import numpy as np
from convcheck.backends.protocol import Outputs

class Mine:
    name, version = "mine", "1"

    def __init__(self):
        {start}

    def support(self, case):
        return None

    def answer(self, case, inputs):
        wide = inputs[0].astype(np.int8).astype(np.int16) + {off}
        return Outputs((np.asarray(wide).astype(np.uint16),), ("int16",))
"""


def mine(folder: Path, start: str = "pass", off: str = "0") -> str:
    """Write a backend into a folder, and return its address."""
    (folder / "mine.py").write_text(BACKEND.format(start=start, off=off))
    return "mine:Mine"


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def certified(folder: Path, address: str, *options: str, code: int = 0) -> Any:
    """Run with a certificate, and return that."""
    arguments = ("run", "--backend", address, *ASKED, "--certificate", "c.json", *options)
    done = convcheck(*arguments, cwd=folder)
    assert done.returncode == code, done.stderr
    return held_to_schema("certificate", report_at(folder / "c.json"))


def test_a_certificate_names_what_answered_and_what_was_reported(tmp_path: Path) -> None:
    first = certified(tmp_path, mine(tmp_path), "--json", "1.json", "--tier", "exhaustive")
    certified(tmp_path, "mine:Mine", "--json", "2.json", "--tier", "exhaustive")
    assert (tmp_path / "1.json").read_bytes() == (tmp_path / "2.json").read_bytes()
    assert first["report"] == sha256(tmp_path / "1.json")
    assert first["complete"]
    assert first["outcome"] == "pass"
    assert [one["proved"] for one in first["cases"]] == ["every input"]
    [binary] = first["binaries"]
    assert binary["sha256"] == sha256(tmp_path / "mine.py")
    assert binary["path"] == str(tmp_path / "mine.py")
    assert "--certificate c.json --json 1.json" in first["command"]
    assert (
        first["specs"][0]["vectors"]
        == report_at(tmp_path / "1.json")["corpus"]["specs"]["onnx.Cast-21"]
    )


def test_the_manifest_is_named_where_vectors_were_read(tmp_path: Path) -> None:
    from convcheck.rules.load import data_dir

    manifest = sha256(data_dir("vectors") / "MANIFEST.json")
    assert certified(tmp_path, mine(tmp_path))["manifest"] == manifest
    assert certified(tmp_path, "mine:Mine", "--tier", "boundary")["manifest"] is None


def test_a_run_that_failed_or_ended_early_certifies_nothing(tmp_path: Path) -> None:
    found = certified(tmp_path, mine(tmp_path, off="1"), code=1)
    assert found["complete"]
    assert found["outcome"] == "fail"
    assert [one["proved"] for one in found["cases"]] == ["nothing"]
    part = certified(tmp_path, "mine:Mine", "--shard", "1/1", code=1)
    assert part["why_not"] == ["this is shard 1 of 1"]


def test_code_that_changes_during_the_run_is_told(tmp_path: Path) -> None:
    grows = "open(__file__, 'a').write('#')"
    found = certified(tmp_path, mine(tmp_path, start=grows))
    assert found["why_not"] == ["the code that answered was changed during the run"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--executor", "dask://127.0.0.1:1"), "--certificate does not go with --executor"),
        (("--resume", "kept"), "--certificate does not go with --resume"),
        (("--backend", "reference"), "--certificate works with one --backend only"),
        (("--json", "./c.json"), "go to one file"),
        (("--known", "c.json"), "--certificate would overwrite --known"),
    ],
)
def test_refused_before_anything_is_asked(
    tmp_path: Path, options: tuple[str, ...], said: str
) -> None:
    (tmp_path / "c.json").write_text("mine\n")
    address = mine(tmp_path, start="open('asked', 'w')")
    arguments = ("run", "--backend", address, *ASKED, "--certificate", "c.json", *options)
    done = convcheck(*arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert (tmp_path / "c.json").read_text() == "mine\n"
    assert not (tmp_path / "asked").exists()


def test_on_stdout_the_report_goes_to_stderr(tmp_path: Path) -> None:
    address = mine(tmp_path)
    done = convcheck("run", "--backend", address, *ASKED, "--certificate", "-", cwd=tmp_path)
    assert done.stdout.startswith('{\n "format": "convcheck-certificate/1"')
    assert done.stderr.splitlines()[-1].startswith("PASS")


def test_it_is_written_whatever_becomes_of_stdout(tmp_path: Path) -> None:
    with open("/dev/full", "w") as full:
        address = mine(tmp_path)
        arguments = ("run", "--backend", address, *ASKED, "--certificate", "c.json")
        done = convcheck(*arguments, cwd=tmp_path, stdout=full)
    assert done.returncode == 74
    held_to_schema("certificate", report_at(tmp_path / "c.json"))


# The code that answers -----------------------------------------------------------------------


def test_a_folder_is_hashed_as_sha256sum_prints_it(tmp_path: Path) -> None:
    names = ["b.so.1.2", "a.py", "sub/c.so", "notes.txt", "sub/__pycache__/c.pyc"]
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    lines = [f"{sha256(tmp_path / n)}  {n}\n" for n in ("a.py", "b.so.1.2", "sub/c.so")]
    [found] = hashed([tmp_path])
    assert found.files == 3
    assert found.sha256 == hashlib.sha256("".join(lines).encode()).hexdigest()


# of runtimes that are not everywhere: the backend, and the module
MODULES = {name: name for name in ("iree", "jax", "mlx", "tinygrad", "tract", "triton", "tvm")}
MODULES["litert"] = "ai_edge_litert"


def test_every_backend_has_code_and_none_is_imported_to_find_it() -> None:
    code = (
        "import sys\n"
        "from convcheck.backends.protocol import code_of_backend\n"
        "for name in sys.argv[1:]: assert code_of_backend(name), name\n"
        "print({m.split('.')[0] for m in sys.modules} & {'onnx', 'onnxruntime', 'torch',\n"
        "  'openvino', 'pypto', 'ml_dtypes'})"
    )
    programs = {"process": f"process:{sys.executable}", "env": f"env:{sys.executable}:ort"}
    missing = {name for name, module in MODULES.items() if find_spec(module) is None}
    names = [programs.get(name, name) for name in backend_names() if name not in missing]
    done = subprocess.run(
        [sys.executable, "-c", code, *names], capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("set()\n", "")


def test_of_a_program_the_files_that_it_runs_count(tmp_path: Path) -> None:
    script = tmp_path / "mine.py"
    script.touch()
    assert code_of_backend(f"process:{sys.executable} {script} --fast")[1:] == [script]
    assert code_of_backend("process:no-such-program") == []
    assert module_paths("no_such_module") == []
