"""`convcheck model`: a model's conversions, and the facts known of each."""

import json
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from catalogue import CATALOG
from command import convcheck
from onnx import TensorProto, helper
from onnx_models import BFLOAT16, F16, F32, I32, I64, U8, branch, cast, saved, whole_model
from report_json import held_to_schema
from report_runs import CAUSES, answered, case, decision, diagnosed, group, run

from convcheck.documents.encode import text
from convcheck.judge.result import BackendInfo
from convcheck.models.conversions import converting
from convcheck.models.graph import read_model
from convcheck.models.known import _BOUNDS
from convcheck.records import replace

TYPES = CATALOG.types.types


def told(path, *options):
    done = convcheck("model", path, "-o", "-", *options)
    assert done.returncode == 0, done.stderr
    found = held_to_schema("model", json.loads(done.stdout))
    return {one["node"]: one for one in found["conversions"]}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return whole_model(tmp_path_factory.mktemp("model") / "whole.onnx")


def test_conversions_wherever_they_are(whole):
    found = told(whole)
    assert {name: (one["judged"] or {"kind": ""})["kind"] for name, one in found.items()} == {
        "to_byte": "undefined", "any_to_byte": "undefined",
        "if/else_branch/other_cast": "undefined", "if/then_branch/then_cast": "undefined",
        "narrow__1": "defined", "wide__1": "defined",
        "like": "defined", "range": "disputed", "quantize": "undefined", "to_eight": "defined",
        "there": "exact", "back": "defined",
    }  # fmt: skip
    assert found["like"]["cases"] == ["onnx.CastLike-21/int64-float16"]
    assert found["like"]["known"] == {
        "why": "constant",
        "low": None,
        "high": None,
        "values": 2,
        "first": ["0x0000000000000001", "0x0000010000000000"],
    }
    assert found["quantize"]["cases"][0] == "onnx.QuantizeLinear-21/float32-float32-uint8/tensor"
    known = {one["name"]: one["known"] for one in found["range"]["arguments"]}
    assert (known["limit"], known["delta"]["first"]) == (None, ["0x00000001"])
    assert found["to_eight"]["cases"] == ["onnx.Cast-21/float32-to-float8e4m3fn/saturate=0"]


def test_what_the_graph_bounds_does_not_occur(whole):
    found = told(whole)
    rows = {name: [r["row"] for r in found[name]["judged"]["rows"] if r["kind"] == "undefined"]
            for name in ("to_byte", "any_to_byte")}  # fmt: skip
    assert rows["to_byte"] == ["float-to-fixed / nan"]
    assert len(rows["any_to_byte"]) == 3
    assert (found["to_byte"]["known"]["low"], found["to_byte"]["known"]["high"]) == (0, 1)
    assert found["if/then_branch/then_cast"]["known"]["why"] == "Sigmoid"


def test_chains(whole):
    done = convcheck("model", whole)
    assert "chain float16 → float32 → float16: there, back\n      equal, compared" in done.stdout
    assert "chain float32 → float16 → bfloat16" in done.stdout
    assert "different, compared with float32 → bfloat16" in done.stdout


@pytest.mark.parametrize(
    ("to", "values"), [(F32, {}), (TensorProto.FLOAT8E4M3FNUZ, {"saturate": 1})]
)
def test_each_cast_of_a_chain_has_the_attributes_of_its_node(to, values, tmp_path):
    nodes = [cast("there", "x", "e", TensorProto.FLOAT8E5M2, saturate=0),
             cast("on", "e", "y", to, **values)]  # fmt: skip
    done = convcheck("model", saved(tmp_path / "m.onnx", nodes, {"x": F32}), "-o", "-")
    [chain] = json.loads(done.stdout)["chains"]
    assert chain["verdict"] == "different"
    done = convcheck("model", tmp_path / "m.onnx")
    assert "chain float32 → float8e5m2 (saturate=0) → " in done.stdout


def test_an_integer_within_bounds_is_kept(tmp_path):
    clip = helper.make_node("Clip", ["x", "low", "high"], ["c"], name="clip")
    ends = {"low": np.array(0, np.int32), "high": np.array(255, np.int32)}
    path = saved(tmp_path / "m.onnx", [clip, cast("in", "c", "y", U8)], {"x": I32}, ends)
    assert told(path)["in"]["judged"]["kind"] == "exact"
    wider = ends | {"high": np.array(256, np.int32)}
    path = saved(tmp_path / "m.onnx", [clip, cast("in", "c", "y", U8)], {"x": I32}, wider)
    assert told(path)["in"]["judged"]["kind"] == "defined"


def test_a_default_that_may_be_given_is_no_constant(tmp_path):
    one = {"c": np.array([1], np.float32)}
    nodes = [cast("cast", "c", "y", U8)]
    fixed = told(saved(tmp_path / "a.onnx", nodes, {}, one))["cast"]
    assert (fixed["known"]["values"], fixed["judged"]["kind"]) == (1, "exact")
    given = told(saved(tmp_path / "b.onnx", nodes, {"c": F32}, one))["cast"]
    assert (given["known"], given["judged"]["kind"]) == (None, "undefined")


def test_names_of_branches_are_their_own(tmp_path):
    bodies = {
        f"{name}_branch": branch(name, cast(f"{name}_to", "x", "v", kind),
                                 cast(f"{name}_cast", "v", f"{name}_out", I32))
        for name, kind in (("then", F16), ("else", I64))
    }  # fmt: skip
    nodes = [helper.make_node("If", ["f"], ["y"], name="if", **bodies)]
    found = told(saved(tmp_path / "m.onnx", nodes, {"x": F32, "f": TensorProto.BOOL}))
    inputs = {name.rpartition("/")[2]: one["inputs"] for name, one in found.items()}
    assert inputs["then_cast"] == ["float16"]
    assert inputs["else_cast"] == ["int64"]


def test_bodies_of_loops(tmp_path):
    tensors = [helper.make_tensor_value_info(name, kind, [])
               for name, kind in (("i", I64), ("go", TensorProto.BOOL), ("a", F32))]  # fmt: skip
    made = [helper.make_empty_tensor_value_info(name) for name in ("more", "b")]
    nodes = [helper.make_node("Identity", ["go"], ["more"]), cast("down", "a", "h", F16),
             cast("up", "h", "b", F32)]  # fmt: skip
    body = helper.make_graph(nodes, "body", tensors, made)
    loop = helper.make_node("Loop", ["n", "flag", "x"], ["y"], name="loop", body=body)
    inputs = {"n": I64, "flag": TensorProto.BOOL, "x": F32}
    found = told(saved(tmp_path / "m.onnx", [loop], inputs))
    kinds = {name: one["judged"]["kind"] for name, one in found.items()}
    assert kinds == {"loop/body/down": "defined", "loop/body/up": "exact"}


def test_what_meets_again_is_looked_at_once(tmp_path):
    """60 doublings have 2^60 ways back, and 300 casts form a chain without comparison."""
    doubled = [helper.make_node("Concat", [f"c{i}"] * 2, [f"c{i + 1}"], axis=0) for i in range(60)]
    start = helper.make_node("Relu", ["x"], ["c0"], name="relu")
    path = saved(tmp_path / "m.onnx", [start, *doubled, cast("in", "c60", "y", U8)], {"x": F32})
    assert told(path)["in"]["known"]["low"] == 0
    casts = [cast(f"n{i}", f"t{i}", f"t{i + 1}", (F16, F32)[i % 2]) for i in range(300)]
    done = convcheck("model", saved(tmp_path / "c.onnx", casts, {"t0": F32}))
    assert "… 293 more …" in done.stdout
    assert "not compared with the direct cast: too long" in " ".join(done.stdout.split())


def test_what_is_not_known_is_said(tmp_path):
    nodes = [helper.make_node("Strange", ["x"], ["s"], domain="own"), cast("cast", "s", "y", F16)]
    assert told(saved(tmp_path / "m.onnx", nodes, {"x": F32}))["cast"]["why_not"] == (
        "its types are not known"
    )
    external = saved(tmp_path / "e.onnx", [cast("cast", "c", "y", U8)], {},
                     {"c": np.zeros(1000, np.float32)})  # fmt: skip
    model = onnx.load(str(external))
    onnx.save(model, str(external), save_as_external_data=True, location="gone.bin",
              size_threshold=0)  # fmt: skip
    (tmp_path / "gone.bin").unlink()
    found = told(external)["cast"]
    assert (found["known"], found["judged"]["kind"]) == (None, "undefined")


def test_models_of_packages_are_read():
    folders = [Path(onnx.__file__).parent / "backend" / "test" / "data",
               Path(onnxruntime.__file__).parent / "datasets"]  # fmt: skip
    paths = [path for folder in folders for path in sorted(folder.rglob("*.onnx"))]
    assert len(paths) > 50
    for path in paths:
        graph = read_model(str(path), TYPES)
        assert graph.nodes, path
        assert not [node for node in converting(graph, CATALOG) if node.domain]


def test_data(whole, tmp_path):
    data = tmp_path / "data.npz"
    np.savez(data, x=np.array([[1, 2], [300, np.nan]], np.float32), s=np.zeros(3, np.float32))
    found = told(whole, "--data", data)
    kinds = {row["kind"]: row["count"] for row in found["any_to_byte"]["occurred"]["rows"]}
    assert kinds["undefined"] == 1
    assert found["any_to_byte"]["occurred"]["every"]
    assert found["to_byte"]["occurred"]["kind"] == "exact"
    assert "occurred" not in found["there"]
    done = convcheck("model", whole, "--data", data)
    assert "in the data, every number is kept: of 1 different value, 1 exact" in done.stdout


def report(path, name, verdict, row, digest="a"):
    by, kind = decision("float-to-float8", row, 117), "odd" if verdict == "fail" else ""
    found = replace(group(by, verdict, kind, (4, 9)), digest=digest * 32)
    eight = case("onnx.Cast-21", "float32", "float8e4m3fn", saturate=0)
    made = replace(run(answered(eight, found)), backend=BackendInfo(name, f"{name} 1.0", name))
    path.write_text(text(made))
    return path


def test_reports(whole, tmp_path):
    beyond = report(tmp_path / "a.json", "mine", "fail", "[x] > max")
    within = report(tmp_path / "b.json", "other", "fail", "else")
    right = report(tmp_path / "c.json", "third", "pass", "else", "c")
    options = [word for path in (beyond, within, right) for word in ("--report", path)]
    one = told(whole, *options)["to_eight"]
    assert [(b["name"], b["verdict"], b["fails"]) for b in one["backends"]] == [
        ("mine 1.0", "fail", False), ("other 1.0", "fail", True), ("third 1.0", "pass", False),
    ]  # fmt: skip
    assert {"backends": "other 1.0, third 1.0", "row": "float-to-float8 / else"} in one["differ"]
    done = convcheck("model", whole, *options, "--to", "mine", "--to", "third")
    assert "mine 1.0: fail, on no input that can occur" in done.stdout
    assert "other 1.0" not in done.stdout


def test_the_cause_of_a_failure_takes_the_place_of_its_rows(tmp_path):
    short = case("onnx.Cast-21", "float32", "bfloat16")
    made = run(diagnosed(short, 980, ("toward-zero",)), causes=CAUSES)
    path = tmp_path / "r.json"
    path.write_text(text(made))
    model = saved(tmp_path / "m.onnx", [cast("cast", "x", "y", BFLOAT16)], {"x": F32})
    [backend] = told(model, "--report", path)["cast"]["backends"]
    assert backend["causes"] == ["rounds towards zero (toward-zero)"]
    done = convcheck("model", model, "--report", path)
    assert "rounds towards zero" in done.stdout
    assert backend["rows"][0]["row"] not in done.stdout


@pytest.mark.parametrize("content", [b"", b"not a model\n", b'{"format": "convcheck-report/2"}',
                                     b"\x00" * 64, b"\x08\x0a"])  # fmt: skip
def test_no_model(tmp_path, content):
    path = tmp_path / "m.onnx"
    path.write_bytes(content)
    done = convcheck("model", path, "-o", tmp_path / "out.json")
    assert (done.returncode, done.stdout) == (2, "")
    assert "is no ONNX model" in done.stderr
    assert "hint: an ONNX model, as `onnx.save` writes it" in done.stderr
    assert not (tmp_path / "out.json").exists()


def test_other_bad_input(whole, tmp_path):
    np.savez(tmp_path / "name.npz", nothing=np.zeros(1))
    np.savez(tmp_path / "type.npz", x=np.zeros(1, np.int8))
    np.savez(tmp_path / "object.npz", x=np.array([{}], object))
    (tmp_path / "text.npz").write_text("x")
    mine = report(tmp_path / "a.json", "mine", "pass", "else")
    said = {
        ("--data", tmp_path / "none.npz"): "cannot read",
        ("--data", tmp_path / "name.npz"): "no tensor 'nothing'",
        ("--data", tmp_path / "type.npz"): "the array 'x' of int8 is not of float32",
        ("--data", tmp_path / "object.npz"): "is no .npz file of numbers",
        ("--data", tmp_path / "text.npz"): "is no .npz file of numbers",
        ("--to", "ort"): "--to chooses among reports, and there is none",
        ("--report", mine, "--to", "minee"): "no report is of minee\n  hint: did you mean mine",
        ("--report", whole): "cannot read",
    }
    for options, message in said.items():
        done = convcheck("model", whole, *options)
        assert (done.returncode, done.stdout) == (2, ""), options
        assert message in done.stderr
        assert "hint: " in done.stderr
    assert "cannot read" in convcheck("model", tmp_path / "no.onnx").stderr


@pytest.mark.parametrize("op", _BOUNDS)
def test_bounds_of_operators_hold(op):
    from onnx.reference import ReferenceEvaluator

    x = np.array([0, -0.0, 1, -1, 1e-45, 3.4e38, -3.4e38, np.inf, -np.inf, 0.5, 7], np.float32)
    node = helper.make_node(op, ["x"], ["y"])
    given = helper.make_tensor_value_info("x", F32, [len(x)])
    graph = helper.make_graph([node], "g", [given], [helper.make_empty_tensor_value_info("y")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    with np.errstate(all="ignore"):
        [y] = ReferenceEvaluator(model).run(None, {"x": x})
    low, high = _BOUNDS[op]
    inside = np.isnan(y) | ((y >= low) & (y <= high))
    assert np.all(inside), (op, y)
