"""Planted faults are explained by what they are, exactly, in the report of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from command import convcheck, report_at
from places import ROOT

TRUNCATING = "tests.planted.rounding_backends:Truncating"
CHOICE = ("onnx.Cast-21", "--from", "float32", "--to", "float16", "--to", "bfloat16")


@pytest.fixture(autouse=True)
def _at_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def report(out: Path, backend: str, *words: object) -> dict[str, Any]:
    """Return the report of a run."""
    done = convcheck("run", "--backend", backend, *words, "-q", "--json", out)
    assert done.returncode in (0, 1), done.stderr
    return report_at(out)


def test_a_planted_fault_is_told(tmp_path: Path) -> None:
    [cause] = report(tmp_path / "r.json", TRUNCATING, *CHOICE)["causes"]
    assert [one["name"] for one in cause["together"]] == ["truncates"]
    assert [case["case"] for case in cause["cases"]] == [
        f"onnx.Cast-21/float32-to-{target}{rest}"
        for target in ("float16", "bfloat16")
        for rest in ("", "/saturate=0")
    ]
    assert all(case["answers"] > case["wrong"] > 0 for case in cause["cases"])


def test_two_causes_together_explain_what_none_does_alone(tmp_path: Path) -> None:
    case = "onnx.Cast-21/float64-to-float8e5m2/saturate=0"
    [cause] = report(tmp_path / "r.json", "ort", case)["causes"]
    assert cause["together"][0]["name"] == "through-float32"
    assert len(cause["together"]) == 2


def test_what_is_right_and_what_dies_has_no_cause(tmp_path: Path) -> None:
    assert not report(tmp_path / "r.json", "reference", *CHOICE).get("causes")
    abort = "tests.planted.bad_backends:Abort"
    assert not report(tmp_path / "r.json", abort, *CHOICE).get("causes")


def test_an_earlier_version_is_told(tmp_path: Path) -> None:
    """Infinities become NaN in float8e4m3fnuz up to version 23, and the largest number from 24 on;
    nothing that was asked tells that from one that does so for other reasons.
    """
    planted = "tests.planted.version_backends:Cast23"
    asked = ("onnx.Cast-24", "--from", "float32", "--to", "float8e4m3fnuz")
    [cause] = report(tmp_path / "r.json", planted, *asked)["causes"]
    names = [one["name"] for fit in (cause["together"], *cause["others"]) for one in fit]
    assert "as-version-23" in names
    assert {case["case"].rpartition("/")[2] for case in cause["cases"]} == {
        "saturate=1",
        "saturate=default",
    }
