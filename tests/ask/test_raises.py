from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from command import convcheck, report_at

RANGE = ("onnx.Range-11", "--from", "int32")
CAST = ("onnx.Cast-21", "--from", "uint8", "--to", "int16")


def case_of(name: str, folder: Path, *asked: str) -> dict[str, Any]:
    report = folder / "r.json"
    backend = f"planted.deviating:{name}"
    convcheck("run", "--backend", backend, *asked, "--no-causes", "-o", report)
    [case] = report_at(report)["cases"]
    found: dict[str, Any] = case
    return found


def counts(case: dict[str, Any]) -> Counter[str]:
    counted = Counter[str]()
    for group in case["groups"]:
        counted[group["verdict"]] += group["count"]
    return counted


def test_where_nothing_is_expected_a_call_that_raises_is_undefined(tmp_path: Path) -> None:
    case = case_of("DeltaZero", tmp_path, *RANGE)
    assert case["verdict"] in {"pass", "tolerated"}
    assert counts(case)["undefined"] > 0


@pytest.mark.parametrize(("name", "asked"), [("DeltaTwo", RANGE), ("One", CAST)])
def test_the_other_calls_are_judged(name: str, asked: tuple[str, ...], tmp_path: Path) -> None:
    case = case_of(name, tmp_path, *asked)
    assert case["verdict"] == "error"
    found = counts(case)
    assert found["fail"] > 0
    assert found["error"] < found["pass"] + found["tolerated"]
