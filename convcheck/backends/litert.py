"""LiteRT (TensorFlow Lite) as a backend: models of its operators, as the specs' `calls` say.

A model is made for the types and the shape of a call. `litert` has its optimised kernels,
`litert:xnnpack` the delegate that is on by default besides, `litert:reference` the reference
kernels. Arrays go in and come out as numpy's, those below eight bits a byte an element.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

import numpy as np

from convcheck.backends.library import Array, NumpyTypes, words
from convcheck.backends.packing import is_packed
from convcheck.backends.protocol import Declined
from convcheck.numerics.codes import Bits
from convcheck.numerics.format import Int
from convcheck.rules.load import Catalog
from convcheck.rules.model import Case, DType

_RESOLVERS = {
    "": "BUILTIN_WITHOUT_DEFAULT_DELEGATES",
    "xnnpack": "BUILTIN",
    "reference": "BUILTIN_REF",
}
_VERSION = 3  # of the schema
_IDENTIFIER = b"TFL3"


class Litert(NumpyTypes):
    """LiteRT's interpreter on the CPU, one thread; its types are numpy's, in capitals."""

    runtime, module, package = "litert", "ai_edge_litert", "ai-edge-litert"
    functions = ("CAST",)  # operators by their names in the schema
    says: Mapping[str, str] = {
        "": "CPU, optimised kernels, 1 thread",
        "xnnpack": "CPU, XNNPACK, 1 thread",
        "reference": "CPU, reference kernels, 1 thread",
    }
    #: It takes graphs, and no option tells what becomes of one.
    graphs = ()

    def start(self) -> str:
        """Import LiteRT, and the types of numpy without which it dies."""
        import ml_dtypes  # noqa: F401
        from ai_edge_litert.interpreter import OpResolverType

        self._resolver = getattr(OpResolverType, _RESOLVERS[self._variant])
        self._kept: tuple[Case, tuple[int, ...], Any] | None = None
        return version(self.package)

    def support(self, case: Case) -> Declined | None:
        """Decline types that LiteRT has not, and what its operator cannot be asked."""
        if ("input", "constant") in case.setting:
            return Declined("litert folds no constants", missing=True)
        if declined := super().support(case):
            return declined
        for dtype in (t for cast in case.hops or (case,) for t in (*cast.inputs, *cast.outputs)):
            if _number(dtype) is None:
                return Declined(f"{self.runtime} has no type {dtype}", missing=True)
        return None

    def cast(self, case: Case, array: Array) -> Array:
        """Run the model of a case. Raises NotImplementedError for what has no kernel or array."""
        try:
            interpreter = self._interpreter(case, array.shape)
            interpreter.set_tensor(0, array)
            interpreter.invoke()
            index, target = len(case.hops or (case,)), case.outputs[0]
            fmt = target.format
            if isinstance(fmt, Int) and is_packed(fmt):  # an element has its value in a byte
                values = np.asarray(interpreter.get_tensor(index)).view(np.uint8)
                return (values & (1 << fmt.bits) - 1).view(self.type_of(target))
            return np.array(interpreter.tensor(index)())  # get_tensor has no bfloat16
        except ValueError as error:  # of its interface to Python: no such array
            raise NotImplementedError(str(error)) from None
        except RuntimeError as error:
            if "unsupported" in words(error):
                raise NotImplementedError(str(error)) from None
            raise

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

    def array(self, dtype: DType, bits: Bits) -> Array:
        """View codes as numpy's type; below eight bits, an element has its value in a byte."""
        array = super().array(dtype, bits)
        if isinstance(dtype.format, Int) and is_packed(dtype.format):
            return array.astype(np.int8 if self.name_of(dtype).startswith("i") else np.uint8)
        return array


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
            schema.BuiltinOperator, catalog.specs[hop.spec].calls[Litert.runtime].function
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

    return getattr(schema.TensorType, dtype.name_in(Litert.types).upper(), None)
