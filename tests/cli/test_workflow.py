"""The workflows of docs/ci.md are valid, and their steps work as on GitHub."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from c_compiler import c_compiler
from places import KERNELS, ROOT

PAGE = ROOT / "docs" / "ci.md"
KERNEL = KERNELS / "cast.c"
INSTALL = "pip install 'git+https://github.com/OWNER/convcheck@COMMIT'"
BASELINE = "convcheck run --backend 'process:./mine' onnx.Cast-21 --known known.toml --update"
NIGHTLY = BASELINE.replace("--known known", "--tier boundary --known known-boundary")
# The spec's cases that the kernel may know, in the default tier: a minute less than all 490.
FEWER = {"onnx.Cast-21": "onnx.Cast-21 --from float32 --from int32", "--tier boundary ": ""}
ROUNDS = "bits += 0x7ffff + (bits >> 20 & 1);"


class Strict(yaml.SafeLoader):
    """A loader that rejects duplicate keys, as GitHub does."""


def _mapping(loader: Strict, node: yaml.MappingNode) -> dict[Any, Any]:
    keys = [loader.construct_object(key) for key, _ in node.value]
    assert len(keys) == len(set(keys)), f"a key is there twice: {keys}"
    return loader.construct_mapping(node, deep=True)


Strict.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping)


def workflows() -> list[dict[Any, Any]]:
    blocks = [b.split("```\n")[0] for b in PAGE.read_text("utf-8").split("```yaml\n")[1:]]
    texts = [text for text in blocks if re.search(r"^jobs:$", text, re.MULTILINE)]
    assert len(texts) == 2, "the page has a workflow, and one of shards"
    return [yaml.load(text, Strict) for text in texts]


def steps(job: dict[str, Any]) -> Iterator[str]:
    """Return the commands of a job without the installation of convcheck."""
    yield from (step["run"] for step in job["steps"] if step.get("run", INSTALL) != INSTALL)


class Machine:
    """A folder in which steps run, each with its own summary file, as on GitHub."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.summary = folder / "summary.md"
        self.said = ""

    def run(self, command: str) -> int:
        """Run a step with `bash -e`, and return its exit code."""
        self.summary.write_text("")
        for text, instead in FEWER.items():
            command = command.replace(text, instead)
        path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
        settings = {"PATH": path, "GITHUB_STEP_SUMMARY": str(self.summary), "NO_COLOR": "1"}
        done = subprocess.run(
            ["bash", "-e", "-c", command], cwd=self.folder, env={**os.environ, **settings},
            capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        assert "Traceback" not in done.stderr, done.stderr
        self.said = done.stdout + done.stderr
        return done.returncode

    def job(self, job: dict[str, Any], **values: object) -> int:
        for command in steps(job):
            for name, value in values.items():
                command = command.replace(f"${{{{ matrix.{name} }}}}", str(value))
            assert "${{" not in command
            if code := self.run(command):
                return code
        return 0

    def check_reports(self, failing: bool) -> None:
        assert ("FAIL" in self.summary.read_text()) == failing
        assert "<html" in (self.folder / "report.html").read_text()
        suites = ET.parse(self.folder / "junit.xml").getroot()
        assert (next(suites.iter("failure"), None) is not None) == failing
        assert len(list(suites.iter("testcase"))) > 40
        assert ("::error" in self.said) == failing


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A checkout with the kernel, and an empty list of known failures."""
    c_compiler()
    for file in (KERNEL, KERNELS / "convcheck.h"):
        shutil.copy(file, tmp_path)
    return Machine(tmp_path)


def break_kernel(folder: Path) -> None:
    text = (folder / "cast.c").read_text()
    assert ROUNDS in text
    (folder / "cast.c").write_text(text.replace(ROUNDS, ""))


@pytest.mark.parametrize("number", [0, 1])
def test_a_workflow_has_what_github_requires(number: int) -> None:
    workflow = workflows()[number]
    assert {"name", True, "permissions", "jobs"} == set(workflow)
    for job in workflow["jobs"].values():
        assert job["runs-on"]
        for step in job["steps"]:
            assert ("uses" in step) != ("run" in step)
            assert re.fullmatch(r"actions/[a-z-]+@v[0-9]+", step.get("uses", "actions/x@v1"))
        assert any(step.get("run") == INSTALL for step in job["steps"])
        kept = [s for s in job["steps"] if s.get("uses", "").startswith("actions/upload-artifact")]
        assert kept, "the reports are kept"
        assert all(
            "always()" in s.get("if", "") for s in kept if "report.html" in s["with"]["path"]
        )


def test_the_page_says_how_the_list_is_made() -> None:
    assert BASELINE in PAGE.read_text("utf-8")
    assert NIGHTLY in PAGE.read_text("utf-8")


@pytest.mark.long
def test_the_gate_lets_a_right_kernel_pass_and_no_new_failure(machine: Machine) -> None:
    job = workflows()[0]["jobs"]["convcheck"]
    build, gate = steps(job)
    assert machine.run(build) == 0
    assert machine.run(BASELINE) == 0
    assert machine.run(gate) == 0, machine.said
    machine.check_reports(failing=False)
    break_kernel(machine.folder)
    assert machine.job(job) == 1, machine.said
    machine.check_reports(failing=True)
    assert machine.run(f"{BASELINE} --update") == 0, machine.said
    assert "[[known]]" in (machine.folder / "known.toml").read_text()
    assert machine.run(gate) == 0, machine.said
    shutil.copy(KERNEL, machine.folder)
    assert machine.job(job) == 1, "what is fixed has to leave the list"
    assert "known.toml" in machine.said


def test_shards_on_several_machines_have_one_verdict(machine: Machine) -> None:
    jobs = workflows()[1]["jobs"]
    assert jobs["verdict"]["needs"] == "shard"
    build = next(steps(jobs["shard"]))
    assert machine.run(build) == 0
    assert machine.run(NIGHTLY) == 0, machine.said
    break_kernel(machine.folder)
    shards = jobs["shard"]["strategy"]["matrix"]["shard"]
    ask = list(steps(jobs["shard"]))[-1]
    assert f"/{len(shards)} " in ask
    for shard in shards:
        assert machine.job(jobs["shard"], shard=shard) == 0, machine.said
    assert machine.job(jobs["verdict"]) == 1, machine.said
    machine.check_reports(failing=True)
    (machine.folder / "shard-2.jsonl").unlink()
    assert machine.job(jobs["verdict"]) == 2
