"""OpenVINO on the CPU as a backend, in four variants.

`openvino` feeds Parameters of a compiled model, so that the plugin's kernel answers; `first` feeds
the first input, and makes the others Constants, as models have limits and scales; `const`
compiles the same model of Constants, which is folded; `eval` asks Node.evaluate, the reference
in OpenVINO's core. They take OpenVINO's own operators and ONNX models.

The plugin has other kernels for stated than for unstated dimensions. The first call of a question
is compiled with the shapes of the call, and answered so; calls of other shapes share one model of
unstated dimensions for each combination of ranks, as a user's model with dynamic dimensions would
have it (a dynamic rank is something that the plugin does not take). Where the type of the output
is the answer, every call goes to such a model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from convcheck.backends.onnx.model import WORLD as ONNX
from convcheck.backends.onnx.model import cannot_ask
from convcheck.backends.openvino.graph import (
    WORLD,
    Dims,
    TurnedDownError,
    constants,
    core,
    element_type,
    imported_version,
    on_values,
    outputs_on,
    parameters,
    turned_down,
)
from convcheck.backends.openvino.tensor import Names, copy, feed, fetch, oversized
from convcheck.backends.protocol import Answer, Declined, Oversized
from convcheck.errors import UsageError
from convcheck.numerics.codes import Bits
from convcheck.rules.load import Catalog, load, user_folders
from convcheck.rules.model import Case, Spec

if TYPE_CHECKING:
    from openvino import InferRequest, Node, Output, Tensor

CONFIG = {
    "INFERENCE_PRECISION_HINT": "f32",  # the default is bf16 on some CPUs
    "INFERENCE_NUM_THREADS": 1,
    "NUM_STREAMS": 1,
    "CACHE_DIR": "",
}
_SAYS = {
    "": "graph inputs, the first shape of a case static, others dynamic",
    "first": "the first input fed, the others constants, the first shape of a case static",
    "const": "constants folded when the model is compiled",
    "eval": "Node.evaluate of the core, node by node",
}
_FAILED = (RuntimeError, ValueError, MemoryError, TurnedDownError)  # C++ exceptions, in Python


_OVERRUN = "u1"  # outputs of it have memory for a bit a code, and a byte a code is written there


@dataclass
class _Kept:
    """What was made for a question: requests by result types and dimensions, and answers.

    `first` has, by result types, the shapes of the first call, for which alone there is a model
    of stated dimensions.
    """

    question: object = None
    first: dict[object, Dims] = field(default_factory=dict)
    requests: dict[object, InferRequest] = field(default_factory=dict)
    answers: dict[object, Answer] = field(default_factory=dict)


@dataclass(frozen=True)
class _Asked:
    """One call: the case, the inputs as tensors, and the types that OpenVINO infers."""

    case: Case
    inputs: Sequence[Bits]
    tensors: list[Tensor]
    results: tuple[str, ...]

    @property
    def shapes(self) -> Dims:
        return tuple(bits.shape for bits in self.inputs)


class OpenVino:
    """OpenVINO's CPU plugin, or what it has besides: `variant` is '' or one of `_SAYS`."""

    #: It takes graphs, and no option tells what becomes of one.
    graphs = ()

    def __init__(self, variant: str = "", *, catalog: Catalog | None = None) -> None:
        """Raise UsageError for an unknown variant, ImportError where OpenVINO is not installed."""
        if variant not in _SAYS:
            raise UsageError(
                f"the openvino backend has no variant {variant!r}",
                hint=f"one of {', '.join(_address(name) for name in _SAYS)}",
            )
        known = imported_version()
        self._feeds = variant in ("", "first")
        self._feeds_first = variant == "first"
        self._names = Names((catalog or load(user_folders())).types.types.values())
        self._kept = _Kept()
        ways = {"const": self._fold, "eval": self._evaluate}
        self._way: Callable[[_Asked], Answer] = ways.get(variant, self._infer)
        self.name = _address(variant)
        self.version = (
            f"openvino {known}, CPU, {_SAYS[variant]}, "
            "INFERENCE_PRECISION_HINT f32, model cache off, 1 thread"
        )

    @staticmethod
    def takes(spec: Spec) -> bool:
        """Return whether a run without a choice of specs asks this one: those of ONNX are not."""
        return spec.op.partition(".")[0] == WORLD

    def support(self, case: Case) -> Declined | None:
        """Decline what is neither OpenVINO's nor ONNX's, and types that OpenVINO does not have."""
        world = case.op.partition(".")[0]
        if world not in (WORLD, ONNX):
            return Declined(f"{case.op} is neither OpenVINO's operator nor ONNX's", missing=True)
        if ("input", "fed") in case.setting and not self._feeds:
            return Declined(f"{self.name} has constants as inputs")
        casts = case.hops or (case,)
        for dtype in (t for cast in casts for t in (*cast.inputs, *cast.outputs)):
            if element_type(dtype.name_in(WORLD)) is None:
                return Declined(f"OpenVINO has no type {dtype}", missing=True)
        return cannot_ask(case) if world == ONNX else None

    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        """Infer the types first: a graph that cannot be made is Declined. Then ask for values.

        What is raised on values is Refused, unless it says that something is missing.
        """
        shapes = tuple(bits.shape for bits in inputs)
        try:
            outputs = outputs_on(case, parameters(case, shapes))
        except _FAILED as error:
            return turned_down(error)
        self._keep(case)
        tensors = [feed(dtype, bits) for dtype, bits in zip(case.inputs, inputs, strict=True)]
        results = tuple(output.get_element_type().to_string() for output in outputs)
        way = self._fold if ("input", "constant") in case.setting and self._feeds else self._way
        if _OVERRUN in results and way != self._evaluate:
            return Declined(f"the CPU plugin overruns an output of {_OVERRUN}", missing=True)
        return way(_Asked(case, inputs, tensors, results))

    def _keep(self, case: Case) -> None:
        """Forget the last question's models. Where the type of the output is the answer, the
        attributes are about the type, and the inferred type stands for them.
        """
        attributes = case.attributes if case.outputs else ()
        chain = tuple(hop.outputs for hop in case.hops), case.setting
        question = (case.spec, case.inputs, case.outputs, case.layout, attributes, chain)
        if self._kept.question != question:
            self._kept = _Kept(question)

    def _infer(self, asked: _Asked) -> Answer:
        """Let the plugin's kernel answer."""
        try:
            request = self._request(asked)
        except _FAILED as error:  # the graph is valid: a kernel is missing
            return Declined(turned_down(error).message, missing=True)
        for index, tensor in enumerate(asked.tensors[: self._fed(asked)]):
            # set_input_tensor lets an output that is an input unchanged point to freed memory
            copy(tensor, request.get_input_tensor(index))
        return self._run(asked, request)

    def _request(self, asked: _Asked) -> InferRequest:
        """Find or make the model for a call's shapes.

        Of thousands of types to find out, each has only one model, of unstated dimensions.
        """
        kept, shapes = self._kept, asked.shapes
        if asked.case.outputs and kept.first.setdefault(asked.results, shapes) == shapes:
            return self._compiled(asked, shapes)
        try:
            return self._compiled(asked, tuple((-1,) * len(shape) for shape in shapes))
        except _FAILED:  # dynamic dimensions are more than was asked
            return self._compiled(asked, shapes)

    def _compiled(self, asked: _Asked, dims: Dims) -> InferRequest:
        fed = self._fed(asked)
        parts = tuple(bits.tobytes() for bits in asked.inputs[fed:])
        key = (asked.results, dims, parts)
        if key not in self._kept.requests:
            if parts:  # calls of the same constants come one after the other
                self._kept.requests.clear()
            sources = [*parameters(asked.case, dims)[:fed], *constants(asked.tensors[fed:])]
            outputs = outputs_on(asked.case, sources)
            self._kept.requests[key] = self._compile(outputs, sources[:fed])
        return self._kept.requests[key]

    def _fed(self, asked: _Asked) -> int:
        """Return how many inputs of a call are fed; the others are constants."""
        return 1 if self._feeds_first else len(asked.inputs)

    def _compile(self, outputs: list[Output], inputs: list[Node]) -> InferRequest:
        from openvino import Model

        model = Model(outputs, inputs, "convcheck")
        return core().compile_model(model, "CPU", CONFIG).create_infer_request()

    def _run(self, asked: _Asked, request: InferRequest) -> Answer:
        try:
            request.infer(share_outputs=True)
        except _FAILED as error:
            return on_values(error)
        count = len(asked.case.outputs) or len(asked.results)  # of a chain, the middles come after
        tensors = [request.get_output_tensor(index) for index in range(count)]
        return fetch(asked.case, tensors, asked.inputs, self._names)

    def _fold(self, asked: _Asked) -> Answer:
        """Let the compiler fold Constants; equal questions of other attributes share an answer."""
        key = (asked.results, asked.shapes, *(bits.tobytes() for bits in asked.inputs))
        if key not in self._kept.answers:
            if asked.case.outputs:  # nothing else asks the same
                self._kept.answers.clear()
            self._kept.answers[key] = self._folded(asked)
        return self._kept.answers[key]

    def _folded(self, asked: _Asked) -> Answer:
        try:
            outputs = outputs_on(asked.case, constants(asked.tensors))
            huge = self._huge(asked, outputs)
            return huge or self._run(asked, self._compile(outputs, []))
        except _FAILED as error:
            return on_values(error)

    def _evaluate(self, asked: _Asked) -> Answer:
        """Let the core's reference answer, node by node."""
        try:
            outputs = outputs_on(asked.case, constants(asked.tensors))
            huge = self._huge(asked, outputs)
            return huge or self._walk(asked, outputs)
        except _FAILED as error:
            return on_values(error)

    def _walk(self, asked: _Asked, outputs: list[Output]) -> Answer:
        from openvino import Model

        values: dict[tuple[str, int], Tensor] = {}
        for node in Model(outputs, [], "convcheck").get_ordered_ops():
            if node.get_type_name() == "Result":
                continue
            made = _evaluated(node, values)
            if made is None:
                message = f"{node.get_type_name()} has no evaluate for these types"
                return Declined(message, missing=True)
            values.update({(node.get_name(), index): t for index, t in enumerate(made)})
        count = len(asked.case.outputs) or len(outputs)
        tensors = [values[_key(output)] for output in outputs[:count]]
        return fetch(asked.case, tensors, asked.inputs, self._names)

    def _huge(self, asked: _Asked, outputs: list[Output]) -> Oversized | None:
        """Answer with the shapes inferred from Constants, before memory is asked for, where one is
        too large.
        """
        partial = [output.get_partial_shape() for output in outputs]
        if any(shape.is_dynamic for shape in partial):
            return None
        shapes = [tuple(int(d) for d in shape.to_shape()) for shape in partial]
        return oversized(asked.case, asked.results, shapes, asked.inputs, self._names)


def _evaluated(node: Node, values: dict[tuple[str, int], Tensor]) -> list[Tensor] | None:
    """Compute a node's outputs from those of the nodes before it; None where it cannot."""
    from openvino import Shape, Tensor

    if node.get_type_name() == "Constant":
        return [node.tensor_view]
    made = []
    for output in node.outputs():
        shape = output.get_partial_shape()
        known = Shape() if shape.is_dynamic else shape.to_shape()
        made.append(Tensor(output.get_element_type(), known))
    inputs = [values[_key(value)] for value in node.input_values()]
    return made if node.evaluate(made, inputs) else None


def _key(output: Output) -> tuple[str, int]:
    return output.get_node().get_name(), output.get_index()


def _address(variant: str) -> str:
    return f"{WORLD}:{variant}" if variant else WORLD
