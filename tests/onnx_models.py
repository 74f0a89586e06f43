"""Make ONNX models with conversions in graphs, bodies and functions."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

F32, F16, I32, I64, U8, BOOL = (
    TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.INT32, TensorProto.INT64,
    TensorProto.UINT8, TensorProto.BOOL,
)  # fmt: skip
BFLOAT16, E4M3 = TensorProto.BFLOAT16, TensorProto.FLOAT8E4M3FN


def cast(name, given, made, to, **more):
    return helper.make_node("Cast", [given], [made], name=name, to=to, **more)


def saved(path, nodes, inputs, constants=None, opset=21, **more):
    tensors = [numpy_helper.from_array(v, name) for name, v in (constants or {}).items()]
    given = [helper.make_tensor_value_info(name, kind, ["n"]) for name, kind in inputs.items()]
    made = helper.make_empty_tensor_value_info(nodes[-1].output[0])
    graph = helper.make_graph(nodes, "g", given, [made], initializer=tensors)
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("own", 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=10, **more)
    onnx.save(model, str(path))
    return path


def branch(name, *nodes):
    made = helper.make_empty_tensor_value_info(nodes[-1].output[0])
    return helper.make_graph(nodes, name, [], [made])


def whole_model(path):
    own = helper.make_function(
        "own", "Twice", ["a"], ["c"],
        [cast("narrow", "a", "b", F16), cast("wide", "b", "c", BFLOAT16)],
        [helper.make_opsetid("", 21)],
    )  # fmt: skip
    then, other = (
        branch(name, cast(f"{name}_cast", given, f"{name}_out", I32))
        for name, given in (("then", "s"), ("other", "x"))
    )
    nodes = [
        helper.make_node("Sigmoid", ["x"], ["s"], name="sigmoid"),
        cast("to_byte", "s", "byte", U8),
        cast("any_to_byte", "x", "byte2", U8),
        helper.make_node("If", ["flag"], ["i"], name="if", then_branch=then, else_branch=other),
        helper.make_node("Twice", ["x"], ["t"], name="call", domain="own"),
        helper.make_node("CastLike", ["big", "h"], ["like"], name="like"),
        helper.make_node("Range", ["zero", "n", "one"], ["r"], name="range"),
        helper.make_node("QuantizeLinear", ["x", "scale", "point"], ["q"], name="quantize"),
        helper.make_node("Clip", ["x", "low", "high"], ["clipped"], name="clip"),
        cast("to_eight", "clipped", "eight", E4M3, saturate=0),
        cast("there", "h", "h32", F32),
        cast("back", "h32", "h16", F16),
        helper.make_node("Cast", ["x"], ["other_domain"], name="foreign", domain="own", to=F16),
        helper.make_node("Identity", ["h16"], ["out"], name="last"),
    ]
    constants = {
        "big": np.array([1, 2**40], np.int64), "zero": np.array(0, np.int32),
        "one": np.array(1, np.int32), "scale": np.array(0.1, np.float32),
        "point": np.array(3, np.uint8), "low": np.array(-2, np.float32),
        "high": np.array(2, np.float32),
    }  # fmt: skip
    inputs = {"x": F32, "h": F16, "flag": BOOL, "n": I32}
    return saved(path, nodes, inputs, constants, functions=[own])
