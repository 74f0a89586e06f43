"""ONNX's own definitions: function bodies, and source files of its package."""

from pathlib import Path

import onnx
from onnx import FunctionProto, helper

SOURCES = "https://github.com/onnx/onnx/blob/main/onnx/"


def source_file(url):
    return (Path(onnx.__file__).parent / url.removeprefix(SOURCES)).read_text("utf-8")


def has_body(spec):
    schema = onnx.defs.get_schema(spec.op.partition(".")[2], spec.version, "")
    return bool(schema.has_function or schema.has_context_dependent_function)


def bodies(op, version, types, attributes):
    schema = onnx.defs.get_schema(op, version, "")
    if schema.has_function:
        sets = schema.function_opset_versions
        made = [schema.get_function_with_opset_version(opset) for opset in sets]
        return [FunctionProto.FromString(body) for body in made]
    names = [each.name for each in schema.inputs]
    node = helper.make_node(op, names, ["output"], **attributes).SerializeToString()
    protos = [helper.make_tensor_type_proto(each, []).SerializeToString() for each in types]
    make = schema.get_context_dependent_function_with_opset_version
    made = (make(o, node, protos) for o in schema.context_dependent_function_opset_versions)
    return [FunctionProto.FromString(body) for body in made if body]
