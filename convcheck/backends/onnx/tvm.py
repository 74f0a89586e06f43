"""Apache TVM on the CPU: ONNX models compiled with LLVM."""

from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import NDArray

from convcheck.backends.onnx.importer import CONSTANT, Importer, Model
from convcheck.backends.onnx.model import plain_bits, to_array
from convcheck.backends.protocol import Declined, Refused
from convcheck.numerics.number import Bits
from convcheck.rules.model import Case


class Tvm(Importer):
    """TVM's frontend, compiler and virtual machine."""

    runtime, package = "tvm", "apache-tvm"
    says: Mapping[str, str] = {"": "llvm, graph inputs", CONSTANT: "llvm, constants"}
    refusals = (Exception,)  # its exceptions share only this base class

    def _start(self) -> str:
        import tvm

        return f"tvm {tvm.__version__}"

    def _compiled(self, proto: Any) -> Model:
        import tvm
        from tvm import relax
        from tvm.relax.frontend.onnx import from_onnx

        module = from_onnx(proto, keep_params_in_input=False)
        return relax.VirtualMachine(tvm.compile(module, target="llvm"), tvm.cpu())["main"]

    def _tensor(self, array: NDArray[Any]) -> Any:
        import tvm

        return tvm.runtime.tensor(array)

    def _run(self, model: Model, fed: Sequence[Any]) -> list[NDArray[Any]]:
        made = model(*fed)
        return [one.numpy() for one in ([made] if hasattr(made, "numpy") else made)]

    def _failed(
        self, case: Case, model: Model | None, inputs: Sequence[Bits], error: Exception
    ) -> Declined | Refused:
        """Return Refused if the function answers plain values of these shapes."""
        answers = model is not None and self._answers_plain(case, model, inputs)
        words = self._words(error)
        return Refused(words) if answers else Declined(words, missing=True)

    def _answers_plain(self, case: Case, model: Model, inputs: Sequence[Bits]) -> bool:
        shapes = zip(case.inputs, (bits.shape for bits in inputs), strict=True)
        plain = [to_array(dtype, plain_bits(dtype, shape)) for dtype, shape in shapes]
        try:
            model(*map(self._tensor, plain))
        except Exception:  # the first error is reported
            return False
        return True

    def _words(self, error: Exception) -> str:
        return f"{type(error).__name__}: {' '.join(str(error).split())[-300:]}"
