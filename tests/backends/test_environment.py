import ast
import sys
import venv
from pathlib import Path

import numpy as np
import pytest
from catalogue import CATALOG
from command import convcheck, report_at, told
from library_cases import named, report_of
from old_environment import RELEASE, old_environment
from planted.releases import plant
from report_json import several

from convcheck.backends.process.backend import RUNTIMES
from convcheck.backends.process.environment import SERVER, Environment
from convcheck.backends.protocol import Declined, Outputs, Oversized, Refused, takes
from convcheck.rules.cases import cases

HERE = f"{sys.executable}:ort"
FLOAT8 = ("--from", "float32", "--to", "float8e4m3fnuz", "--where", "saturate=0")


@pytest.fixture(scope="session")
def old(tmp_path_factory):
    return old_environment(tmp_path_factory.getbasetemp().parent)


def test_the_same_release_answers_the_same():
    """Texts and narrow types both ways, promotions, sequences, refusals, missing kernels."""
    chosen = [
        *named("onnx.Cast-21", "float32-to-float8e4m3fn/saturate=0", "int4-to-float16",
            "float64-to-uint4", "string-to-float32", "float32-to-string", "string-to-string",
            "string-to-bfloat16", "bfloat16-to-string", "float8e5m2-to-int4"),
        *named("onnx.Cast-25", "float32-to-int2", "bool-to-int2"),
        *named("onnx.Cast-9", "string-to-float32"),
        *list(cases(CATALOG.specs["onnx.CastLike-15"]))[5:6],
        *list(cases(CATALOG.specs["onnx.Range-11"]))[:2],
        *list(cases(CATALOG.specs["openvino.Range-4"]))[:1],
    ]  # fmt: skip
    direct = report_of("ort", chosen)
    assert {"fail", "pass", "unsupported"} <= {it["verdict"] for it in direct["cases"]}
    assert report_of(f"env:{HERE}", chosen) == direct


def every(spec, step):
    return list(cases(CATALOG.specs[spec]))[5::step]


@pytest.mark.parametrize("variant", ["openvino", "openvino:const"])
def test_openvino_answers_the_same(variant):
    pytest.importorskip("openvino")
    chosen = [
        *named("openvino.Convert-1", "float32-to-int8", "float16-to-float8e5m2", "int4-to-float32",
            "uint8-to-int4", "bool-to-bfloat16", "bool-to-uint1", "uint1-to-float32",
            "int32-to-float32", "uint32-to-float32"),
        *named("onnx.Cast-13", "float32-to-float16", "float64-to-uint8"),
        *every("openvino.ConvertPromoteTypes-14", 9001), *every("openvino.FakeConvert-13", 200),
        *named("onnx.Cast-21", "float32-to-int4"),
    ]  # fmt: skip
    if variant == "openvino:const":  # which compiles a model for each call
        chosen = chosen[:4]
    assert report_of(f"env:{sys.executable}:{variant}", chosen) == report_of(variant, chosen)


def test_torch_answers_the_same():
    pytest.importorskip("torch")
    chosen = [
        *named("onnx.Cast-21", "float32-to-float8e4m3fn/saturate=0", "float64-to-float16",
            "float32-to-uint16", "bool-to-bfloat16", "string-to-float32", "int8-to-int4"),
        *every("openvino.ConvertPromoteTypes-14", 9001), *every("openvino.Range-4", 150),
        *every("onnx.Range-11", 10),
    ]  # fmt: skip
    assert report_of(f"env:{sys.executable}:torch", chosen) == report_of("torch", chosen)


@pytest.mark.parametrize(("runtime", "message", "missing"), [
    ("torch", "\"arange_cpu\" not implemented for 'Float8_e4m3fn'", True),
    ("torch", "upper bound and larger bound inconsistent with step sign", False),
    ("openvino", "cpu_convert can't convert from: i8 precision to: i4", True),
])  # fmt: skip
def test_a_kernel_that_is_missing_is_no_refusal(runtime, message, missing):
    due = Declined(message, missing=True) if missing else Refused(message)
    assert RUNTIMES[runtime].heard(Refused(message)) == due


def test_two_releases_side_by_side(old):
    path = old.parent.parent / "both.json"
    done = convcheck("run", "--backend", f"env:{old}:ort", "--backend", f"env:{HERE}",
                     "onnx.Cast-19", *FLOAT8, "-o", path, "--no-progress")  # fmt: skip
    assert done.returncode == 1, done.stderr
    first, second = map(told, several(path.read_text()))
    assert first["backend"]["version"].startswith(f"onnxruntime {RELEASE.version}, CPU")
    rows = [
        {g["row"] for g in only["cases"][0]["groups"] if g["verdict"] == "fail"}
        for only in (first, second)
    ]
    assert "[x] = -0" in rows[0]
    assert "[x] = -0" not in rows[1]


def test_a_model_that_does_not_load_is_declined_each_time():
    """In 1.15.1 such models raised errors when they were retried with other shapes."""
    (chosen,) = named("onnx.Cast-21", "float32-to-float4e2m1")
    backend = Environment(HERE, catalog=CATALOG)
    for shape in (2, 2, 3):
        answer = backend.answer(chosen, [np.zeros(shape, np.uint32)])
        assert isinstance(answer, Declined)
        assert "NOT_IMPLEMENTED" in answer.message


def test_a_large_answer_is_not_sent(monkeypatch):
    monkeypatch.setenv("CONVCHECK_MAX_ELEMENTS", "50")
    ranges = [c for c in cases(CATALOG.specs["onnx.Range-11"]) if c.inputs[0].name == "int32"]
    backend = Environment(HERE, catalog=CATALOG)
    inputs = [np.array(n, np.uint32) for n in (0, 51, 1)]
    assert backend.answer(ranges[0], inputs) == Oversized(((51,),), ("int32",))
    inputs[1] = np.array(50, np.uint32)
    assert isinstance(backend.answer(ranges[0], inputs), Outputs)


def planted_run(how, tmp_path):
    program, path = plant(tmp_path, "1", how), tmp_path / "run.json"
    convcheck("run", "--backend", f"env:{program}:ort", "onnx.Cast-13", "--from", "int8", "--to",
              "int16", "--timeout", 2 if how == "hangs" else 60, "-o", path)  # fmt: skip
    return report_at(path)["cases"]


@pytest.mark.parametrize(
    ("how", "verdict"),
    [("fine", "pass"), ("lies", "fail"), ("dies", "crashed"), ("hangs", "crashed")],
)
def test_who_dies_or_hangs_costs_its_own_value(how, verdict, tmp_path):
    (found,) = planted_run(how, tmp_path)
    assert found["verdict"] == verdict
    blamed = {
        tuple(words) for group in found["groups"] if group["verdict"] == verdict != "pass"
        for words in group["ranges"]
    }  # fmt: skip
    assert blamed == ({("0x07", "0x07")} if how != "fine" else set())


def test_a_fault_of_the_server_is_no_refusal(tmp_path):
    (found,) = planted_run("raises", tmp_path)
    assert found["verdict"] == "error"


def test_an_answer_of_a_type_that_no_spec_has_is_wrong(tmp_path):
    """It is the runtime's fault, not convcheck's. An example is complex32 of torch 2.1.2."""
    (found,) = planted_run("strange", tmp_path)
    assert {(g["verdict"], g["kind"]) for g in found["groups"]} == {("fail", "wrong type")}
    (example,) = found["groups"][0]["examples"][:1]
    assert "int16x, not int16" in example["message"]


def test_a_run_asks_the_specs_of_what_it_stands_for():
    found = {
        spec.op.partition(".")[0] for spec in CATALOG.specs.values() if takes(f"env:{HERE}", spec)
    }
    assert found == {"onnx"}


def test_the_server_is_one_file_for_old_pythons():
    printed = convcheck("backend", "serve", "--standalone")
    assert printed.returncode == 0
    assert printed.stdout == SERVER.read_text()
    tree = ast.parse(printed.stdout, feature_version=(3, 8))
    names = {a.name for node in ast.walk(tree) if isinstance(node, ast.Import) for a in node.names}
    names |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    tops = {name.partition(".")[0] for name in names}
    assert tops - sys.stdlib_module_names == {"numpy", "onnxruntime", "torch"}


@pytest.mark.parametrize(("address", "code", "says"), [
    ("env:nonesuch/bin/python:ort", 2, "nonesuch/bin/python does not exist"),
    (f"env:{Path(sys.executable).parent}:ort", 2, "is a folder"),
    (f"env:{sys.executable}:tflite", 2, "does not say which Python and which runtime"),
    (f"env:{sys.executable}", 2, "does not say which Python and which runtime"),
    (f"env:{sys.executable}:ort:NoProvider", 4, "has no NoProvider"),
    ("env:/bin/false:ort", 4, "exited with status 1"),
])  # fmt: skip
def test_what_cannot_be_asked_is_said(address, code, says):
    done = convcheck("run", "--backend", address, "onnx.Cast-19", *FLOAT8)
    assert done.returncode == code
    assert says in done.stderr
    assert "hint: " in done.stderr or code == 4


def test_a_python_without_the_runtime(tmp_path):
    venv.create(tmp_path / "empty", with_pip=False, symlinks=True)
    python = tmp_path / "empty" / "bin" / "python"
    done = convcheck("run", "--backend", f"env:{python}:ort", "onnx.Cast-19", *FLOAT8)
    assert done.returncode == 4
    assert "numpy is not installed there" in done.stderr
    assert f"hint: {python} -m pip install onnxruntime" in done.stderr
