"""Apache TVM on the CPU: ONNX models through its frontend, compiled with LLVM."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import NDArray

from convcheck.backends.onnx.importer import CONSTANT, Importer, Model
from convcheck.backends.onnx.model import plain_bits, to_array
from convcheck.backends.protocol import Declined, Refused
from convcheck.numerics.number import Bits
from convcheck.rules.model import Case


class Tvm(Importer):
    """TVM's ONNX frontend, compiler and virtual machine."""

    runtime, package = "tvm", "apache-tvm"
    says: Mapping[str, str] = {"": "llvm, graph inputs", CONSTANT: "llvm, constants"}
    refusals = (Exception,)  # its exceptions share only this base class

    def start(self) -> str:
        """Import TVM."""
        import tvm

        return f"tvm {tvm.__version__}"

    def model(self, proto: Any) -> Model:
        """Compile a model."""
        import tvm
        from tvm import relax
        from tvm.relax.frontend.onnx import from_onnx

        module = from_onnx(proto, keep_params_in_input=False)
        return relax.VirtualMachine(tvm.compile(module, target="llvm"), tvm.cpu())["main"]

    def tensor(self, array: NDArray[Any]) -> Any:
        """Return an array as TVM's tensor."""
        import tvm

        return tvm.runtime.tensor(array)

    def run(self, model: Model, fed: Sequence[Any]) -> list[NDArray[Any]]:
        """Call a function of the virtual machine."""
        made = model(*fed)
        return [one.numpy() for one in ([made] if hasattr(made, "numpy") else made)]

    def failed(
        self, case: Case, model: Model | None, inputs: Sequence[Bits], error: Exception
    ) -> Declined | Refused:
        """Classify an exception: Refused if the function answers plain values of these shapes."""
        answers = model is not None and self._answers_plain(case, model, inputs)
        words = self.words(error)
        return Refused(words) if answers else Declined(words, missing=True)

    def _answers_plain(self, case: Case, model: Model, inputs: Sequence[Bits]) -> bool:
        shapes = zip(case.inputs, (bits.shape for bits in inputs), strict=True)
        plain = [to_array(dtype, plain_bits(dtype, shape)) for dtype, shape in shapes]
        try:
            model(*map(self.tensor, plain))
        except Exception:  # the first error is reported
            return False
        return True

    def words(self, error: Exception) -> str:
        """Return the end of an exception's message, which has the error."""
        return f"{type(error).__name__}: {' '.join(str(error).split())[-300:]}"
