"""The onnx package's ReferenceEvaluator, with ml_dtypes arrays of one element per byte."""

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from convcheck.backends.onnx.model import (
    build,
    cannot_ask,
    input_names,
    is_of_onnx,
    plain_bits,
    to_answer,
    to_array,
)
from convcheck.backends.protocol import Answer, Declined, Refused
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
        self._evaluator = lru_cache(maxsize=1)(self._load)  # calls for a case follow each other

    takes = staticmethod(is_of_onnx)

    def support(self, case: Case) -> Declined | None:
        """Decline cases without an ONNX model."""
        return cannot_ask(case)

    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        """Evaluate the case. An exception that plain inputs also raise is Declined."""
        evaluator = self._evaluator(case)
        if isinstance(evaluator, Declined):
            return evaluator
        feeds = _feeds(case, inputs)
        try:
            found = _evaluate(evaluator, feeds)
        except Exception as error:  # numpy and Python raise anything
            plain = _answers_plain(evaluator, case)
            return Refused(_words(error)) if plain else _declined(error)
        return to_answer(case, found, inputs)

    def _load(self, case: Case) -> "ReferenceEvaluator | Declined":
        from onnx.reference import ReferenceEvaluator

        model = build(case)
        try:
            return ReferenceEvaluator(model)
        except Exception as error:  # as above
            return _declined(error)


def _feeds(case: Case, inputs: Sequence[Bits]) -> dict[str, NDArray[Any]]:
    return {
        name: to_array(dtype, bits)
        for name, dtype, bits in zip(input_names(case), case.inputs, inputs, strict=True)
    }


def _evaluate(
    evaluator: "ReferenceEvaluator", feeds: dict[str, NDArray[Any]]
) -> list[NDArray[Any]]:
    with np.errstate(all="ignore"):  # overflow, NaN to integer: the result is judged
        return [np.asarray(result) for result in evaluator.run(None, feeds)]


def _answers_plain(evaluator: "ReferenceEvaluator", case: Case) -> bool:
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
