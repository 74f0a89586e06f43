from collections import Counter

import pytest
from command import convcheck, report_at

RANGE = ("onnx.Range-11", "--from", "int32")
CAST = ("onnx.Cast-21", "--from", "uint8", "--to", "int16")


def case_of(name, folder, *asked):
    report = folder / "r.json"
    backend = f"planted.deviating:{name}"
    convcheck("run", "--backend", backend, *asked, "--no-causes", "-o", report)
    [case] = report_at(report)["cases"]
    return case


def counts(case):
    counted = Counter[str]()
    for group in case["groups"]:
        counted[group["verdict"]] += group["count"]
    return counted


def test_where_nothing_is_expected_a_call_that_raises_is_undefined(tmp_path):
    case = case_of("DeltaZero", tmp_path, *RANGE)
    assert case["verdict"] in {"pass", "tolerated"}
    assert counts(case)["undefined"] > 0


@pytest.mark.parametrize(("name", "asked"), [("DeltaTwo", RANGE), ("One", CAST)])
def test_the_other_calls_are_judged(name, asked, tmp_path):
    case = case_of(name, tmp_path, *asked)
    assert case["verdict"] == "error"
    found = counts(case)
    assert found["fail"] > 0
    assert found["error"] < found["pass"] + found["tolerated"]
