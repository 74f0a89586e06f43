"""A runtime in a separate environment: one file for Python 3.8 and newer, with numpy.

    python server.py ort

It speaks convcheck's process protocol on stdin and stdout. Requests bring their native form, such
as an ONNX model, under `native`, so it imports neither convcheck nor onnx. convcheck's own adapters
use the same classes without a pipe.

Numbers are raw bits. Only new releases of ONNX Runtime make tensors of types that numpy lacks from
Python. Earlier ones, from 1.15 on, return them as outputs of a model with an initialiser.
"""

from __future__ import annotations

import base64
import ctypes
import json
import math
import os
import platform
import sys
from inspect import signature
from typing import Any, Callable, Dict, Sequence, Tuple

try:
    import numpy as np
except ImportError:  # reported in the answer to hello
    np = None  # type: ignore[assignment]

Codes = Any  # an array of unsigned integers, or of texts
Own = Dict[str, Any]  # a request's `native`
Made = Tuple[str, Tuple[int, ...], Codes]  # an output: type name, shape, codes
VERSION = 1
STORAGE = {8: "u1", 16: "u2", 32: "u4", 64: "u8"}  # by bits of a code
TOP = 1 << 24  # default limit of elements of an output


class Told(Exception):  # noqa: N818  it is an answer
    """An answer without outputs."""

    def __init__(self, kind: str, said: object, **more: object) -> None:
        super().__init__(kind)
        self.answer = {kind: said, **more}


class Fed:
    """An input: the runtime's name of its type, bits per element, shape and codes."""

    def __init__(self, own: Any, bits: int, shape: tuple[int, ...], codes: Codes) -> None:
        self.own, self.bits, self.shape, self.codes = own, bits, shape, codes

    @property
    def memory(self) -> Any:
        """The codes as tensor memory: bytes, narrow types packed, low bits first."""
        flat = np.ascontiguousarray(self.codes).reshape(-1)
        if self.bits >= 8:
            return flat.view(np.uint8)
        bits = np.unpackbits(flat[:, None], axis=1, count=self.bits, bitorder="little")
        return np.packbits(bits, bitorder="little")


def _unpacked(memory: Any, bits: int, shape: Sequence[int]) -> Codes:
    if bits >= 8:
        return memory.view(STORAGE[bits]).reshape(shape)
    count = math.prod(shape)
    flat = np.unpackbits(memory, count=count * bits, bitorder="little")
    codes = np.packbits(flat.reshape(count, bits), axis=1, bitorder="little")
    return codes.reshape(shape)


def _check_size(shapes: Sequence[tuple[str, tuple[int, ...]]], question: Own, given: Any) -> None:
    """Raise Told for an output larger than the limit and than every input."""
    for _, shape in shapes:
        size = math.prod(shape)
        if size > question.get("limit", TOP) and all(size > one.codes.size for one in given):
            raise Told("oversized", [{"type": name, "shape": list(each)} for name, each in shapes])


# ONNX's numbers of numpy's types
PLAIN = {
    1: "float32", 2: "uint8", 3: "int8", 4: "uint16", 5: "int16", 6: "int32", 7: "int64",
    9: "bool", 10: "float16", 11: "float64", 12: "uint32", 13: "uint64",
}  # fmt: skip
STRING = 8
HOW = "graph inputs, optimisation off, 1 thread"
KEPT_TEXTS = 4096  # tensors; a few kilobytes each, with their sessions
FATAL_ONLY = 4  # log severity; exceptions report errors


class OrtServer:
    """ONNX Runtime on one execution provider, with graph inputs and without optimisation."""

    def __init__(self, variant: str) -> None:
        import onnxruntime
        from onnxruntime.capi import onnxruntime_pybind11_state as classes

        onnxruntime.set_default_logger_severity(FATAL_ONLY)
        self.runtime, self.classes = onnxruntime, classes
        self.provider = variant or "CPUExecutionProvider"
        if self.provider not in onnxruntime.get_available_providers():
            raise ValueError(f"onnxruntime {onnxruntime.__version__} has no {self.provider}")
        device = classes.OrtDevice
        self.device = device(device.cpu(), device.default_memory(), 0)
        self.run_options = onnxruntime.RunOptions()
        self.asked: Any = None  # the request of the session
        self.session: Any = None
        self.texts: dict[object, Any] = {}
        self.options: dict[object, Any] = {}
        # avoids a copy in new releases
        self.share = getattr(classes.OrtValue, "ortvalue_from_numpy_with_onnx_type", None)
        self.name = "onnxruntime"
        self.version = f"{onnxruntime.__version__}, {self.provider}, {HOW}"
        value = classes.OrtValue.ortvalue_from_numpy(np.ones(2, np.float32), self.device)
        if value.numpy().tolist() != [1.0, 1.0]:
            raise ValueError("onnxruntime and numpy do not go together")

    def answer(self, question: Own, given: list[Fed]) -> list[Made]:
        """Run the model of a request. Some inputs may be part of the model."""
        session, feeds = self.load(question), self.classes.OrtValueVector()
        made = [self._fed(one) for one in given[: len(self.names)]]  # keeps their memory alive
        for value, _ in made:
            feeds.push_back(value)
        try:
            values = self._run(session, self.names, feeds, self.outputs)
        except Exception as error:  # onnxruntime's exceptions share only this base class
            raise Told("refused", str(error)) from None
        found = []
        for one in values:
            name, bits = self.types.get(one.element_type()) or (str(one.data_type()), None)
            found.append((name, tuple(one.shape()), bits, one))
        _check_size([each[:2] for each in found], question, given)
        return [(name, shape, self._codes(one, bits, shape)) for name, shape, bits, one in found]

    def load(self, question: Own) -> Any:
        """Return the session of a request, cached for the last one. Raises Told."""
        if self.asked is not question and self.asked != question:
            self.asked = self.session = None  # frees the last one first
            model = base64.b64decode(question["model"])
            try:
                self.session = self._loaded(model, self.provider, question.get("options"))
            except Told as told:
                self.session = told
            else:
                self.names = [one.name for one in self.session.inputs_meta]
                wanted = self.session.outputs_meta[: question.get("outputs")]
                self.outputs = [one.name for one in wanted]
            known = question["types"].items()
            self.types = {entry["own"]: (name, entry["bits"]) for name, entry in known}
            self.asked = question
        if isinstance(self.session, Told):
            raise self.session.with_traceback(None)
        return self.session

    def _loaded(self, model: bytes, provider: str, more: Any = None) -> Any:
        """Create a session. Python's InferenceSession is slower, and retries on the CPU."""
        key = provider, repr(more)
        if key not in self.options:
            self.options[key] = self._session_options(provider, **(more or {}))
        options = self.options[key]
        try:
            session = self.classes.InferenceSession(options, model, False, False)
            session.initialize_session([provider], [{}], set())
        except Exception as error:  # onnxruntime's exceptions share only this base class
            raise Told("declined", str(error)) from None
        return session

    def _session_options(
        self, provider: str, threads: int = 1, level: str = "ORT_DISABLE_ALL", entries: Any = ()
    ) -> Any:
        options = self.runtime.SessionOptions()
        if provider != "CPUExecutionProvider":
            options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
        for name, value in dict(entries).items():
            options.add_session_config_entry(name, value)
        options.intra_op_num_threads = threads
        options.graph_optimization_level = getattr(self.runtime.GraphOptimizationLevel, level)
        options.enable_mem_pattern = options.enable_cpu_mem_arena = False
        options.log_severity_level = FATAL_ONLY
        return options

    def _run(self, session: Any, names: list[str], feeds: Any, outputs: list[str]) -> list[Any]:
        """Return a run's outputs. onnxruntime's own list of them takes six times as long."""
        values = self.classes.OrtValueVector()
        session.run_with_ortvaluevector(
            self.run_options, names, feeds, outputs, values, [self.device] * len(outputs)
        )
        return [values[i] for i in range(len(values))]

    def _fed(self, one: Fed) -> tuple[Any, Any]:
        """Return a tensor, and what keeps its memory alive."""
        values = self.classes.OrtValue
        if self.share and one.bits >= 8:
            return self.share(one.codes, one.own), one.codes
        if one.own in PLAIN:
            array = np.ascontiguousarray(one.codes).view(PLAIN[one.own])
            return values.ortvalue_from_numpy(array.reshape(one.shape), self.device), array
        if one.own == STRING:
            # each takes a session, and many cases share them
            key = one.shape, tuple(one.codes.flat)
            if len(self.texts) >= KEPT_TEXTS:
                self.texts.clear()
            if key not in self.texts:
                self.texts[key] = self._source(one)
            return self.texts[key]  # type: ignore[no-any-return]
        make = getattr(values, "ortvalue_from_shape_and_onnx_type", None)
        if make is None:
            return self._source(one)
        value, memory = make(one.shape, one.own, self.device), one.memory
        if memory.size:  # an empty tensor may have no address
            ctypes.memmove(value.data_ptr(), memory.ctypes.data, memory.nbytes)
        return value, None

    def _source(self, one: Fed) -> tuple[Any, Any]:
        session = self._loaded(_source_model(one), "CPUExecutionProvider")
        return self._run(session, [], self.classes.OrtValueVector(), ["x"])[0], session

    def _codes(self, value: Any, bits: Any, shape: tuple[int, ...]) -> Codes:
        """Return an output's codes, or bytes without `bits`, also of types that numpy lacks."""
        if bits == 0:
            return np.asarray(value.numpy(), dtype=object).reshape(shape)
        size = value.tensor_size_in_bytes() if bits is None else -(-math.prod(shape) * bits // 8)
        memory = ctypes.string_at(value.data_ptr(), size) if size else b""
        codes = np.frombuffer(memory, np.uint8)
        return codes if bits is None else _unpacked(codes, bits, shape)


def _source_model(one: Fed) -> bytes:
    """Return an ONNX model that only outputs a tensor."""
    shape = b"".join(_proto_number(1, size) for size in one.shape)
    tensor = shape + _proto_number(2, one.own) + _proto_bytes(8, b"x")
    if one.bits:
        tensor += _proto_bytes(9, one.memory.tobytes())
    else:
        tensor += b"".join(_proto_bytes(6, text.encode()) for text in one.codes.reshape(-1))
    output = _proto_bytes(1, b"x") + _proto_bytes(2, _proto_bytes(1, _proto_number(1, one.own)))
    graph = _proto_bytes(2, b"source") + _proto_bytes(5, tensor) + _proto_bytes(12, output)
    opset = _proto_bytes(8, _proto_number(2, 13))  # in every release
    return _proto_number(1, 8) + _proto_bytes(7, graph) + opset


def _proto_number(field: int, value: int) -> bytes:
    return _proto_varint(field << 3) + _proto_varint(value)


def _proto_bytes(field: int, data: bytes) -> bytes:
    return _proto_varint(field << 3 | 2) + _proto_varint(len(data)) + data


def _proto_varint(value: int) -> bytes:
    """Encode a number, seven bits a byte, lowest first."""
    low = bytes([value & 0x7F | (0x80 if value > 0x7F else 0)])
    return low + _proto_varint(value >> 7) if value > 0x7F else low


OPENVINO_CONFIG = {
    "INFERENCE_PRECISION_HINT": "f32",  # the default is bf16 on some CPUs
    "INFERENCE_NUM_THREADS": 1,
    "NUM_STREAMS": 1,
    "CACHE_DIR": "",
}
OPENVINO_WAYS = {
    "": "graph inputs, the first shape of a case static, others dynamic",
    "first": "the first input fed, the others constants, the first shape of a case static",
    "const": "constants folded when the model is compiled",
    "eval": "Node.evaluate of the core, node by node",
}
OPENVINO_OVERRUN = "u1"  # it allocates a bit per code and writes a byte
OPENVINO_RAISES = (RuntimeError, ValueError, MemoryError)  # C++ exceptions in Python


class OpenVinoServer:
    """OpenVINO on the CPU.

    Parameters of a compiled model test the plugin's kernel. In `first`, all inputs but the first
    are Constants. `const` has the compiler fold Constants. `eval` uses Node.evaluate, the core's
    reference.

    The plugin has other kernels for dynamic dimensions. The first call of a request is compiled
    with its shapes. Others, and all whose answer is the output type, share a dynamic model per
    ranks.
    """

    def __init__(self, variant: str) -> None:
        if variant not in OPENVINO_WAYS:
            raise ValueError(f"openvino has no variant {variant!r} here")
        self.api, self.op, self.factory = openvino_modules()
        self.core, self.variant = self.api.Core(), variant
        self.shares = "share_outputs" in signature(self.api.InferRequest.infer).parameters
        self.asked: object = None
        self.name = "openvino"
        says = "INFERENCE_PRECISION_HINT f32, model cache off, 1 thread"
        release = self.api.get_version().partition("-")[0]
        self.version = f"{release}, CPU, {OPENVINO_WAYS[variant]}, {says}"

    def answer(self, question: Own, given: list[Fed]) -> list[Made]:
        """Run a request. A graph that cannot be built is declined."""
        shapes = tuple(one.shape for one in given)
        try:
            outputs = self._outputs(question, self._inputs(given, shapes))
            results = tuple(self._kind(one) for one in outputs)
        except OPENVINO_RAISES as error:
            raise Told("declined", str(error)) from None
        if OPENVINO_OVERRUN in results and self.variant != "eval":
            said = f"the CPU plugin overruns an output of {OPENVINO_OVERRUN}"
            raise Told("declined", said, missing=True)
        self._keep(question, given)
        tensors = [self._tensor(one) for one in given]
        folds = self.variant == "const" or (self.variant != "eval" and question.get("folds"))
        if folds or self.variant == "eval":
            return self._of_constants(question, tensors, given, results, folds)
        fed = 1 if self.variant == "first" else len(tensors)
        request = self._request(question, given, tensors[fed:], results)
        for index, tensor in enumerate(tensors[:fed]):
            # set_input_tensor lets an output that is an unchanged input point to freed memory
            self._copy(tensor, request.get_input_tensor(index))
        return self._run(request, len(results), question, given)

    def _keep(self, question: Own, given: list[Fed]) -> None:
        """Drop the models of another request. Inferred types replace attributes in the key."""
        hidden = () if question["outputs"] else ("attributes",)
        same = {key: value for key, value in question.items() if key not in hidden}
        asked = same, [one.own for one in given]  # the request has no input types
        if self.asked != asked:
            self.asked = asked
            self.first: Any = None  # the shapes of the first call
            self.requests: dict[object, Any] = {}
            self.answers: dict[object, Any] = {}

    def _tensor(self, one: Fed) -> Any:
        if not one.bits:
            return self.api.Tensor(np.array(one.codes.tolist(), np.str_).reshape(one.shape))
        tensor = self.api.Tensor(self._type_of(one), self.api.Shape(one.shape))
        self._memory(tensor)[:] = _turned(one.memory, one.bits)
        return tensor

    def _type_of(self, one: Fed) -> Any:
        found = getattr(self.api.Type, one.own, None)
        if found is None:
            raise Told("declined", f"OpenVINO has no type {one.own}", missing=True)
        return found

    def _kind(self, thing: Any) -> str:
        kind = getattr(thing, "element_type", None) or thing.get_element_type()
        return str(kind.get_type_name())

    def _memory(self, tensor: Any) -> Any:
        return np.asarray(tensor.data).reshape(-1).view(np.uint8)

    def _copy(self, tensor: Any, target: Any) -> None:
        if tuple(target.shape) != tuple(tensor.shape):
            target.shape = tensor.shape
        if "str" in str(tensor.element_type):
            target.str_data = tensor.str_data
        else:
            self._memory(target)[:] = self._memory(tensor)

    def _inputs(self, given: list[Fed], dims: Sequence[Sequence[int]]) -> list[Any]:
        """Return a Parameter for each input. A dimension of -1 is dynamic."""
        partial = self.api.PartialShape
        pairs = zip(given, dims)
        return [self.op.Parameter(self._type_of(one), partial(list(sizes))) for one, sizes in pairs]

    def _constants(self, tensors: list[Any]) -> list[Any]:
        return [self.op.Constant(tensor, shared_memory=False) for tensor in tensors]

    def _outputs(self, question: Own, sources: list[Any]) -> list[Any]:
        """Return the graph's outputs on sources, then a chain's exposed intermediate outputs."""
        if "model" in question:
            return self._imported(base64.b64decode(question["model"]), sources)
        if "hops" not in question:
            return self._node(question, sources)
        made: list[Any] = []
        for hop in question["hops"]:
            made = [*self._node(hop, made[:1] or sources), *made]
        return made if question["exposed"] else made[:1]

    def _node(self, question: Own, sources: list[Any]) -> list[Any]:
        opset, attributes = question["opset"], question["attributes"]
        factory = self.factory.NodeFactory(opset)
        node = factory.create(question["operator"], list(sources), dict(attributes))
        made = node.get_type_info().version_id
        if made != opset:
            raise ValueError(f"Couldn't create operation: {opset} has that of {made}")
        if unknown := set(attributes) - set(node.get_attributes()):  # it ignores these
            raise ValueError(f"no such attribute: {', '.join(sorted(unknown))}")
        return list(node.outputs())

    def _imported(self, model: bytes, sources: list[Any]) -> list[Any]:
        read = self.core.read_model(model)
        for parameter, source in zip(read.get_parameters(), sources):
            parameter.output(0).replace(source.output(0))
        outputs = [result.input_value(0) for result in read.get_results()]
        inputs = [one for one in sources if one.get_type_name() == "Parameter"]
        self.api.Model(outputs, inputs, "convcheck")  # infers types and shapes again
        return outputs

    def _request(self, question: Own, given: list[Fed], constants: list[Any], results: Any) -> Any:
        """Return the model for a call: static for the first shapes, dynamic for others."""
        shapes = tuple(one.shape for one in given)
        self.first = self.first or (shapes,)
        try:
            if question["outputs"] and self.first == (shapes,):
                return self._compiled(question, given, constants, shapes, results)
            try:
                free = tuple((-1,) * len(shape) for shape in shapes)
                return self._compiled(question, given, constants, free, results)
            except OPENVINO_RAISES:  # static dimensions are enough
                return self._compiled(question, given, constants, shapes, results)
        except OPENVINO_RAISES as error:  # the graph is valid, so a kernel is missing
            raise Told("declined", str(error), missing=True) from None

    def _compiled(
        self, question: Own, given: list[Fed], constants: list[Any], dims: Any, results: Any
    ) -> Any:
        """Compile a model of Parameters and trailing Constants. Cached."""
        fed = len(given) - len(constants)
        parts = tuple(one.codes.tobytes() for one in given[fed:])
        if (results, dims, parts) not in self.requests:
            if parts:  # calls with equal constants are adjacent
                self.requests.clear()
            sources = self._inputs(given, dims)[:fed]
            outputs = self._outputs(question, [*sources, *self._constants(constants)])
            self.requests[results, dims, parts] = self._made(outputs, sources)
        return self.requests[results, dims, parts]

    def _made(self, outputs: list[Any], sources: list[Any]) -> Any:
        model = self.api.Model(outputs, sources, "convcheck")
        return self.core.compile_model(model, "CPU", OPENVINO_CONFIG).create_infer_request()

    def _of_constants(
        self, question: Own, tensors: list[Any], given: list[Fed], results: Any, folds: Any
    ) -> list[Made]:
        """Return the answer for Constants. Equal requests with other attributes share it."""
        key = results, tuple((one.shape, one.codes.tobytes()) for one in given)
        if question["outputs"]:  # the request is unique
            self.answers.clear()
        if key not in self.answers:
            try:
                outputs = self._graph(question, tensors, given)
                if folds:
                    made = self._made(outputs, [])
                    self.answers[key] = self._run(made, len(outputs), question, given)
                else:
                    self.answers[key] = self._evaluated(outputs, question, given)
            except Told as told:
                self.answers[key] = told
            except OPENVINO_RAISES as error:
                self.answers[key] = Told("refused", str(error))
        found = self.answers[key]
        if isinstance(found, Told):
            raise found.with_traceback(None)
        return found  # type: ignore[no-any-return]

    def _graph(self, question: Own, tensors: list[Any], given: list[Fed]) -> list[Any]:
        """Return the operator on Constants. Raises Told if an output is known to be too large."""
        outputs = self._outputs(question, self._constants(tensors))
        partial = [one.get_partial_shape() for one in outputs]
        if not any(shape.is_dynamic for shape in partial):
            names = self._names([self._kind(one) for one in outputs], question)
            shapes = [tuple(int(size) for size in shape.to_shape()) for shape in partial]
            _check_size(list(zip(names, shapes)), question, given)
        return outputs

    def _evaluated(self, outputs: list[Any], question: Own, given: list[Fed]) -> list[Made]:
        values: dict[object, Any] = {}
        for node in self.api.Model(outputs, [], "convcheck").get_ordered_ops():
            if node.get_type_name() == "Result":
                continue
            if node.get_type_name() == "Constant":
                made = [node.tensor_view]
            else:
                made = [self._empty(output) for output in node.outputs()]
                inputs = [values[self._place(value)] for value in node.input_values()]
                if not node.evaluate(made, inputs):
                    said = f"{node.get_type_name()} has no evaluate for these types"
                    raise Told("declined", said, missing=True)
            values.update({(node.get_name(), index): one for index, one in enumerate(made)})
        return self.read([values[self._place(output)] for output in outputs], question, given)

    def _empty(self, output: Any) -> Any:
        shape = output.get_partial_shape()
        known = self.api.Shape() if shape.is_dynamic else shape.to_shape()
        return self.api.Tensor(output.get_element_type(), known)

    def _place(self, output: Any) -> tuple[str, int]:
        return output.get_node().get_name(), output.get_index()

    def _names(self, own: list[str], question: Own) -> list[str]:
        known = {entry["own"]: name for name, entry in question["types"].items()}
        return [known.get(name, name) for name in own]

    def _run(self, request: Any, count: int, question: Own, given: list[Fed]) -> list[Made]:
        try:
            if self.shares:
                request.infer(share_outputs=True)
            else:  # in old releases, `infer` copies the outputs
                request.start_async()
                request.wait()
        except OPENVINO_RAISES as error:
            raise Told("refused", str(error)) from None
        tensors = [request.get_output_tensor(index) for index in range(count)]
        return self.read(tensors, question, given)

    def read(self, tensors: list[Any], question: Own, given: list[Fed]) -> list[Made]:
        """Read the wanted outputs; bytes for unknown types."""
        tensors = tensors[: question["outputs"] or None]
        names = self._names([self._kind(one) for one in tensors], question)
        shapes = [tuple(one.shape) for one in tensors]
        _check_size(list(zip(names, shapes)), question, given)
        made = []
        for tensor, name, shape in zip(tensors, names, shapes):
            if name not in question["types"]:
                codes = self._memory(tensor).copy()
            elif bits := question["types"][name]["bits"]:
                codes = _unpacked(_turned(self._memory(tensor).copy(), bits), bits, shape)
            else:
                codes = np.asarray(tensor.str_data, object).reshape(shape)
            made.append((name, shape, codes))
        return made


def _turned(memory: Any, bits: int) -> Any:
    """Reverse the bits of each byte, for codes of one bit."""
    return np.packbits(np.unpackbits(memory, bitorder="little")) if bits == 1 else memory


def openvino_modules() -> tuple[Any, Any, Any]:
    """Import OpenVINO. Its modules had other names before 2025."""
    from importlib import import_module

    # optional telemetry, which delays the exit
    sys.modules.setdefault("openvino_telemetry", None)  # type: ignore[arg-type]
    try:
        import_module("openvino.op")
        top = "openvino"
    except ImportError:
        top = "openvino.runtime"
    parts = (top, f"{top}.op", f"{top}.utils.node_factory")
    return tuple(import_module(name) for name in parts)  # type: ignore[return-value]


class TorchServer:
    """PyTorch on the CPU, eager, one thread."""

    def __init__(self, variant: str) -> None:
        if variant:
            raise ValueError(f"torch has no variant {variant!r}")
        import torch

        self.torch = torch
        torch.set_num_threads(1)
        torch.from_numpy(np.ones(2, np.uint8)).numpy()  # fails if numpy is incompatible
        self.name, self.version = "torch", f"{torch.__version__}, CPU, 1 thread"

    def answer(self, question: Own, given: list[Fed]) -> list[Made]:
        """Call the function of a request. A missing one is declined, an exception refused."""
        functions = {"to": self._to, "result_type": self._result_type, "arange": self._arange}
        if question["function"] not in functions:
            said = f"this server calls no {question['function']}"
            raise Told("declined", said, missing=True)
        tensors = [self.tensor(one) for one in given]
        target = self.type_of(question["target"]) if question["target"] else None
        try:
            results = functions[question["function"]](tensors, target, question)
        except NotImplementedError as error:
            raise Told("declined", str(error), missing=True) from None
        except (RuntimeError, ValueError, TypeError, OverflowError) as error:
            raise Told("refused", str(error)) from None
        known = {entry["own"]: name for name, entry in question["types"].items()}
        own = [str(one.dtype) for one in results]  # torch.float32
        names = [known.get(name.rpartition(".")[2], name) for name in own]
        shapes = [tuple(one.shape) for one in results]
        _check_size(list(zip(names, shapes)), question, given)
        return list(zip(names, shapes, map(self.codes, results)))

    def type_of(self, name: str) -> Any:
        """Return a type. Raises Told if this release lacks it."""
        found = getattr(self.torch, name, None)
        if found is None:
            raise Told("declined", f"torch has no type {name}", missing=True)
        return found

    def tensor(self, one: Fed) -> Any:
        """View codes as a tensor. Old releases have only one unsigned type, uint8."""
        codes = np.ascontiguousarray(one.codes).reshape(one.shape)
        storage = np.uint8 if one.bits == 8 else f"i{one.bits // 8}"
        return self.torch.from_numpy(codes.view(storage)).view(self.type_of(one.own))

    def codes(self, tensor: Any) -> Codes:
        """View a tensor's memory as codes."""
        size = tensor.element_size()
        storage = self.torch.uint8 if size == 1 else getattr(self.torch, f"int{8 * size}")
        return tensor.contiguous().view(storage).numpy().view(f"u{size}")

    def _to(self, tensors: list[Any], target: Any, question: Own) -> list[Any]:
        return [tensors[0].to(target)]

    def _result_type(self, tensors: list[Any], target: Any, question: Own) -> list[Any]:
        try:
            common = self.torch.result_type(tensors[0], tensors[1])
        except RuntimeError as error:  # it did not read values
            raise NotImplementedError(str(error)) from error
        return [tensor.to(common) for tensor in tensors]

    def _arange(self, tensors: list[Any], target: Any, question: Own) -> list[Any]:
        start, stop, step = (tensor.item() for tensor in tensors)
        try:
            about = math.ceil(abs((stop - start) / step))
        except (ValueError, OverflowError, ZeroDivisionError):  # NaN, infinity, step 0
            about = 0
        device = "meta" if about > question.get("limit", TOP) else "cpu"
        return [self.torch.arange(start, stop, step, dtype=target, device=device)]


RUNTIMES: dict[str, Callable[[str], Any]] = {
    "ort": OrtServer,
    "openvino": OpenVinoServer,
    "torch": TorchServer,
}


def _read_input(entry: dict[str, Any], data: bytes, types: dict[str, Own]) -> Fed:
    known, shape = types[entry["type"]], tuple(entry["shape"])
    bits = known["bits"]
    if not bits:
        texts = np.empty(len(entry["values"]), object)
        texts[:] = entry["values"]
        return Fed(known["own"], bits, shape, texts.reshape(shape))
    # a copy, because a runtime may write into it
    codes = np.frombuffer(bytearray(data), f"u{max(bits // 8, 1)}")
    return Fed(known["own"], bits, shape, codes.reshape(shape))


def _written(made: list[Made]) -> tuple[list[dict[str, Any]], bytes]:
    entries: list[dict[str, Any]] = []
    payload = []
    for name, shape, codes in made:
        entry = {"type": name, "shape": list(shape), "bytes": 0}
        if codes.dtype == object:
            entry["values"] = [str(text) for text in codes.reshape(-1)]
        else:
            payload.append(np.ascontiguousarray(codes).tobytes())
            entry["bytes"] = len(payload[-1])
        entries.append(entry)
    return entries, b"".join(payload)


def _answered(runtime: Any, request: dict[str, Any], payloads: list[bytes]) -> bytes:
    head: dict[str, Any] = {"run": request["run"]}
    own = request.get("native")
    if own is None:
        said = "this server needs `native`, which convcheck sends with what it can ask"
        return _header_line({**head, "declined": said, "missing": True})
    try:
        pairs = zip(request["inputs"], payloads)
        given = [_read_input(entry, data, own["types"]) for entry, data in pairs]
        entries, payload = _written(runtime.answer(own, given))
    except Told as told:
        return _header_line({**head, **told.answer})
    except MemoryError:
        return _header_line({**head, "refused": "MemoryError"})
    except Exception as error:  # an internal error
        return _header_line({**head, "error": f"{type(error).__name__}: {error}"})
    return _header_line({**head, "outputs": entries}) + payload


def _header_line(message: dict[str, Any]) -> bytes:
    return json.dumps(message).encode() + b"\n"


def _started(address: str) -> tuple[Any, dict[str, Any]]:
    name, _, variant = address.partition(":")
    here = f"Python {platform.python_version()}"
    hello: dict[str, Any] = {"hello": VERSION}
    if np is None:
        return None, {**hello, "unavailable": f"numpy is not installed there ({here})"}
    here = f"numpy {np.__version__}, {here}"
    if sys.byteorder != "little":
        return None, {**hello, "unavailable": "it is for little-endian machines"}
    try:
        runtime = RUNTIMES[name](variant)
    except (Exception, SystemExit) as error:  # runtimes raise anything when loading
        why = f"{name} cannot be used there ({here}): {type(error).__name__}: {error}"
        return None, {**hello, "unavailable": " ".join(why.split())}
    version = f"{runtime.version}, {here}"
    return runtime, {**hello, "name": runtime.name, "version": version, "native": name}


def serve_alone() -> int:
    """Answer requests until the input ends. Return the exit status."""
    address = sys.argv[1] if len(sys.argv) == 2 else ""
    if address.partition(":")[0] not in RUNTIMES:
        sys.stderr.write(f"which runtime? one of {', '.join(RUNTIMES)}\n")
        return 2
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # keeps a runtime's prints out of the answers
    runtime, welcome = _started(address)
    pipe = sys.stdin.buffer
    for text in iter(pipe.readline, b""):
        request = json.loads(text)
        if "hello" in request:
            answers.write(_header_line(welcome))
        else:
            payloads = [pipe.read(entry["bytes"]) for entry in request["inputs"]]
            answers.write(_answered(runtime, request, payloads))
        answers.flush()
    return 0


if __name__ == "__main__":
    sys.exit(serve_alone())
