"""`convcheck diagnose`: planted faults are told by what they are, exactly."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from command import convcheck
from places import ROOT

from convcheck.report.json.schemas import schema

TRUNCATING = "tests.planted.rounding_backends:Truncating"
CHOICE = ("onnx.Cast-21", "--from", "float32", "--to", "float16", "--to", "bfloat16")


@pytest.fixture(autouse=True)
def _at_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def test_a_planted_fault_is_told(tmp_path: Path) -> None:
    out = tmp_path / "d.json"
    done = convcheck("diagnose", "--backend", TRUNCATING, *CHOICE, "--json", out, COLUMNS="80")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "4 of 4 cases fail; 1 cause explains 4 of them, every answer of each"
    assert lines[2].startswith("A  truncates")
    found = json.loads(out.read_text())
    jsonschema.validate(found, schema("diagnosis"))
    [cause] = found["causes"]
    assert [one["name"] for one in cause["together"]] == ["truncates"]
    assert [case["case"] for case in cause["cases"]] == [
        f"onnx.Cast-21/float32-to-{target}{rest}"
        for target in ("float16", "bfloat16")
        for rest in ("", "/saturate=0")
    ]
    assert all(case["answers"] > case["wrong"] > 0 for case in cause["cases"])


def test_a_single_case_is_told_as_one() -> None:
    done = convcheck("diagnose", "--backend", TRUNCATING, "--case", "onnx.Cast-21/int64-to-float16")
    assert done.returncode == 0
    told = "1 of 1 case fails; 1 cause explains it, every answer"
    assert done.stdout.splitlines()[0] == told


def test_of_a_single_case_all_that_was_tried_is_told(tmp_path: Path) -> None:
    out = tmp_path / "d.json"
    asked = (
        "diagnose",
        "--backend",
        "ort",
        "--case",
        "onnx.Cast-21/float64-to-float8e5m2/saturate=0",
    )
    done = convcheck(*asked, "--json", out, COLUMNS="80")
    lines = [line.strip() for line in done.stdout.splitlines()]
    begin = next(i for i, line in enumerate(lines) if line.startswith("tried, and how many"))
    found = json.loads(out.read_text())
    jsonschema.validate(found, schema("diagnosis"))
    alone = found["alone"]
    counts = [one["count"] for one in alone["tried"]]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] < alone["answers"]  # two together fit, and none alone
    assert alone["fits"][0] == [one["name"] for one in found["causes"][0]["together"]]
    pair = "rounds twice, through float32 (through-float32); and"
    assert lines[begin + 1].startswith(f"{alone['answers']}  {pair}")
    assert f"{alone['answers'] - alone['wrong']}  the rules" in lines
    more = convcheck(*asked, "-v").stdout.splitlines()
    assert len([line for line in more if line.strip()[:1].isdigit()]) > len(counts)
    several = convcheck("diagnose", "--backend", TRUNCATING, *CHOICE, "--json", out)
    said = "tried, and how many" in several.stdout
    assert (said, "alone" in json.loads(out.read_text())) == (False, False)


def test_what_is_right_has_no_cause() -> None:
    done = convcheck("diagnose", "--backend", "reference", *CHOICE)
    assert done.returncode == 0
    assert done.stdout == "none of 4 cases fails: there is nothing to explain\n"


def test_what_is_not_explained_is_said() -> None:
    done = convcheck("diagnose", "--backend", "tests.planted.bad_backends:Abort", *CHOICE)
    assert done.returncode == 1
    assert "not explained: 4 cases" in done.stdout


def test_nothing_asked_is_no_success() -> None:
    done = convcheck("diagnose", "--backend", "ml_dtypes", "onnx.Range-11")
    assert (done.returncode, done.stdout.startswith("none of 0 cases fails")) == (3, True)


def test_which_backend_has_to_be_said() -> None:
    done = convcheck("diagnose", "onnx.Cast-21")
    assert done.returncode == 2
    assert "--backend" in done.stderr


def test_the_report_of_a_run_has_the_diagnosis(tmp_path: Path) -> None:
    run, none, out = (tmp_path / name for name in ("r.json", "none.json", "d.json"))
    asked = ("run", "--backend", TRUNCATING, *CHOICE, "-q", "--json")
    convcheck(*asked, run)
    convcheck(*asked, none, "--causes", "none")
    fresh = convcheck("diagnose", "--backend", TRUNCATING, *CHOICE, COLUMNS="80")
    done = convcheck("diagnose", "--report", run, "--json", out, COLUMNS="80")
    assert (done.returncode, done.stdout) == (fresh.returncode, fresh.stdout)
    jsonschema.validate(json.loads(out.read_text()), schema("diagnosis"))
    part = convcheck("diagnose", "--report", run, "--to", "float16", COLUMNS="80")
    assert part.stdout.startswith("2 of 2 cases fail")
    done = convcheck("diagnose", "--report", none)
    assert (done.returncode, done.stdout) == (2, "")
    assert "no causes were tried in this run" in done.stderr
    for wrong in ((), ("--report", run, "--backend", "reference")):
        done = convcheck("diagnose", *wrong)
        assert (done.returncode, "one of --backend and --report" in done.stderr) == (2, True)


def test_an_earlier_version_is_told(tmp_path: Path) -> None:
    """Infinities become NaN in float8e4m3fnuz up to version 23, and the largest number from 24 on;
    nothing that was asked tells that from one that does so for other reasons.
    """
    out = tmp_path / "d.json"
    planted = "tests.planted.version_backends:Cast23"
    asked = ("onnx.Cast-24", "--from", "float32", "--to", "float8e4m3fnuz", "--json", out)
    done = convcheck("diagnose", "--backend", planted, *asked)
    assert done.returncode == 0, done.stderr
    [cause] = json.loads(out.read_text())["causes"]
    names = [one["name"] for fit in (cause["together"], *cause["others"]) for one in fit]
    assert "as-version-23" in names
    assert {case["case"].rpartition("/")[2] for case in cause["cases"]} == {
        "saturate=1",
        "saturate=default",
    }
