"""Runtimes that import ONNX models, one model per combination of input ranks.

A variant, or a chain's setting, makes the inputs constants.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from convcheck.backends.native import release_of, variant_name
from convcheck.backends.onnx.model import build_ranked, cannot_ask, is_of_onnx, to_answer, to_array
from convcheck.backends.protocol import Answer, Declined, Refused
from convcheck.numerics.format import Text
from convcheck.numerics.number import Bits
from convcheck.rules.model import Case

CONSTANT = "const"  # the variant with constants as inputs
Model = Any  # the runtime's compiled model
_SHOWN = 300  # characters of an exception


class Importer:
    """A runtime that compiles and runs ONNX models."""

    runtime: ClassVar[str]  # its name, also of its extra and module
    package: ClassVar[str]
    #: Its variants, with their description in the version.
    says: Mapping[str, str]
    refusals: tuple[type[Exception], ...]  # for values; all others are errors of the adapter
    signless: ClassVar[bool] = False  # whether its integers have no sign
    graphs = ()

    def __init__(self, variant: str = "") -> None:
        """Raises UsageError for an unknown variant, ImportError if the runtime is not installed."""
        self.name = variant_name(self.runtime, variant, self.says)
        self._variant = variant
        self.version = f"{self._start()}, {self.says[variant]}"
        self._case: Case | None = None
        self._models: dict[tuple[int, ...], Model | Declined] = {}

    takes = staticmethod(is_of_onnx)

    @classmethod
    def available(cls) -> str:
        """Return the installed release. Raises UnavailableError."""
        return release_of(cls.runtime, package=cls.package)

    def support(self, case: Case) -> Declined | None:
        """Decline cases without an ONNX model, texts, and fed inputs in the constant variant."""
        if any(isinstance(dtype.format, Text) for dtype in (*case.inputs, *case.outputs)):
            return Declined(f"{self.name} takes no texts from Python", missing=True)
        if ("input", "fed") in case.setting and self._variant == CONSTANT:
            return Declined(f"{self.name} has constants as inputs")
        return cannot_ask(case)

    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        """Run the case's graph. Graphs that do not compile and unsupported types are Declined."""
        constant = self._variant == CONSTANT or ("input", "constant") in case.setting
        model = self._of_case(case, (), inputs) if constant else self._of_ranks(case, inputs)
        if isinstance(model, Declined):
            return model
        pairs = [] if constant else zip(case.inputs, inputs, strict=True)
        arrays = [to_array(dtype, bits) for dtype, bits in pairs]
        try:
            fed = [self._tensor(array) for array in arrays]
        except Exception as error:  # a type that it lacks
            return Declined(self._words(error), missing=True)
        try:
            results = self._run(model, fed)
        except NotImplementedError as error:
            return Declined(str(error), missing=True)
        except self.refusals as error:
            return self._failed(case, None if constant else model, inputs, error)
        return to_answer(case, results, inputs, self.signless)

    def _of_ranks(self, case: Case, inputs: Sequence[Bits]) -> Model | Declined:
        if self._case != case:
            self._case, self._models = case, {}
        ranks = tuple(bits.ndim for bits in inputs)
        if ranks not in self._models:
            self._models[ranks] = self._of_case(case, ranks)
        return self._models[ranks]

    def _of_case(
        self, case: Case, ranks: Sequence[int], constants: Sequence[Bits] = ()
    ) -> Model | Declined:
        try:
            with np.errstate(all="ignore"):  # numpy may fold constants
                return self._compiled(build_ranked(case, ranks, constants))
        except Exception as error:  # onnx and importers raise anything
            return Declined(self._words(error), missing=True)

    def _start(self) -> str:
        """Import the runtime and return its name and release."""
        raise NotImplementedError

    def _compiled(self, proto: Any) -> Model:
        """Import and compile an ONNX model."""
        raise NotImplementedError

    def _tensor(self, array: NDArray[Any]) -> Any:
        """Return an array as the runtime's tensor."""
        raise NotImplementedError

    def _run(self, model: Model, fed: Sequence[Any]) -> list[NDArray[Any]]:
        """Run a model. Raises NotImplementedError for outputs without a Python interface."""
        raise NotImplementedError

    def _failed(
        self, case: Case, model: Model | None, inputs: Sequence[Bits], error: Exception
    ) -> Declined | Refused:
        """Classify an exception of a run. `model` is None if it has no inputs."""
        return Refused(self._words(error))

    def _words(self, error: Exception) -> str:
        return " ".join(f"{type(error).__name__}: {error}".split())[:_SHOWN]
