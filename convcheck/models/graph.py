"""An ONNX file as nodes with the types of their tensors: those of subgraphs and of local functions,
too. External data is not read. No operator is known here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from convcheck.errors import UsageError
from convcheck.files import read_file
from convcheck.numerics.codes import Bits
from convcheck.numerics.format import Text
from convcheck.rules.model import DType, Value

if TYPE_CHECKING:
    from onnx import GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto

MOST = (1 << 31) - 1  # bytes that a protocol buffer may have
STANDARD = ("", "ai.onnx")  # the names of the domain of ONNX's own operators
_HINT = "an ONNX model, as `onnx.save` writes it: MODEL.onnx"


@dataclass(eq=False)
class Scope:
    """A graph or a subgraph with the tensors that have names in it."""

    #: Where it is: '' for the model's graph, LOOP/body/ for a body.
    path: str
    #: The graph around it.
    outer: Scope | None
    #: The type of each tensor, None for one that convcheck does not have, or that is no tensor.
    types: dict[str, DType | None] = field(default_factory=dict)
    #: The dimensions of each tensor, as far as they are known; None for one that is not.
    shapes: dict[str, tuple[int | None, ...]] = field(default_factory=dict)
    #: Tensors of which the file has the values.
    constants: dict[str, TensorProto] = field(default_factory=dict)
    #: The node that each tensor comes from.
    makers: dict[str, ModelNode] = field(default_factory=dict)
    #: Inputs that the runtime, or the node around it, gives.
    given: set[str] = field(default_factory=set)
    #: What was found of the values of tensors, by whoever looked.
    found: dict[str, Any] = field(default_factory=dict)

    def holder(self, name: str) -> Scope | None:
        """Return the innermost graph that has a tensor of this name."""
        known = (self.types, self.constants, self.makers, self.given)
        if any(name in one for one in known):
            return self
        return self.outer.holder(name) if self.outer else None

    def type_of(self, name: str) -> DType | None:
        """Return the type of a tensor, None where it is not known."""
        at = self.holder(name)
        return at.types.get(name) if at else None

    def shape_of(self, name: str) -> tuple[int | None, ...] | None:
        """Return the dimensions of a tensor, None where their number is not known."""
        at = self.holder(name)
        return at.shapes.get(name) if at else None

    def maker_of(self, name: str) -> ModelNode | None:
        """Return the node that a tensor comes from, None for a given one."""
        at = self.holder(name)
        return at.makers.get(name) if at else None


@dataclass(frozen=True, eq=False)
class ModelNode:
    """A node."""

    #: Its name, or what its first output is called.
    name: str
    #: The operator: its name without a domain.
    op: str
    #: '' for ONNX's own.
    domain: str
    #: The names of its inputs, '' for one that is left out.
    inputs: tuple[str, ...]
    #: The names of its outputs.
    outputs: tuple[str, ...]
    #: Integers, texts and floats among its attributes.
    attributes: Mapping[str, Value | float]
    #: The graph that it is in.
    scope: Scope

    @property
    def path(self) -> str:
        """Where it is, and its name."""
        return self.scope.path + self.name


@dataclass(frozen=True)
class ModelGraph:
    """A model, read."""

    #: All nodes, those of subgraphs after the node that has these.
    nodes: tuple[ModelNode, ...]
    #: The version of ONNX's own operator set; 0 for none.
    opset: int
    #: How many local functions were put in the place of their calls.
    functions: int
    #: What there is to say of the reading.
    remarks: tuple[str, ...]


def read_model(path: str, types: Mapping[str, DType]) -> ModelGraph:
    """Return the nodes of a model. Raises UsageError for a file that is none."""
    model = _parsed(path)
    functions, remarks = len(model.functions), list[str]()
    model = _typed(_inlined(model, remarks), remarks)
    opsets = [one.version for one in model.opset_import if one.domain in STANDARD]
    nodes = _Reader(types, model).graph(model.graph, Scope("", None))
    return ModelGraph(tuple(nodes), max(opsets, default=0), functions, tuple(remarks))


def _parsed(path: str) -> ModelProto:
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


def _inlined(model: ModelProto, remarks: list[str]) -> ModelProto:
    """Put local functions in the place of their calls: only there, types are known."""
    from onnx import inliner

    if not model.functions:
        return model
    try:
        return inliner.inline_local_functions(model)
    except Exception as error:
        remarks.append(f"local functions are left out: {_first_line(error)}")
        return model


def _typed(model: ModelProto, remarks: list[str]) -> ModelProto:
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
    def __init__(self, types: Mapping[str, DType], model: ModelProto) -> None:
        from onnx import TensorProto

        names, self._model = TensorProto.DataType, model
        self._types = {
            names.Value(name): dtype for dtype in types.values()
            if (name := dtype.name_in("onnx")) in names.keys()  # noqa: SIM118 of protobuf
        }  # fmt: skip

    def graph(self, graph: GraphProto, scope: Scope) -> Iterator[ModelNode]:
        """Yield the nodes of a graph and of those inside it."""
        for one in (*graph.input, *graph.value_info, *graph.output):
            self._tell(one, scope)
        scope.given |= {one.name for one in graph.input}
        for tensor in graph.initializer:
            scope.types[tensor.name] = self._types.get(tensor.data_type)
            scope.shapes[tensor.name] = tuple(tensor.dims)
            if tensor.name not in scope.given:  # else it is a default
                scope.constants[tensor.name] = tensor
        for proto in graph.node:
            yield from self._node(proto, scope)

    def _tell(self, one: ValueInfoProto, scope: Scope) -> None:
        tensor = one.type.tensor_type
        scope.types[one.name] = self._types.get(tensor.elem_type)
        if tensor.HasField("shape"):
            scope.shapes[one.name] = tuple(
                dim.dim_value if dim.HasField("dim_value") else None for dim in tensor.shape.dim
            )

    def _node(self, proto: NodeProto, scope: Scope) -> Iterator[ModelNode]:
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

    def _typed_body(self, body: GraphProto, scope: Scope) -> GraphProto:
        """Return a body with the types that follow from those of the graph around it: not of every
        operator's bodies they are inferred with the model.
        """
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


def _names_used(body: GraphProto) -> set[str]:
    """Return the names of all tensors that nodes of a body, and of bodies in it, take."""
    used = {name for node in body.node for name in node.input}
    inner = (a.g for node in body.node for a in node.attribute if a.HasField("g"))
    return used.union(*(_names_used(one) for one in inner))


def constant_codes(tensor: TensorProto, dtype: DType) -> Bits | None:
    """Return the codes, or texts, of a tensor that the file has, each once, of shape (n,); None
    where they are external.
    """
    from onnx import TensorProto, numpy_helper

    if tensor.data_location == TensorProto.EXTERNAL:
        return None
    return codes_of_array(numpy_helper.to_array(tensor), dtype)


def constant_tensor(scope: Scope, name: str) -> Bits | None:
    """Return the codes of a tensor that the file has, in its shape; None for any other."""
    from onnx import TensorProto, numpy_helper

    at, dtype = scope.holder(name), scope.type_of(name)
    tensor = at.constants.get(name) if at else None
    if tensor is None or dtype is None or tensor.data_location == TensorProto.EXTERNAL:
        return None
    return tensor_codes(numpy_helper.to_array(tensor), dtype)


def codes_of_array(array: np.ndarray[Any, Any], dtype: DType) -> Bits | None:
    """Return the codes, or texts, of an array, each once; None where it is not of the type."""
    found = tensor_codes(array, dtype)
    return None if found is None else distinct_codes(found)


def distinct_codes(codes: Bits) -> Bits:
    """Return codes, or texts, each once, of shape (n,)."""
    if codes.dtype == object:
        return np.array(sorted(set(codes.reshape(-1).tolist())), object)
    return cast(Bits, np.unique(codes))


def tensor_codes(array: np.ndarray[Any, Any], dtype: DType) -> Bits | None:
    """Return the codes, or texts, of an array in its shape; None where it is not of the type. Of a
    type that numpy does not have, it may hold the codes, or bytes without a type.
    """
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


def standard_nodes(nodes: Iterable[ModelNode]) -> Iterator[ModelNode]:
    """Yield the nodes of ONNX's own operators."""
    return (node for node in nodes if not node.domain)
