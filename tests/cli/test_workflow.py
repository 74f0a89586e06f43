import os
import re
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
import yaml
from c_compiler import c_compiler
from places import KERNELS, ROOT

from convcheck import __version__

PAGE = ROOT / "docs" / "ci.md"
KERNEL = KERNELS / "cast.c"
ACTION = "OWNER/convcheck@v1"
INSTALL = ("pipx install convcheck==0.1.0", 'python -m pip install --quiet "$ACTION"')
BASELINE = "convcheck run --backend 'process:./mine' onnx.Cast-21 --known known.toml --update"
NIGHTLY = BASELINE.replace("--known known", "--tier boundary --known known-boundary")
# The spec's cases that the kernel may know, in the default tier: a minute less than all 490.
FEWER = {"onnx.Cast-21": "onnx.Cast-21 --from float32 --from int32", "--tier boundary ": ""}
INPUT = re.compile(r"\$\{\{ inputs\.([a-z-]+) \}\}")
ROUNDS = "bits += 0x7ffff + (bits >> 20 & 1);"


class Strict(yaml.SafeLoader):
    """A loader that rejects duplicate keys, as GitHub does."""


def _mapping(loader, node):
    keys = [loader.construct_object(key) for key, _ in node.value]
    assert len(keys) == len(set(keys)), f"a key is there twice: {keys}"
    return loader.construct_mapping(node, deep=True)


Strict.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping)


def loaded(path):
    return yaml.load(path.read_text("utf-8"), Strict)


def workflows():
    blocks = [b.split("```\n")[0] for b in PAGE.read_text("utf-8").split("```yaml\n")[1:]]
    texts = [text for text in blocks if re.search(r"^jobs:$", text, re.MULTILINE)]
    assert len(texts) == 2, "the page has a workflow, and one of shards"
    return [yaml.load(text, Strict) for text in texts]


def steps(job):
    """Yield a job's commands with their environment, without the installation of convcheck."""
    for step in job["steps"]:
        if step.get("uses") == ACTION:
            yield from of_action(step["with"])
        elif step.get("run", INSTALL[0]) not in INSTALL:
            yield step["run"], {}


def of_action(given):
    """Yield the commands of action.yml with the values that its inputs give the environment."""
    action = loaded(ROOT / "action.yml")
    assert given.keys() <= action["inputs"].keys()
    values = {name: given.get(name, one.get("default")) for name, one in action["inputs"].items()}
    assert None not in values.values(), "a required input is missing"
    for step in action["runs"]["steps"]:
        if "run" in step and step["run"] not in INSTALL:
            env = {
                key: INPUT.sub(lambda m: values[m[1]], text) for key, text in step["env"].items()
            }
            yield step["run"], env


class Machine:
    """A folder in which steps run, each with its own summary file, as on GitHub."""

    def __init__(self, folder):
        self.folder = folder
        self.summary = folder / "summary.md"
        self.said = ""

    def run(self, command, **environment):
        self.summary.write_text("")
        for text, instead in FEWER.items():
            command = command.replace(text, instead)
        path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
        environment = {k: FEWER.get(v, v) for k, v in environment.items()}
        environment |= {"PATH": path, "GITHUB_STEP_SUMMARY": str(self.summary), "NO_COLOR": "1"}
        done = subprocess.run(
            ["bash", "-eo", "pipefail", "-c", command], cwd=self.folder,
            env={**os.environ, **environment}, capture_output=True, text=True, timeout=120,
            check=False,
        )  # fmt: skip
        assert "Traceback" not in done.stderr, done.stderr
        self.said = done.stdout + done.stderr
        return done.returncode

    def job(self, job, **values):
        for command, environment in steps(job):
            for name, value in values.items():
                command = command.replace(f"${{{{ matrix.{name} }}}}", str(value))
            assert "${{" not in command
            if code := self.run(command, **environment):
                return code
        return 0

    def check_reports(self, failing, page="report.html"):
        assert ("FAIL" in self.summary.read_text()) == failing
        assert "<html" in (self.folder / page).read_text()
        assert ("::error" in self.said) == failing

    def check_tests(self, failing):
        suites = ET.parse(self.folder / "junit.xml").getroot()
        assert (next(suites.iter("failure"), None) is not None) == failing
        assert len(list(suites.iter("testcase"))) > 40


@pytest.fixture
def machine(tmp_path):
    """A checkout with the kernel, and an empty list of known failures."""
    c_compiler()
    for file in (KERNEL, KERNELS / "convcheck.h"):
        shutil.copy(file, tmp_path)
    return Machine(tmp_path)


def break_kernel(folder):
    text = (folder / "cast.c").read_text()
    assert ROUNDS in text
    (folder / "cast.c").write_text(text.replace(ROUNDS, ""))


@pytest.mark.parametrize("number", [0, 1])
def test_a_workflow_has_what_github_requires(number):
    workflow = workflows()[number]
    assert {True, "jobs"} <= set(workflow) <= {"name", True, "permissions", "jobs"}
    for job in workflow["jobs"].values():
        assert job["runs-on"]
        for step in job["steps"]:
            assert ("uses" in step) != ("run" in step)
            uses = step.get("uses", ACTION)
            assert uses == ACTION or re.fullmatch(r"actions/[a-z-]+@v[0-9]+", uses)


def test_the_action_has_what_github_requires():
    action = loaded(ROOT / "action.yml")
    assert action["runs"]["using"] == "composite"
    needed = [name for name, one in action["inputs"].items() if one.get("required")]
    assert needed == ["backend"]
    assert all(one["description"] for one in action["inputs"].values())
    *_, kept = action["runs"]["steps"]
    assert kept["if"] == "always()"
    for step in action["runs"]["steps"]:
        assert ("uses" in step) != ("run" in step)
        assert ("run" in step) == (step.get("shell") == "bash")
        # an input inside a command would be run as code
        assert "${{" not in step.get("run", "")


def test_a_release_is_published_with_what_was_built():
    release = loaded(ROOT / ".github" / "workflows" / "release.yml")
    publish = release["jobs"]["publish"]
    assert publish["needs"] == "build"
    assert publish["permissions"] == {"contents": "write", "id-token": "write"}
    assert [s["uses"] for s in publish["steps"] if "pypi" in s.get("uses", "")] == [
        "pypa/gh-action-pypi-publish@release/v1"
    ]
    notes = next(s["run"] for s in publish["steps"] if "notes" in s.get("run", ""))
    done = subprocess.run(
        ["bash", "-c", notes.split("> notes.md")[0]], cwd=ROOT, capture_output=True, text=True,
        env={**os.environ, "GITHUB_REF_NAME": f"v{__version__}"}, check=True,
    )  # fmt: skip
    assert done.stdout.lstrip().startswith("The first release contains")


def test_the_page_says_how_the_list_is_made():
    assert BASELINE in PAGE.read_text("utf-8")
    assert NIGHTLY in PAGE.read_text("utf-8")


@pytest.mark.long
def test_the_gate_lets_a_right_kernel_pass_and_no_new_failure(machine):
    """A stranger's repository: six lines of the page, red and green."""
    job = workflows()[0]["jobs"]["convcheck"]
    (build, _), (gate, settings) = steps(job)
    assert machine.run(build) == 0
    assert machine.run(BASELINE) == 0
    assert machine.run(gate, **settings) == 0, machine.said
    machine.check_reports(failing=False, page="convcheck.html")
    break_kernel(machine.folder)
    begun = time.monotonic()
    assert machine.job(job) == 1, machine.said
    assert time.monotonic() - begun < 60
    machine.check_reports(failing=True, page="convcheck.html")
    assert (machine.folder / "convcheck.jsonl").read_text().startswith('{"format":"convcheck-run')
    assert machine.run(f"{BASELINE} --update") == 0, machine.said
    assert "[[known]]" in (machine.folder / "known.toml").read_text()
    assert machine.run(gate, **settings) == 0, machine.said
    shutil.copy(KERNEL, machine.folder)
    assert machine.job(job) == 1, "what is fixed has to leave the list"
    assert "known.toml" in machine.said


def test_the_action_takes_a_requirement_set_and_no_code(machine):
    given = {"backend": "reference", "require": "cast-2026", "summary": "false"}
    [(command, settings)] = of_action(given)
    assert machine.run(command, **settings) == 0, machine.said
    assert "64 of 64 required cases" in " ".join(machine.said.split())
    assert machine.summary.read_text() == ""
    [(command, settings)] = of_action({"backend": "reference; touch bad", "specs": "$(touch bad)"})
    assert machine.run(command, **settings) == 2
    assert not (machine.folder / "bad").exists()


def test_shards_on_several_machines_have_one_verdict(machine):
    jobs = workflows()[1]["jobs"]
    assert jobs["verdict"]["needs"] == "shard"
    build, *_, ask = (command for command, _ in steps(jobs["shard"]))
    assert machine.run(build) == 0
    assert machine.run(NIGHTLY) == 0, machine.said
    break_kernel(machine.folder)
    shards = jobs["shard"]["strategy"]["matrix"]["shard"]
    assert f"/{len(shards)} " in ask
    for shard in shards:
        assert machine.job(jobs["shard"], shard=shard) == 0, machine.said
    assert machine.job(jobs["verdict"]) == 1, machine.said
    machine.check_reports(failing=True)
    machine.check_tests(failing=True)
    (machine.folder / "shard-2.jsonl").unlink()
    assert machine.job(jobs["verdict"]) == 2
