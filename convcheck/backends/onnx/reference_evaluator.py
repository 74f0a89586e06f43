"""The onnx package's ReferenceEvaluator as a backend.

It computes in numpy: narrow types as ml_dtypes arrays, one element a byte with the high bits 0,
string inputs as object arrays, string outputs as whatever numpy makes of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from convcheck.backends.binaries import module_paths
from convcheck.backends.onnx.model import (
    build,
    cannot_ask,
    input_names,
    is_of_onnx,
    tensor_type_number,
)
from convcheck.backends.packing import too_large
from convcheck.backends.protocol import Answer, Declined, Outputs, Oversized, Refused
from convcheck.numerics.format import Bits, Text
from convcheck.rules.model import Case, DType

if TYPE_CHECKING:
    from onnx.reference import ReferenceEvaluator

_TEXT_KINDS = "OU"  # numpy's letters for arrays of objects and of fixed-width texts
_PLAIN_SHAPES: tuple[tuple[int, ...], ...] = ((), (1,))


class OnnxReference:
    """The reference evaluator, at the opset of the spec under test."""

    name = "onnx-reference"

    def __init__(self) -> None:
        import onnx

        self.version = f"onnx {onnx.__version__} ReferenceEvaluator"
        self._case: Case | None = None
        self._evaluator: ReferenceEvaluator | Declined = Declined("no case yet")

    takes = staticmethod(is_of_onnx)

    @staticmethod
    def code(variant: str) -> list[Path]:
        """Return what answers: the folders of packages."""
        return module_paths("onnx", "ml_dtypes", "numpy")

    def support(self, case: Case) -> Declined | None:
        """Decline what no ONNX model can say."""
        return cannot_ask(case)

    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        """Evaluate the case's node on the inputs, whose shapes may differ from call to call.

        An exception that plain inputs raise as well is Declined; one that comes of these values
        or shapes is Refused.
        """
        evaluator = self._load(case)
        if isinstance(evaluator, Declined):
            return evaluator
        feeds = _feeds(case, inputs)
        try:
            found = _evaluate(evaluator, feeds)
        except Exception as error:  # operators raise whatever numpy and Python raise
            return _failure(evaluator, case, error)
        results = [_codes(array, (*case.outputs, *case.inputs)) for array in found]
        arrays, names = tuple(bits for bits, _ in results), tuple(name for _, name in results)
        if any(too_large(bits.shape, inputs) for bits in arrays):
            return Oversized(tuple(bits.shape for bits in arrays), names)
        return Outputs(arrays, names)

    def _load(self, case: Case) -> ReferenceEvaluator | Declined:
        from onnx.reference import ReferenceEvaluator

        if self._case != case:
            model = build(case)
            try:
                self._evaluator = ReferenceEvaluator(model)
            except Exception as error:  # as above
                self._evaluator = _declined(error)
            self._case = case
        return self._evaluator


def _feeds(case: Case, inputs: Sequence[Bits]) -> dict[str, NDArray[Any]]:
    return {
        name: _array(dtype, bits)
        for name, dtype, bits in zip(input_names(case), case.inputs, inputs, strict=True)
    }


def _evaluate(evaluator: ReferenceEvaluator, feeds: dict[str, NDArray[Any]]) -> list[NDArray[Any]]:
    with np.errstate(all="ignore"):  # overflow, NaN to integer: what comes out is judged
        return [np.asarray(result) for result in evaluator.run(None, feeds)]


def _failure(evaluator: ReferenceEvaluator, case: Case, error: Exception) -> Declined | Refused:
    return Refused(_words(error)) if _answers_plain(evaluator, case) else _declined(error)


def _answers_plain(evaluator: ReferenceEvaluator, case: Case) -> bool:
    """Return whether the evaluator answers a case at all: on plain values, scalar or not."""
    for shape in _PLAIN_SHAPES:
        feeds = _feeds(case, [_plain(dtype, shape) for dtype in case.inputs])
        try:
            _evaluate(evaluator, feeds)
        except Exception:  # noqa: S112 the first error is the one that is reported
            continue
        return True
    return False


def _plain(dtype: DType, shape: tuple[int, ...]) -> Bits:
    """Return the text "1", or the code 1: a small value in every format."""
    value = "1" if isinstance(dtype.format, Text) else 1
    return np.full(shape, value, dtype.format.storage)


def _declined(error: Exception) -> Declined:
    missing = isinstance(error, (TypeError, KeyError, NotImplementedError))
    return Declined(_words(error), missing)


def _words(error: Exception) -> str:
    """Return an exception's words; the evaluator wraps an operator's TypeError in its own."""
    cause = error.__cause__ or error
    return f"{type(cause).__name__}: {cause}"


def _array(dtype: DType, bits: Bits) -> NDArray[Any]:
    """View codes as the numpy type that onnx has for the type."""
    if isinstance(dtype.format, Text):
        return bits
    return np.asarray(bits, dtype.format.storage).view(_numpy_type(dtype))


def _codes(array: NDArray[Any], types: Sequence[DType]) -> tuple[Bits, str]:
    """Return an array's codes and convcheck's name of its type; numpy's name of an unknown one."""
    name = next((t.name for t in types if _is_of(array, t)), str(array.dtype))
    if array.dtype.kind in _TEXT_KINDS:
        return array.astype(object), name
    return array.view(f"u{array.dtype.itemsize}"), name


def _is_of(array: NDArray[Any], dtype: DType) -> bool:
    if isinstance(dtype.format, Text):
        return array.dtype.kind in _TEXT_KINDS
    return array.dtype == _numpy_type(dtype)


def _numpy_type(dtype: DType) -> np.dtype[Any]:
    from onnx import helper

    return np.dtype(helper.tensor_dtype_to_np_dtype(tensor_type_number(dtype)))
