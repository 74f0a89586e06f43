"""`convcheck run` end to end, in new processes."""

import json
import subprocess
import sys

import pytest
from catalogue import CATALOG
from command import convcheck, refused, report_at
from oracle import expect, fits

from specs import write_spec


@pytest.mark.long
@pytest.mark.parametrize("selected", [
    ("onnx.Cast-*", "onnx.Range-*", "pypto.cast-0.2", "--from", "float32"),
    ("openvino.ConvertPromoteTypes-*", "--from", "int32"),
    pytest.param(("onnx.Cast-21", "onnx.CastLike-25", "*.Range-*", "pypto.*",
                  "openvino.FakeConvert-*"), marks=pytest.mark.slow),
    pytest.param(("openvino.ConvertPromoteTypes-*", "--from", "bfloat16"), marks=pytest.mark.slow),
])  # fmt: skip
def test_the_reference_passes_everything(selected, tmp_path):
    done = convcheck("run", "--backend", "reference", *selected, "-o", tmp_path / "r.json")
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
    assert "FAIL" not in done.stdout
    assert len(done.stdout.splitlines()) < 70
    verdicts = {c["verdict"] for c in report_at(tmp_path / "r.json")["cases"]}
    assert verdicts <= {"pass", "tolerated", "undefined"}


@pytest.mark.long
def test_the_default_run_on_a_real_runtime(tmp_path):
    done = convcheck("run", "--backend", "ort", "-o", tmp_path / "r.json", COLUMNS="80")
    assert done.returncode in (0, 1), done.stderr
    is_read_in_a_minute(done.stdout)
    found = report_at(tmp_path / "r.json")
    every_accusation_stands_up(found)
    every_type_goes_through_the_runtime(found)


def is_read_in_a_minute(printed):
    lines = printed.splitlines()
    assert len(lines) <= 140
    commands = ("convcheck explain", "onnx.")
    assert not [x for x in lines if len(x) > 80 and not x.strip().startswith(commands)]
    assert " explain " in printed


def every_accusation_stands_up(found):
    """Of casts; those of whole calls are proved where their edge calls are."""
    failing = [
        (case, group)
        for case in found["cases"] for group in case["groups"]
        if group["verdict"] in ("fail", "refused")
    ]  # fmt: skip
    assert all(group["cite"] for _, group in failing)
    casts = [pair for pair in failing if pair[0]["spec"].startswith("onnx.Cast")]
    examples = [(case, example) for case, group in casts for example in group["examples"]]
    assert examples or found["summary"]["gated"] == 0
    for case, example in examples:
        assert accused_rightly(case, example), (case["id"], example)


def accused_rightly(case, example):
    word = example["input"][0]
    source, target = case["inputs"][0], case["outputs"][0]
    x = word if source == "string" else int(word, 16)
    version = int(case["spec"].rpartition("-")[2])
    version = 13 if version == 15 else version
    said = {name: value for name, value in case["attributes"].items() if value != "default"}
    ways = [said]
    if case["spec"].startswith("onnx.CastLike") and "round_mode" in said:
        ways.append({**said, "round_mode": "up"})  # the function body drops it
    readings = [r for way in ways for r in expect(version, source, target, way, x).readings]
    if example["got"] is None:
        due = [reading[0] not in ("refused", "undefined") for reading in readings]
        return all(due) or (len(ways) > 1 and any(due))
    got = example["got"] if target == "string" else int(example["got"], 16)
    # A reading holds for the whole case, so with several readings a single value proves less.
    wrong = [not fits(reading, target, got) for reading in readings]
    return all(wrong) or (len(wrong) > 1 and any(wrong))


def every_type_goes_through_the_runtime(found):
    cases = [c for c in found["cases"] if c["spec"] == "onnx.Cast-21"]
    judged = {c["inputs"][0] for c in cases if c["verdict"] not in ("unsupported", "error")}
    assert judged >= {t.name for t in CATALOG.specs["onnx.Cast-21"].types["T1"]}
    assert {"string", "int4", "float8e5m2fnuz", "bfloat16", "bool"} <= judged
    unsupported = [c for c in found["cases"] if c["verdict"] == "unsupported"]
    assert all(c["message"] for c in unsupported)
    assert not [c["id"] for c in found["cases"] if c["verdict"] in ("error", "crashed")]


def test_two_runs_give_the_same_bytes(tmp_path):
    options = ("run", "--backend", "ort", "onnx.Cast-21", "--to", "float8e5m2", "-o")
    for name, jobs in (("a", "1"), ("b", "2")):
        convcheck(*options, f"jsonl:{tmp_path / name}", "--jobs", jobs)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_tiers_and_coverage(tmp_path):
    select = ("onnx.Cast-21", "--from", "float16", "--from", "float32", "--to", "float8e4m3fn")
    for tier in ("boundary", "exhaustive"):
        path = tmp_path / f"{tier}.jsonl"
        sources = select if tier == "boundary" else (*select[:3], *select[5:])
        done = convcheck(
            "run", "--backend", "reference", *sources, "--tier", tier, "-o", f"jsonl:{path}"
        )
        assert done.returncode == 0
        by_source = {c["inputs"][0]: c for c in report_at(path)["cases"]}
        assert by_source["float16"]["coverage"] == "exhaustive"
        assert by_source["float16"]["checked"] == 65536
        wide = by_source.get("float32")
        assert wide is None or wide["coverage"] == "boundary-complete"


BAD = {"0xzz": "not a bit pattern", "1ffffffff": "more than 32 bits", "-1": "not a bit pattern"}


@pytest.mark.parametrize("line", BAD)
def test_bad_inputs_have_a_line(tmp_path, line):
    path = tmp_path / "inputs"
    path.write_text(f"# mine\n3f800000\n{line}\n")
    select = ("onnx.Cast-21", "--from", "float32", "--to", "int8")
    said = refused("run", "--backend", "reference", *select, "--inputs", path)
    assert f"{path}:3: " in said
    assert BAD[line] in said


def test_specs_of_ones_own(tmp_path):
    write_spec(tmp_path / "mine")
    (tmp_path / "pyproject.toml").write_text('[tool.convcheck]\nspecs = ["mine"]\n')
    done = convcheck("run", "--backend", "reference", "acme.*", cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_json_on_stdout_is_json_alone():
    done = convcheck("run", "--backend", "reference", "onnx.Cast-21", "--to", "int8", "-o", "-")
    assert json.loads(done.stdout.splitlines()[0])["format"] == "convcheck-run/3"
    assert "PASS" in done.stderr


def test_a_fault_of_our_own_is_70():
    code = (
        "import convcheck.plan.select as p\n"
        "def boom(*a): raise RuntimeError('boom')\n"
        "p.select = boom\n"
        "import sys; sys.argv = ['convcheck', 'run', '--backend', 'reference']\n"
        "from convcheck.__main__ import main; main()"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 70
    assert "Please report it" in done.stderr
