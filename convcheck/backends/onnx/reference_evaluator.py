"""The onnx package's ReferenceEvaluator, with ml_dtypes arrays of one element per byte."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from convcheck.backends.onnx.model import (
    build,
    cannot_ask,
    input_names,
    is_of_onnx,
    plain_bits,
    to_array,
    to_codes,
)
from convcheck.backends.packing import too_large
from convcheck.backends.protocol import Answer, Declined, Outputs, Oversized, Refused
from convcheck.numerics.number import Bits
from convcheck.rules.model import Case

if TYPE_CHECKING:
    from onnx.reference import ReferenceEvaluator

_PLAIN_SHAPES: tuple[tuple[int, ...], ...] = ((), (1,))


class OnnxReference:
    """The reference evaluator at the spec's opset."""

    name = "onnx-reference"

    def __init__(self) -> None:
        import onnx

        self.version = f"onnx {onnx.__version__} ReferenceEvaluator"
        self._case: Case | None = None
        self._evaluator: ReferenceEvaluator | Declined = Declined("no case yet")

    takes = staticmethod(is_of_onnx)

    def support(self, case: Case) -> Declined | None:
        """Decline cases without an ONNX model."""
        return cannot_ask(case)

    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        """Evaluate the case. An exception that plain inputs also raise is Declined."""
        evaluator = self._load(case)
        if isinstance(evaluator, Declined):
            return evaluator
        feeds = _feeds(case, inputs)
        try:
            found = _evaluate(evaluator, feeds)
        except Exception as error:  # numpy and Python raise anything
            return _failure(evaluator, case, error)
        results = [to_codes(array, (*case.outputs, *case.inputs)) for array in found]
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
        name: to_array(dtype, bits)
        for name, dtype, bits in zip(input_names(case), case.inputs, inputs, strict=True)
    }


def _evaluate(evaluator: ReferenceEvaluator, feeds: dict[str, NDArray[Any]]) -> list[NDArray[Any]]:
    with np.errstate(all="ignore"):  # overflow, NaN to integer: the result is judged
        return [np.asarray(result) for result in evaluator.run(None, feeds)]


def _failure(evaluator: ReferenceEvaluator, case: Case, error: Exception) -> Declined | Refused:
    return Refused(_words(error)) if _answers_plain(evaluator, case) else _declined(error)


def _answers_plain(evaluator: ReferenceEvaluator, case: Case) -> bool:
    for shape in _PLAIN_SHAPES:
        feeds = _feeds(case, [plain_bits(dtype, shape) for dtype in case.inputs])
        try:
            _evaluate(evaluator, feeds)
        except Exception:  # noqa: S112 the first error is the one that is reported
            continue
        return True
    return False


def _declined(error: Exception) -> Declined:
    missing = isinstance(error, (TypeError, KeyError, NotImplementedError))
    return Declined(_words(error), missing)


def _words(error: Exception) -> str:
    cause = error.__cause__ or error
    return f"{type(cause).__name__}: {cause}"
