"""Runtimes that import ONNX models: one model answers for each combination of the inputs' ranks.

A variant, or the setting of a chain, may make the inputs constants of the model instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from convcheck.backends.installed import release_of, variant_name
from convcheck.backends.onnx.arrays import to_answer, to_array
from convcheck.backends.onnx.model import build_ranked, cannot_ask, is_of_onnx
from convcheck.backends.protocol import Answer, Declined, Refused
from convcheck.numerics.codes import Bits
from convcheck.numerics.format import Text
from convcheck.rules.model import Case

CONSTANT = "const"  # the variant whose inputs are constants
Model = Any  # of the runtime's own class, ready to be run
_SHOWN = 300  # characters of an exception


class Importer:
    """A runtime that runs what it makes of an ONNX model."""

    #: Its name, which is its extra and its module.
    runtime: ClassVar[str]
    #: The name of its package.
    package: ClassVar[str]
    #: Its variants, and what the version says of each.
    says: Mapping[str, str]
    #: What it raises for values. Anything else is a fault of the adapter.
    refusals: tuple[type[Exception], ...]
    #: Whether its integers have no sign of their own.
    signless: ClassVar[bool] = False
    #: It takes graphs, and no option tells what becomes of one.
    graphs = ()

    def __init__(self, variant: str = "") -> None:
        """Raise UsageError for an unknown variant, ImportError where it is not installed."""
        self.name = variant_name(self.runtime, variant, self.says)
        self._variant = variant
        self.version = f"{self.start()}, {self.says[variant]}"
        self._case: Case | None = None
        self._models: dict[tuple[int, ...], Model | Declined] = {}

    takes = staticmethod(is_of_onnx)

    @classmethod
    def available(cls) -> str:
        """Say which release there is. Raises UnavailableError where there is none."""
        return release_of(cls.runtime, package=cls.package)

    def support(self, case: Case) -> Declined | None:
        """Decline what no ONNX model can say, texts, and inputs that are fed where all are
        constants.
        """
        if any(isinstance(dtype.format, Text) for dtype in (*case.inputs, *case.outputs)):
            return Declined(f"{self.name} takes no texts from Python", missing=True)
        if ("input", "fed") in case.setting and self._variant == CONSTANT:
            return Declined(f"{self.name} has constants as inputs")
        return cannot_ask(case)

    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        """Run the case's graph on the inputs, whose shapes may differ from call to call.

        A graph that is not imported or compiled, and a type that its interface to Python has not,
        are Declined, an exception of a run Refused.
        """
        constant = self._variant == CONSTANT or ("input", "constant") in case.setting
        model = self._model(case, (), inputs) if constant else self._of_ranks(case, inputs)
        if isinstance(model, Declined):
            return model
        pairs = [] if constant else zip(case.inputs, inputs, strict=True)
        arrays = [to_array(dtype, bits) for dtype, bits in pairs]
        try:
            fed = [self.tensor(array) for array in arrays]
        except Exception as error:  # a type that it has not
            return Declined(self.words(error), missing=True)
        try:
            results = self.run(model, fed)
        except NotImplementedError as error:
            return Declined(str(error), missing=True)
        except self.refusals as error:
            return self.failed(case, None if constant else model, inputs, error)
        return to_answer(case, results, inputs, self.signless)

    def _of_ranks(self, case: Case, inputs: Sequence[Bits]) -> Model | Declined:
        """Return the model for the ranks of a call's inputs; those of the last case are kept."""
        if self._case != case:
            self._case, self._models = case, {}
        ranks = tuple(bits.ndim for bits in inputs)
        if ranks not in self._models:
            self._models[ranks] = self._model(case, ranks)
        return self._models[ranks]

    def _model(
        self, case: Case, ranks: Sequence[int], constants: Sequence[Bits] = ()
    ) -> Model | Declined:
        try:
            with np.errstate(all="ignore"):  # constants may be folded by numpy
                return self.model(build_ranked(case, ranks, constants))
        except Exception as error:  # of onnx or of the importer: whatever they raise
            return Declined(self.words(error), missing=True)

    # What a runtime says

    def start(self) -> str:
        """Import the runtime, and return what it is and its release."""
        raise NotImplementedError

    def model(self, proto: Any) -> Model:
        """Import and compile a model of the onnx package."""
        raise NotImplementedError

    def tensor(self, array: NDArray[Any]) -> Any:
        """Return an array as the runtime takes it."""
        raise NotImplementedError

    def run(self, model: Model, fed: Sequence[Any]) -> list[NDArray[Any]]:
        """Run a model, and return its outputs. Raises NotImplementedError for a type of one that
        its interface to Python has not.
        """
        raise NotImplementedError

    def failed(
        self, case: Case, model: Model | None, inputs: Sequence[Bits], error: Exception
    ) -> Declined | Refused:
        """Judge an exception of a run. `model`: what was run, None where it has no inputs."""
        return Refused(self.words(error))

    def words(self, error: Exception) -> str:
        """Return the words of an exception on one line."""
        return " ".join(f"{type(error).__name__}: {error}".split())[:_SHOWN]
