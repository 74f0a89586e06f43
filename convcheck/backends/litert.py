"""LiteRT (TensorFlow Lite): models of the operators in the specs' `calls`.

`litert` uses optimised kernels, `litert:xnnpack` also the default delegate, `litert:reference`
reference kernels. Sub-byte types have one element per byte.
"""

from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

import numpy as np

from convcheck.backends.library import Array, NumpyTypes, words
from convcheck.backends.packing import is_packed
from convcheck.backends.protocol import Declined
from convcheck.numerics.format import Int
from convcheck.numerics.number import Bits
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
    """LiteRT's interpreter on the CPU. Its types are numpy's names in capitals."""

    runtime, module, package = "litert", "ai_edge_litert", "ai-edge-litert"
    functions = ("CAST",)  # the schema's operator names
    says: Mapping[str, str] = {
        "": "CPU, optimised kernels, 1 thread",
        "xnnpack": "CPU, XNNPACK, 1 thread",
        "reference": "CPU, reference kernels, 1 thread",
    }
    graphs = ()

    def _start(self) -> str:
        import ml_dtypes  # noqa: F401 without it, LiteRT crashes
        from ai_edge_litert.interpreter import OpResolverType

        self._resolver = getattr(OpResolverType, _RESOLVERS[self._variant])
        self._kept: tuple[Case, tuple[int, ...], Any] | None = None
        return version(self.package)

    def support(self, case: Case) -> Declined | None:
        """Decline types that LiteRT lacks, and calls that its operator lacks."""
        if ("input", "constant") in case.setting:
            return Declined("litert folds no constants", missing=True)
        if declined := super().support(case):
            return declined
        for dtype in (t for cast in case.hops or (case,) for t in (*cast.inputs, *cast.outputs)):
            if _number(dtype) is None:
                return Declined(f"{self.runtime} has no type {dtype}", missing=True)
        return None

    def _cast(self, case: Case, array: Array) -> Array:
        try:
            interpreter = self._interpreter(case, array.shape)
            interpreter.set_tensor(0, array)
            interpreter.invoke()
            index, target = len(case.hops or (case,)), case.outputs[0]
            fmt = target.format
            if isinstance(fmt, Int) and is_packed(fmt):  # one element per byte
                values = np.asarray(interpreter.get_tensor(index)).view(np.uint8)
                return (values & (1 << fmt.bits) - 1).view(self._type_of(target))
            return np.array(interpreter.tensor(index)())  # get_tensor lacks bfloat16
        except ValueError as error:  # the Python interface lacks the type
            raise NotImplementedError(str(error)) from None
        except RuntimeError as error:
            if "unsupported" in words(error):
                raise NotImplementedError(str(error)) from None
            raise

    def _interpreter(self, case: Case, shape: tuple[int, ...]) -> Any:
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

    def _array(self, dtype: DType, bits: Bits) -> Array:
        array = super()._array(dtype, bits)
        if isinstance(dtype.format, Int) and is_packed(dtype.format):
            return array.astype(np.int8 if self._name_of(dtype).startswith("i") else np.uint8)
        return array


def _model(catalog: Catalog, case: Case, shape: tuple[int, ...]) -> bytes:
    """Return the model of a chain. Tensor 0 is the input, tensor k + 1 the output of operator k."""
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
    """Return a type's number in LiteRT's schema, None if it lacks the type."""
    from ai_edge_litert import schema_py_generated as schema

    return getattr(schema.TensorType, dtype.name_in(Litert.types).upper(), None)
