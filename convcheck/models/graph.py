"""Read the nodes and types of an ONNX file. Ignores external data."""

import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from convcheck.errors import UsageError
from convcheck.files import read_file
from convcheck.numerics.format import Text
from convcheck.numerics.number import Bits
from convcheck.rules.model import DType, Value

if TYPE_CHECKING:
    from onnx import GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto


MOST = (1 << 31) - 1  # bytes of a protocol buffer
STANDARD = ("", "ai.onnx")  # the domain of ONNX's own operators
_HINT = "an ONNX model, as `onnx.save` writes it: MODEL.onnx"


@dataclass(eq=False)
class Scope:
    """A graph or subgraph."""

    path: str  # '' for the model's graph, LOOP/body/ for a body
    outer: "Scope | None"
    #: None if unknown, or no tensor
    types: dict[str, DType | None] = field(default_factory=dict)
    shapes: dict[str, tuple[int | None, ...]] = field(default_factory=dict)
    constants: "dict[str, TensorProto]" = field(default_factory=dict)  # with values in the file
    makers: "dict[str, ModelNode]" = field(default_factory=dict)
    given: set[str] = field(default_factory=set)
    found: dict[str, Any] = field(default_factory=dict)  # cache of known values

    def holder(self, name: str) -> "Scope | None":
        """Return the innermost graph with this tensor."""
        known = (self.types, self.constants, self.makers, self.given)
        if any(name in one for one in known):
            return self
        return self.outer.holder(name) if self.outer else None

    def type_of(self, name: str) -> DType | None:
        """Return a tensor's type, if known."""
        at = self.holder(name)
        return at.types.get(name) if at else None

    def shape_of(self, name: str) -> tuple[int | None, ...] | None:
        """Return a tensor's dimensions, if known."""
        at = self.holder(name)
        return at.shapes.get(name) if at else None


@dataclass(frozen=True, eq=False)
class ModelNode:
    """A node."""

    name: str  # its name, or its first output
    op: str  # without domain
    domain: str  # '' for ONNX
    inputs: tuple[str, ...]  # '' for an omitted input
    outputs: tuple[str, ...]
    attributes: Mapping[str, Value | float]  # integers, texts and floats only
    scope: Scope

    @property
    def path(self) -> str:
        """Its path and name."""
        return self.scope.path + self.name


@dataclass(frozen=True)
class ModelGraph:
    """The nodes of a model."""

    nodes: tuple[ModelNode, ...]  # nodes of subgraphs follow the node with the subgraph
    opset: int  # 0 for none
    functions: int
    remarks: tuple[str, ...]


def read_model(path: str, types: Mapping[str, DType]) -> ModelGraph:
    """Read a model. Raises UsageError for an invalid file."""
    model = _parsed(path)
    functions, remarks = len(model.functions), list[str]()
    model = _typed(_inlined(model, remarks), remarks)
    opsets = [one.version for one in model.opset_import if one.domain in STANDARD]
    nodes = _Reader(types, model).graph(model.graph, Scope("", None))
    return ModelGraph(tuple(nodes), max(opsets, default=0), functions, tuple(remarks))


def _parsed(path: str) -> "ModelProto":
    from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
    from onnx import load_model_from_string

    try:
        model = load_model_from_string(read_file(Path(path), MOST))
    except OSError as error:
        said = f"cannot read {path}: {error.strerror or error}"
        raise UsageError(said, hint=_HINT) from None
    except (DecodeError, ValueError) as error:
        raise UsageError(f"{path} is no ONNX model: {error}", hint=_HINT) from None
    if not model.ir_version or not (model.graph.node or model.graph.output):
        raise UsageError(f"{path} is no ONNX model: it has no graph", hint=_HINT)
    return model


def _inlined(model: "ModelProto", remarks: list[str]) -> "ModelProto":
    from onnx import inliner

    if not model.functions:
        return model
    try:
        return inliner.inline_local_functions(model)
    except Exception as error:
        remarks.append(f"local functions are left out: {_first_line(error)}")
        return model


def _typed(model: "ModelProto", remarks: list[str]) -> "ModelProto":
    from onnx import shape_inference

    try:
        return shape_inference.infer_shapes(model, data_prop=True)
    except Exception as error:
        remarks.append(f"types were not inferred, only those that the file has are known: "
                       f"{_first_line(error)}")  # fmt: skip
        return model


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


class _Reader:
    def __init__(self, types: Mapping[str, DType], model: "ModelProto") -> None:
        from onnx import TensorProto

        names, self._model = TensorProto.DataType, model
        self._types = {
            names.Value(name): dtype for dtype in types.values()
            if (name := dtype.name_in("onnx")) in names.keys()  # noqa: SIM118 of protobuf
        }  # fmt: skip

    def graph(self, graph: "GraphProto", scope: Scope) -> Iterator[ModelNode]:
        for one in (*graph.input, *graph.value_info, *graph.output):
            self._tell(one, scope)
        scope.given |= {one.name for one in graph.input}
        for tensor in graph.initializer:
            scope.types[tensor.name] = self._types.get(tensor.data_type)
            scope.shapes[tensor.name] = tuple(tensor.dims)
            if tensor.name not in scope.given:  # otherwise it is a default
                scope.constants[tensor.name] = tensor
        for proto in graph.node:
            yield from self._node(proto, scope)

    def _tell(self, one: "ValueInfoProto", scope: Scope) -> None:
        tensor = one.type.tensor_type
        scope.types[one.name] = self._types.get(tensor.elem_type)
        if tensor.HasField("shape"):
            scope.shapes[one.name] = tuple(
                dim.dim_value if dim.HasField("dim_value") else None for dim in tensor.shape.dim
            )

    def _node(self, proto: "NodeProto", scope: Scope) -> Iterator[ModelNode]:
        from onnx import AttributeProto

        name = proto.name or next(iter(proto.output), proto.op_type)
        kinds = {AttributeProto.INT: "i", AttributeProto.FLOAT: "f", AttributeProto.STRING: "s"}
        values = {a.name: getattr(a, kinds[a.type]) for a in proto.attribute if a.type in kinds}
        plain = {k: v.decode(errors="replace") if isinstance(v, bytes) else v
                 for k, v in values.items()}  # fmt: skip
        domain = "" if proto.domain in STANDARD else proto.domain
        inputs, outputs = tuple(proto.input), tuple(proto.output)
        node = ModelNode(name, proto.op_type, domain, inputs, outputs, plain, scope)
        scope.makers.update(dict.fromkeys(node.outputs, node))
        tensors = [a.t for a in proto.attribute if a.type == AttributeProto.TENSOR]
        if tensors and not (proto.input or domain):
            scope.constants.update(dict.fromkeys(node.outputs[:1], tensors[0]))
        yield node
        for attribute in proto.attribute:
            if attribute.type == AttributeProto.GRAPH:
                path = f"{scope.path}{name}/{attribute.name}/"
                yield from self.graph(self._typed_body(attribute.g, scope), Scope(path, scope))

    def _typed_body(self, body: "GraphProto", scope: Scope) -> "GraphProto":
        """Infer types that inference for the whole model skips."""
        from onnx import GraphProto, helper

        told = {
            one.name for one in (*body.value_info, *body.output) if one.type.WhichOneof("value")
        }
        made = {name for node in body.node for name in node.output if name}
        if made <= told:
            return body
        numbers = {dtype: number for number, dtype in self._types.items()}
        outer = [
            helper.make_tensor_value_info(name, numbers[dtype], scope.shape_of(name))
            for name in sorted(_names_used(body) - made - {one.name for one in body.input})
            if (dtype := scope.type_of(name)) is not None
        ]
        whole = GraphProto()
        whole.CopyFrom(body)
        whole.input.extend(outer)
        alone = helper.make_model(
            whole, opset_imports=self._model.opset_import, ir_version=self._model.ir_version
        )
        found = _typed(alone, []).graph
        del found.input[len(body.input) :]
        return found


def _names_used(body: "GraphProto") -> set[str]:
    used = {name for node in body.node for name in node.input}
    inner = (a.g for node in body.node for a in node.attribute if a.HasField("g"))
    return used.union(*(_names_used(one) for one in inner))


def constant_tensor(scope: Scope, name: str) -> Bits | None:
    """Return the codes of a constant, else None."""
    from onnx import TensorProto, numpy_helper

    at, dtype = scope.holder(name), scope.type_of(name)
    tensor = at.constants.get(name) if at else None
    if tensor is None or dtype is None or tensor.data_location == TensorProto.EXTERNAL:
        return None
    return tensor_codes(numpy_helper.to_array(tensor), dtype)


def distinct_codes(codes: Bits) -> Bits:
    """Return distinct codes, or texts, shape (n,)."""
    if codes.dtype == object:
        return np.array(sorted(set(codes.reshape(-1).tolist())), object)
    return cast(Bits, np.unique(codes))


def tensor_codes(array: np.ndarray[Any, Any], dtype: DType) -> Bits | None:
    """Return codes, or texts; None for another type. Arrays may hold codes or bytes."""
    fmt = dtype.format
    if isinstance(fmt, Text):
        texts = [one.decode(errors="replace") if isinstance(one, bytes) else str(one)
                 for one in array.reshape(-1).tolist()]  # fmt: skip
        return np.array(texts, object).reshape(array.shape)
    named = array.dtype.name in (dtype.name, dtype.name_in("ml_dtypes"))
    bare = array.dtype == fmt.storage or array.dtype.kind == "V"
    if not (named or (bare and not hasattr(np, dtype.name))):
        return None
    if array.dtype.itemsize != fmt.storage.itemsize:
        return None
    codes = np.ascontiguousarray(array).reshape(-1).view(fmt.storage)
    mask = getattr(fmt, "mask", (1 << fmt.bits) - 1)
    found: Bits = (codes & codes.dtype.type(mask)).reshape(array.shape)
    return found


_ARRAYS = "numpy.savez(FILE, **arrays): numbers, by the names of the model's tensors"
Arrays = Mapping[str, np.ndarray[Any, Any]]


def read_data(path: str) -> Arrays:
    """Read an .npz file. Raises UsageError."""
    try:
        with np.load(path, allow_pickle=False) as found:
            return {name: found[name] for name in found.files}
    except OSError as error:
        said = f"cannot read {path}: {error.strerror or error}"
        raise UsageError(said, hint=_ARRAYS) from None
    except (ValueError, AttributeError, TypeError, EOFError, zipfile.BadZipFile) as error:
        raise UsageError(f"{path} is no .npz file of numbers: {error}", hint=_ARRAYS) from None


def codes_that_occurred(graph: ModelGraph, arrays: Arrays) -> Mapping[str, Bits]:
    """Return the codes of recorded tensors. Raises UsageError for another type."""
    types = {name: node.scope.type_of(name) for node in graph.nodes
             for name in (*node.inputs, *node.outputs) if name in arrays}  # fmt: skip
    found: dict[str, Bits] = {}
    for name, dtype in types.items():
        codes = tensor_codes(arrays[name], dtype) if dtype else None
        if codes is None:
            said = f"the array {name!r} of {arrays[name].dtype} is not of {dtype or 'a known type'}"
            raise UsageError(said, hint="the tensor's own type; or its codes, as unsigned integers")
        found[name] = codes
    return found
