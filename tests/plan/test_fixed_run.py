import numpy as np
import pytest
from catalogue import CATALOG, compiled
from command import convcheck, report_at
from oracle.quantize import quantize
from planted.one_scale import WRONG, Reciprocal, Right, WrongOnce

from convcheck.ask.stream import Sweep
from convcheck.judge.tally import finish
from convcheck.plan.select import cases_of_tier
from convcheck.rules.cases import fixed_tensors
from convcheck.vectors.corpus import Span
from convcheck.vectors.generate import form_decision

SPEC = CATALOG.specs["onnx.QuantizeLinear-21"]
FLOAT8 = "float32-float32-float8e4m3fn/tensor/saturate=1/y_scale=5.224/y_zero_point=0"
INT8 = "float32-float32-int8/tensor/y_scale=5.224/y_zero_point=0"
PART = Span(0xC120_0000, 1 << 20)
CHOICE = ("onnx.QuantizeLinear-21", "--tier", "exhaustive", "--where", "y_scale=5.224")


def case_of(name):
    return next(case for case in cases_of_tier(SPEC) if case.name == name)


def swept(backend, name, span=PART):
    case = case_of(name)
    asked = _OnlyWhole(backend)
    rules = compiled(case), form_decision(SPEC)
    tally = Sweep(asked, case, *rules, span, lambda *call: None).tally()
    return finish(case, tally, "exhaustive")


class _OnlyWhole(Right):
    """A backend that expects tensors for all inputs, as from a worker."""

    def __init__(self, backend):
        self.answer = backend.answer


@pytest.mark.parametrize("name", [INT8, FLOAT8])
def test_one_wrong_answer_is_found_where_it_is(name):
    assert swept(Right(), name).verdict in ("pass", "tolerated")
    result = swept(WrongOnce(), name)
    [group] = [group for group in result.groups if group.verdict == "fail"]
    assert (result.checked, group.count, group.ranges) == (1 << 20, 1, ((WRONG, WRONG),))


@pytest.mark.parametrize("name", [INT8, FLOAT8])
def test_each_input_that_a_reciprocal_gets_wrong_is_counted(name):
    """In numpy: inputs whose product gives another code than the float32 division. Each without a
    reading fails, as the oracle in fractions says. If readings differ, one must hold throughout.
    """
    case, span = case_of(name), Span(0x4200_0000, 1 << 24)
    codes = np.arange(span.first, span.first + span.count, dtype=np.uint32)
    inputs = [codes, *fixed_tensors(case)]
    right, wrong = (b.answer(case.call, inputs).arrays[0] for b in (Right(), Reciprocal()))
    types, scale = ("float32", "float32", case.outputs[0].name), int(inputs[1])
    asked = [(int(codes[i]), int(wrong[i])) for i in np.flatnonzero(right != wrong)]
    failing = [c for c, got in asked if got not in quantize(21, types, (c, scale, 0))]
    found = swept(Reciprocal(), name, span)
    groups = [group for group in found.groups if group.verdict == "fail"]
    assert 0 < len(failing) < sum(group.count for group in groups) == len(asked)
    assert min(group.ranges[0][0] for group in groups) == asked[0][0]


def test_all_of_a_narrow_source_by_the_command_line(tmp_path):
    path = tmp_path / "run.json"
    choice = ("--from", "float16", "--to", "int8", "--case", "*/tensor/*", "-o", path)
    assert convcheck("run", "--backend", "reference", *CHOICE, *choice).returncode == 0
    [case] = report_at(path)["cases"]
    assert case["id"].endswith("/float16-float16-int8/tensor/y_scale=5.224/y_zero_point=0")
    assert (case["coverage"], case["checked"]) == ("exhaustive", 1 << 16)
    assert case["fixed"] == {"y_scale": "5.224", "y_zero_point": "0"}
    assert "PASS" in convcheck("report", path).stdout


def test_what_fails_is_explained_by_its_call(tmp_path):
    """The reference evaluator takes infinity for 0. The report's command shows it."""
    done = convcheck("run", "--backend", "onnx-reference", *CHOICE, "--case", "*/tensor/*",
                     "--from", "float16", "--to", "uint8")  # fmt: skip
    [line, *_] = [line for line in done.stdout.splitlines() if "uint8/tensor 0x7c00" in line]
    assert line.split() == ["onnx.QuantizeLinear-21/float16-float16-uint8/tensor", "0x7c00",
                            "5.224", "0"]  # fmt: skip
    shown = convcheck("explain", "--backend", "onnx-reference", *line.split())
    assert (done.returncode, shown.returncode) == (1, 1)
    assert "255" in shown.stdout


@pytest.mark.parametrize(("arguments", "said"), [
    (("--where", "y_scale=6"), "y_scale=6 matches no case"),
    (("--where", "scale=6"), "unknown attribute 'scale'"),
    (("--tier", "edge"), "unknown attribute 'y_scale'"),
])  # fmt: skip
def test_a_scale_that_is_not_asked_is_refused(arguments, said):
    done = convcheck("run", *CHOICE, *arguments, "--dry-run")
    assert (done.returncode, said in done.stderr) == (2, True), done.stderr


def test_a_case_with_a_fixed_scale_has_no_explanation_of_its_own():
    done = convcheck("explain", f"onnx.QuantizeLinear-21/{INT8}", "3")
    call = "onnx.QuantizeLinear-21/float32-float32-int8/tensor X 5.224 0"
    assert (done.returncode, f"convcheck explain {call}" in done.stderr) == (2, True)


@pytest.mark.slow
@pytest.mark.parametrize("name", [INT8, FLOAT8])
def test_all_of_float32(name, tmp_path):
    verdicts, counts = {}, {}
    for backend in (
        "ort",
        "tests.planted.one_scale:WrongOnce",
        "tests.planted.one_scale:Reciprocal",
    ):
        path = tmp_path / "run.json"
        convcheck("run", "--backend", backend, *CHOICE, "--case", f"*/{name}", "-o", path)
        [case] = report_at(path)["cases"]
        assert (case["coverage"], case["checked"]) == ("exhaustive", 1 << 32)
        verdicts[backend] = case["verdict"]
        counts[backend] = [g["count"] for g in case["groups"] if g["verdict"] == "fail"]
    assert list(verdicts.values()) == ["tolerated", "fail", "fail"]
    assert [counts["ort"], counts["tests.planted.one_scale:WrongOnce"]] == [[], [1]]
