"""tract on the CPU as a backend: ONNX models, by its bindings for Python.

`tract` feeds the inputs, `tract:const` makes them constants of the model. One model answers for
each combination of ranks, with dimensions that it learns when it is called.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from convcheck.backends.installed import release_of
from convcheck.backends.onnx.arrays import to_answer, to_array
from convcheck.backends.onnx.importer import MadeByRanks, cannot_import
from convcheck.backends.onnx.model import build_ranked, is_of_onnx
from convcheck.backends.protocol import Answer, Declined, Refused
from convcheck.errors import UsageError
from convcheck.numerics.codes import Bits
from convcheck.rules.model import Case

if TYPE_CHECKING:
    from tract import Runnable

RUNTIME = "tract"
_SAYS = {"": "graph inputs", "const": "constants"}


class Tract:
    """tract's importer of ONNX and its default runtime; `variant` is '' or 'const'."""

    #: It takes graphs, and no option tells what becomes of one.
    graphs = ()

    def __init__(self, variant: str = "") -> None:
        """Raise UsageError for an unknown variant, ImportError where tract is not installed."""
        if variant not in _SAYS:
            hint = f"one of {RUNTIME}, {RUNTIME}:const"
            raise UsageError(f"the tract backend has no variant {variant!r}", hint=hint)
        import tract  # noqa: F401 it may be missing

        self._constant = bool(variant)
        self._made_by_ranks = MadeByRanks(_made)
        self.name = f"{RUNTIME}:{variant}" if variant else RUNTIME
        self.version = f"tract {version('tract')}, CPU, {_SAYS[variant]}"

    takes = staticmethod(is_of_onnx)

    @staticmethod
    def available() -> str:
        """Say which release there is. Raises UnavailableError where there is none."""
        return release_of(RUNTIME)

    def support(self, case: Case) -> Declined | None:
        """Decline what no ONNX model can say, and texts."""
        return cannot_import(case, self.name, constants=self._constant)

    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        """Run the case's graph on the inputs, whose shapes may differ from call to call.

        A model that does not load, and types that the bindings have not, are Declined, an exception
        of a run Refused.
        """
        import tract

        constant = self._constant or ("input", "constant") in case.setting
        model = _made(case, (), inputs) if constant else self._made_by_ranks.of(case, inputs)
        if isinstance(model, Declined):
            return model
        fed = []
        for dtype, bits in () if constant else zip(case.inputs, inputs, strict=True):
            try:
                fed.append(tract.Tensor.from_numpy(to_array(dtype, bits)))
            except (tract.TractError, TypeError) as error:  # a type that its bindings have not
                return Declined(_words(error), missing=True)
        try:
            made = model.run(fed)
        except tract.TractError as error:
            return Refused(_words(error))
        try:
            results = [tensor.to_numpy() for tensor in made]
        except tract.TractError as error:
            return Declined(_words(error), missing=True)
        return to_answer(case, results, inputs)


def _made(case: Case, ranks: Sequence[int], constants: Sequence[Bits] = ()) -> Runnable | Declined:
    """Load a case's model, for inputs of some ranks or with constants: from a file, as it wants."""
    import tract

    try:
        model = build_ranked(case, ranks, constants).SerializeToString()
    except Exception as error:  # of onnx's inference of shapes, which has its own
        return Declined(_words(error), missing=True)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        path.write_bytes(model)
        try:
            return tract.onnx().load(path).into_model().into_runnable()
        except tract.TractError as error:
            return Declined(_words(error), missing=True)


def _words(error: Exception) -> str:
    """Return an exception's words without the addresses of its stack."""
    return " ".join(str(error).partition("Stack backtrace:")[0].split())[:300]
