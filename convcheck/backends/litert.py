"""LiteRT (TensorFlow Lite) as a backend: models of its operators, as the specs' `calls` say.

A model is made for the types and the shape of a call. `litert` has its optimised kernels,
`litert:xnnpack` the delegate that is on by default besides, `litert:reference` the reference
kernels. Arrays go in and come out as numpy's, those below eight bits a byte an element.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convcheck.backends.calls import cannot_call
from convcheck.backends.installed import release_of
from convcheck.backends.packing import is_packed
from convcheck.backends.protocol import Answer, Declined, Outputs, Refused
from convcheck.errors import UsageError
from convcheck.numerics.codes import Bits, Codes
from convcheck.numerics.format import Int
from convcheck.rules.load import Catalog, load, user_folders
from convcheck.rules.model import Case, DType, Spec

RUNTIME = "litert"  # its key in `calls`
TYPES = "ml_dtypes"  # its types are numpy's in capitals: their column in specs/dtypes.yaml
FUNCTIONS = ("CAST",)  # operators by their names in the schema
_RESOLVERS = {
    "": "BUILTIN_WITHOUT_DEFAULT_DELEGATES",
    "xnnpack": "BUILTIN",
    "reference": "BUILTIN_REF",
}
_SAYS = {"": "optimised kernels", "xnnpack": "XNNPACK", "reference": "reference kernels"}
_VERSION = 3  # of the schema
_IDENTIFIER = b"TFL3"


class Litert:
    """LiteRT's interpreter on the CPU, one thread; `variant` is '', 'xnnpack' or 'reference'."""

    #: It takes graphs, and no option tells what becomes of one.
    graphs = ()

    def __init__(self, variant: str = "", *, catalog: Catalog | None = None) -> None:
        """Take the specs' `calls` from a catalogue; without one, read the built-in and the user's.

        Raises UsageError for an unknown variant, ImportError where LiteRT is not installed.
        """
        if variant not in _RESOLVERS:
            hint = f"one of {RUNTIME}, {RUNTIME}:xnnpack, {RUNTIME}:reference"
            raise UsageError(f"the litert backend has no variant {variant!r}", hint=hint)
        import ml_dtypes  # noqa: F401 registers its types with numpy, without which LiteRT dies
        from ai_edge_litert.interpreter import OpResolverType

        self._resolver = getattr(OpResolverType, _RESOLVERS[variant])
        self._catalog = catalog or load(user_folders())
        self._kept: tuple[Case, tuple[int, ...], Any] | None = None
        self.name = f"{RUNTIME}:{variant}" if variant else RUNTIME
        self.version = f"litert {version('ai-edge-litert')}, CPU, {_SAYS[variant]}, 1 thread"

    @staticmethod
    def takes(spec: Spec) -> bool:
        """Return whether a run without a choice of specs asks this one."""
        return RUNTIME in spec.calls

    @staticmethod
    def available() -> str:
        """Say which release there is. Raises UnavailableError where there is none."""
        return release_of(RUNTIME, module="ai_edge_litert", package="ai-edge-litert")

    def support(self, case: Case) -> Declined | None:
        """Decline types that LiteRT has not, and what its operator cannot be asked."""
        if ("input", "constant") in case.setting:
            return Declined("litert folds no constants", missing=True)
        if declined := cannot_call(self._catalog, RUNTIME, FUNCTIONS, case, TYPES):
            return declined
        for dtype in (t for cast in case.hops or (case,) for t in (*cast.inputs, *cast.outputs)):
            if _number(dtype) is None:
                return Declined(f"{RUNTIME} has no type {dtype}", missing=True)
        return None

    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        """Convert the first input, its shape kept; a second one would only name the type.

        What LiteRT has no kernel or no array for is Declined, whatever else it raises is Refused.
        """
        array = _array(case.inputs[0], inputs[0])
        try:
            interpreter = self._interpreter(case, array.shape)
            interpreter.set_tensor(0, array)
            interpreter.invoke()
            result = _fetched(interpreter, len(case.hops or (case,)), case.outputs[0])
        except ValueError as error:  # of its interface to Python: no such array
            return Declined(_words(error), missing=True)
        except RuntimeError as error:
            words = _words(error)
            return Declined(words, missing=True) if "unsupported" in words else Refused(words)
        return Outputs((result,), (case.outputs[0].name,))

    def _interpreter(self, case: Case, shape: tuple[int, ...]) -> Any:
        """Make an interpreter for a case and a shape; the last one is kept."""
        if self._kept is None or self._kept[:2] != (case, shape):
            from ai_edge_litert.interpreter import Interpreter

            made = Interpreter(
                model_content=_model(self._catalog, case, shape),
                experimental_op_resolver_type=self._resolver,
                num_threads=1,
            )
            made.allocate_tensors()
            self._kept = (case, shape, made)
        return self._kept[2]


def _model(catalog: Catalog, case: Case, shape: tuple[int, ...]) -> bytes:
    """Return a model of a case's operator, or of a chain of them: tensor 0 is its input, and the
    output of operator k is tensor k + 1.
    """
    import flatbuffers
    from ai_edge_litert import schema_py_generated as schema

    hops = case.hops or (case,)
    model, graph = schema.ModelT(), schema.SubGraphT()
    model.version, model.buffers, model.subgraphs = _VERSION, [schema.BufferT()], [graph]
    model.operatorCodes, graph.operators = [], []
    graph.tensors = [
        _tensor(dtype, shape) for dtype in (case.inputs[0], *(h.outputs[0] for h in hops))
    ]
    seen = range(1, len(hops)) if ("middle", "exposed") in case.setting else ()
    graph.inputs, graph.outputs = [0], [len(hops), *seen]
    for index, hop in enumerate(hops):
        code, operator = schema.OperatorCodeT(), schema.OperatorT()
        code.version = 1
        code.builtinCode = getattr(
            schema.BuiltinOperator, catalog.specs[hop.spec].calls[RUNTIME].function
        )
        code.deprecatedBuiltinCode = code.builtinCode
        operator.opcodeIndex, operator.inputs, operator.outputs = index, [index], [index + 1]
        model.operatorCodes.append(code)
        graph.operators.append(operator)
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), _IDENTIFIER)
    return bytes(builder.Output())


def _tensor(dtype: DType, shape: tuple[int, ...]) -> Any:
    from ai_edge_litert import schema_py_generated as schema

    tensor = schema.TensorT()
    tensor.type, tensor.shape, tensor.hasRank, tensor.buffer = _number(dtype), [*shape], True, 0
    return tensor


def _number(dtype: DType) -> int | None:
    """Return a type's number in LiteRT's schema, None for a type that it has not."""
    from ai_edge_litert import schema_py_generated as schema

    return getattr(schema.TensorType, dtype.name_in(TYPES).upper(), None)


def _array(dtype: DType, bits: Bits) -> NDArray[Any]:
    """View codes as numpy's type; below eight bits, an element has its value in a byte."""
    codes = np.asarray(bits, dtype.format.storage, order="C")
    array: NDArray[Any] = codes.view(np.dtype(dtype.name_in(TYPES)))
    if isinstance(dtype.format, Int) and is_packed(dtype.format):
        return array.astype(np.int8 if dtype.name_in(TYPES).startswith("i") else np.uint8)
    return array


def _fetched(interpreter: Any, index: int, dtype: DType) -> Bits:
    """Return a copy of a tensor's codes."""
    fmt = dtype.format
    if isinstance(fmt, Int) and is_packed(fmt):
        values: Codes = np.asarray(interpreter.get_tensor(index)).view(np.uint8)
        low: Codes = values & np.uint8((1 << fmt.bits) - 1)
        return low
    array = np.array(interpreter.tensor(index)())  # get_tensor has no bfloat16
    codes: Bits = array.view(dtype.format.storage)
    return codes


def _words(error: Exception) -> str:
    return " ".join(str(error).split())
