"""Apache TVM on the CPU as a backend: ONNX models through its frontend, compiled by LLVM.

`tvm` feeds the inputs, `tvm:const` makes them constants of the model. One function answers for each
combination of ranks, with dimensions that it learns when it is called.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from convcheck.backends.installed import release_of
from convcheck.backends.onnx.arrays import plain_bits, to_answer, to_array
from convcheck.backends.onnx.importer import MadeByRanks, cannot_import
from convcheck.backends.onnx.model import build_ranked, is_of_onnx
from convcheck.backends.protocol import Answer, Declined, Refused
from convcheck.errors import UsageError
from convcheck.numerics.codes import Bits
from convcheck.rules.model import Case

RUNTIME = "tvm"
_SAYS = {"": "graph inputs", "const": "constants"}

Function = Callable[..., Any]


class Tvm:
    """TVM's frontend for ONNX, its compiler and its virtual machine; `variant` is '' or 'const'."""

    #: It takes graphs, and no option tells what becomes of one.
    graphs = ()

    def __init__(self, variant: str = "") -> None:
        """Raise UsageError for an unknown variant, ImportError where TVM is not installed."""
        if variant not in _SAYS:
            hint = f"one of {RUNTIME}, {RUNTIME}:const"
            raise UsageError(f"the tvm backend has no variant {variant!r}", hint=hint)
        import tvm

        self._constant = bool(variant)
        self._made_by_ranks = MadeByRanks(_made)
        self.name = f"{RUNTIME}:{variant}" if variant else RUNTIME
        self.version = f"tvm {tvm.__version__}, llvm, {_SAYS[variant]}"

    takes = staticmethod(is_of_onnx)

    @staticmethod
    def available() -> str:
        """Say which release there is. Raises UnavailableError where there is none."""
        return release_of(RUNTIME, package="apache-tvm")

    def support(self, case: Case) -> Declined | None:
        """Decline what no ONNX model can say, and texts."""
        return cannot_import(case, self.name, constants=self._constant)

    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        """Run the case's graph on the inputs, whose shapes may differ from call to call.

        A graph that is not imported or compiled is Declined, an exception of a run Refused.
        """
        import tvm

        constant = self._constant or ("input", "constant") in case.setting
        function = _made(case, (), inputs) if constant else self._made_by_ranks.of(case, inputs)
        if isinstance(function, Declined):
            return function
        fed = []
        for dtype, bits in () if constant else zip(case.inputs, inputs, strict=True):
            try:
                fed.append(tvm.runtime.tensor(to_array(dtype, bits)))
            except Exception as error:  # a type that its interface to Python has not
                return Declined(_words(error), missing=True)
        try:
            made = function(*fed)
        except Exception as error:  # tvm's exceptions share no other base class
            answers = not constant and _answers_plain(case, function, inputs)
            return Refused(_words(error)) if answers else Declined(_words(error), missing=True)
        results = [made] if hasattr(made, "numpy") else list(made)
        return to_answer(case, [result.numpy() for result in results], inputs)


def _answers_plain(case: Case, function: Function, inputs: Sequence[Bits]) -> bool:
    """Return whether a function answers at all: on plain values of the shapes."""
    import tvm

    plain = [plain_bits(t, bits.shape) for t, bits in zip(case.inputs, inputs, strict=True)]
    fed = [tvm.runtime.tensor(to_array(t, x)) for t, x in zip(case.inputs, plain, strict=True)]
    try:
        function(*fed)
    except Exception:  # whatever it is: the one of the asked values is reported
        return False
    return True


def _made(case: Case, ranks: Sequence[int], constants: Sequence[Bits] = ()) -> Function | Declined:
    """Compile a case for inputs of some ranks, or with constants."""
    import tvm
    from tvm import relax
    from tvm.relax.frontend.onnx import from_onnx

    try:
        with np.errstate(all="ignore"):  # numpy folds constants; its warnings are no noise
            module = from_onnx(build_ranked(case, ranks, constants), keep_params_in_input=False)
            machine = relax.VirtualMachine(tvm.compile(module, target="llvm"), tvm.cpu())
    except Exception as error:  # tvm's exceptions share no other base class
        return Declined(_words(error), missing=True)
    made: Function = machine["main"]
    return made


def _words(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[-300:]}"
