"""Build ONNX models from cases, for any operator."""

import json
import re
from collections.abc import Iterator, Sequence
from functools import cache, partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from convcheck.backends.packing import pack, too_large
from convcheck.backends.protocol import Declined, Outputs, Oversized
from convcheck.numerics.format import Text
from convcheck.numerics.number import Bits, Codes
from convcheck.rules.cases import fixed_tensors
from convcheck.rules.model import Case, DType, Spec, Value

if TYPE_CHECKING:
    from onnx import GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto


WORLD = "onnx"


def cannot_ask(case: Case) -> Declined | None:
    """Return why a case has no ONNX model: another standard's operator, or an unknown type."""
    if not is_of(WORLD, case):
        return Declined(f"{case.op} is not an ONNX operator", missing=True)
    casts = case.hops or (case,)
    for dtype in (t for one in casts for t in (*one.inputs, *one.outputs)):
        if not _number(dtype.name_in(WORLD)):
            return Declined(f"the installed onnx package has no type {dtype}", missing=True)
    return None


def is_of(world: str, spec: Spec | Case) -> bool:
    """Return whether an operator belongs to a family, such as onnx."""
    return spec.op.partition(".")[0] == world


is_of_onnx = partial(is_of, WORLD)


def tensor_type_number(dtype: DType) -> int:
    """Return a type's number in TensorProto.DataType."""
    return _number(dtype.name_in(WORLD))


def input_names(case: Case) -> list[str]:
    """Return the names of the graph's inputs."""
    return [f"x{i}" for i in range(len(case.inputs))]


def output_names(case: Case) -> list[str]:
    """Return the names of the graph's outputs."""
    return [f"y{i}" for i in range(len(case.outputs))]


def node_constants(case: Case) -> list[list[tuple[str, DType, Bits]]]:
    """Return the constant inputs of each node of a chain: name, type and code."""
    return [
        [
            (f"c{i}_{n}", dtype, bits)
            for n, (dtype, bits) in enumerate(
                zip(hop.inputs[1:], fixed_tensors(hop), strict=True), 1
            )
        ]
        for i, hop in enumerate(case.hops)
    ]


def build(case: Case, constants: Sequence[Bits] = ()) -> "ModelProto":
    """Build the model of a node or a chain, with the spec's version as opset.

    Graph inputs have no shape. The runtime checks what ONNX forbids.
    """
    model = _empty_model(case.version)
    if case.hops:
        _set_chain(model.graph, case)
    else:
        node = model.graph.node.add(op_type=case.op.partition(".")[2])
        node.input.extend(input_names(case))
        node.output.extend(output_names(case))
        _set_attributes(node, case)
        _declare(model.graph, case)
    if constants:
        del model.graph.input[:]
        for name, dtype, bits in zip(input_names(case), case.inputs, constants, strict=True):
            model.graph.initializer.append(tensor_of(name, dtype, bits))
    return model


def build_ranked(case: Case, ranks: Sequence[int], constants: Sequence[Bits] = ()) -> "ModelProto":
    """Build the model with symbolic dimensions and inferred outputs. Raises like onnx."""
    from onnx import shape_inference

    model = build(case, constants)
    for value, rank in zip(model.graph.input, ranks, strict=False):
        stated = value.type.tensor_type.shape
        stated.SetInParent()  # a scalar has a shape without dimensions
        for i in range(rank):
            stated.dim.add(dim_param=f"{value.name}d{i}")
    return shape_inference.infer_shapes(model)


def text_of(case: Case, ranks: Sequence[int] = ()) -> str:
    """Return the model in ONNX's text syntax, without constants, with the inputs' ranks."""
    from onnx.printer import to_text

    model = build(case)
    model.graph.name = "repro"
    del model.graph.initializer[:]
    for value, rank in zip(model.graph.input, ranks, strict=False):
        shape = value.type.tensor_type.shape
        shape.SetInParent()  # a scalar has a shape without dimensions
        for _ in range(rank):
            shape.dim.add()
    return str(to_text(model))


def _set_chain(graph: "GraphProto", case: Case) -> None:
    middle = [f"h{i}" for i in range(1, len(case.hops))]
    names = [*input_names(case), *middle, *output_names(case)]
    nodes = zip(case.hops, pairwise(names), node_constants(case), strict=True)
    for hop, (before, after), constants in nodes:
        node = graph.node.add(op_type=hop.op.partition(".")[2], input=[before], output=[after])
        for name, dtype, bits in constants:
            node.input.append(name)
            graph.initializer.append(tensor_of(name, dtype, bits))
        _set_attributes(node, hop)
    _declare(graph, case)
    if ("middle", "exposed") in case.setting:
        for name, hop in zip(middle, case.hops, strict=False):
            number = tensor_type_number(hop.outputs[0])
            graph.output.add(name=name).type.tensor_type.elem_type = number


def tensor_of(name: str, dtype: DType, bits: Bits) -> "TensorProto":
    """Return a named tensor of codes or texts."""
    from onnx import TensorProto

    tensor = TensorProto(name=name, dims=bits.shape, data_type=tensor_type_number(dtype))
    if isinstance(dtype.format, Text):
        tensor.string_data.extend(str(text).encode() for text in bits.reshape(-1))
    else:
        tensor.raw_data = pack(dtype.format, cast(Codes, bits)).tobytes()
    return tensor


@cache
def _number(name: str) -> int:
    from onnx import TensorProto

    numbers: dict[str, int] = dict(TensorProto.DataType.items())
    return numbers.get(name, 0)


@cache
def _ir_version(opset: int) -> int:
    from onnx import helper

    ids = [helper.make_opsetid("", opset)]
    return int(helper.find_min_ir_version_for(ids, ignore_unknown=True))


def _empty_model(opset: int) -> "ModelProto":
    from onnx import ModelProto

    model = ModelProto(ir_version=_ir_version(opset))
    model.opset_import.add(domain="", version=opset)
    model.graph.name = "convcheck"
    return model


def _set_attributes(node: "NodeProto", case: Case) -> None:
    for name, value in case.given:
        _set_attribute(node, name, value)
    for name, kind in case.carried:
        output = case.outputs[0]
        carried = tensor_type_number(output) if kind == "int" else output.name_in(WORLD)
        _set_attribute(node, name, carried)


def _set_attribute(node: "NodeProto", name: str, value: Value) -> None:
    from onnx import AttributeProto

    if isinstance(value, int):
        node.attribute.add(name=name, type=AttributeProto.INT, i=value)
    else:
        node.attribute.add(name=name, type=AttributeProto.STRING, s=value.encode())


def _declare(graph: "GraphProto", case: Case) -> None:
    for name, dtype in zip(input_names(case), case.inputs, strict=True):
        graph.input.add(name=name).type.tensor_type.elem_type = tensor_type_number(dtype)
    for name, dtype in zip(output_names(case), case.outputs, strict=True):
        graph.output.add(name=name).type.tensor_type.elem_type = tensor_type_number(dtype)


_TEXT_KINDS = "OU"  # numpy's kinds of object and fixed-width text arrays


def to_array(dtype: DType, bits: Bits) -> NDArray[Any]:
    """View codes as onnx's numpy type."""
    if isinstance(dtype.format, Text):
        return bits
    codes = np.asarray(bits, dtype.format.storage, order="C")
    return codes.view(_numpy_type(dtype))


def plain_bits(dtype: DType, shape: tuple[int, ...]) -> Bits:
    """Return a small value of any format: the text "1", or code 1."""
    value = "1" if isinstance(dtype.format, Text) else 1
    return np.full(shape, value, dtype.format.storage)


def to_answer(
    case: Case, results: Sequence[NDArray[Any]], inputs: Sequence[Bits], signless: bool = False
) -> Outputs | Oversized:
    """Return arrays as an answer, without outputs beyond the case's.

    Integers that are `signless` take the sign that the graph declares.
    """
    due = [*case.outputs, *case.inputs]
    own = results[: len(case.outputs)]
    if signless:
        pairs = zip(own, case.outputs, strict=False)
        own = [_signed(array, _numpy_type(dtype)) for array, dtype in pairs]
    names = tuple(next((t.name for t in due if _is_of(a, t)), str(a.dtype)) for a in own)
    if any(too_large(array.shape, inputs) for array in own):
        return Oversized(tuple(array.shape for array in own), names)
    return Outputs(tuple(map(_codes, own)), names)


def _codes(array: NDArray[Any]) -> Bits:
    if array.dtype.kind in _TEXT_KINDS:
        return array.astype(object)
    return array.view(f"u{array.dtype.itemsize}")


def _signed(array: NDArray[Any], due: np.dtype[Any]) -> NDArray[Any]:
    both = array.dtype.kind + due.kind
    alike = both in ("iu", "ui") and array.dtype.itemsize == due.itemsize
    return array.view(due) if alike else array


def _is_of(array: NDArray[Any], dtype: DType) -> bool:
    if isinstance(dtype.format, Text):
        return array.dtype.kind in _TEXT_KINDS
    return array.dtype == _numpy_type(dtype)


def _numpy_type(dtype: DType) -> np.dtype[Any]:
    from onnx import helper

    return np.dtype(helper.tensor_dtype_to_np_dtype(tensor_type_number(dtype)))


DataSet = tuple[Sequence[Bits], Sequence[Bits]]  # inputs and outputs, in their shapes
_EXACTLY = json.dumps({"rtol": 0, "atol": 0}) + "\n"


def test_files(case: Case, data_sets: Sequence[DataSet]) -> Iterator[tuple[str, bytes]]:
    """Yield a test's files as (name, content), the model first."""
    name = "test_" + re.sub(r"\W+", "_", case.id).lower()
    model = build(case)
    model.producer_name = "convcheck"
    model.doc_string = case.id
    for values, which in ((model.graph.input, 0), (model.graph.output, 1)):
        for i, value in enumerate(values):
            _state_shape(value, {one[which][i].shape for one in data_sets})
    yield f"{name}/model.onnx", model.SerializeToString()
    yield f"{name}/data.json", _EXACTLY.encode()
    for number, (inputs, outputs) in enumerate(data_sets):
        folder = f"{name}/test_data_set_{number}"
        for kind, names, types, tensors in (
            ("input", input_names(case), case.inputs, inputs),
            ("output", output_names(case), case.outputs, outputs),
        ):
            for i, (label, dtype, bits) in enumerate(zip(names, types, tensors, strict=True)):
                content = tensor_of(label, dtype, bits).SerializeToString()
                yield f"{folder}/{kind}_{i}.pb", content


def _state_shape(value: "ValueInfoProto", shapes: set[tuple[int, ...]]) -> None:
    """Set the rank, which ONNX's checker needs, and dimensions that all data sets share."""
    if len({len(shape) for shape in shapes}) != 1:
        return
    stated = value.type.tensor_type.shape
    stated.SetInParent()  # a scalar has a shape without dimensions
    for sizes in zip(*shapes, strict=True):
        dimension = stated.dim.add()
        if len(set(sizes)) == 1:
            dimension.dim_value = sizes[0]
