"""tinygrad: the functions in the specs' `calls`, compiled for a device without cached kernels.

`tinygrad` compiles kernels with clang, `tinygrad:python` interprets them in Python.
"""

import os
import shutil
import subprocess
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

import numpy as np

from convcheck.backends.library import ARANGE, Array, TensorLibrary, seen
from convcheck.backends.packing import too_large
from convcheck.backends.protocol import Declined
from convcheck.errors import UnavailableError
from convcheck.numerics.number import Bits
from convcheck.rules.model import Case, DType

_INSTEAD = "install clang, or ask tinygrad:python"


class Tinygrad(TensorLibrary):
    """tinygrad on a device that every machine has."""

    runtime = "tinygrad"
    functions = ("cast", ARANGE)
    says: Mapping[str, str] = {
        "": "device CPU, kernels compiled",
        "python": "device PYTHON, kernels interpreted",
    }
    graphs = ()

    def _start(self) -> str:
        from tinygrad.helpers import CACHELEVEL

        CACHELEVEL.value = 0  # another compiler could have made cached kernels
        self._device, release = "PYTHON" if self._variant else "CPU", version("tinygrad")
        return release if self._variant else f"{release}, {_compiler()}"

    def support(self, case: Case) -> Declined | None:
        """Decline constants, and types and calls that tinygrad lacks."""
        if ("input", "constant") in case.setting:
            return Declined("an array is no constant of a kernel of tinygrad", missing=True)
        return super().support(case)

    def _cast(self, case: Case, array: Array) -> Array:
        from tinygrad import Tensor

        made = seen(case, array, lambda hop, it: it.cast(self._type_of(hop.outputs[0])))
        if len(made) > 1 and array.numel():
            Tensor.realize(*reversed(made))
        return _computed(made[0])

    def _arange(self, case: Case, start: float, stop: float, step: float) -> Array:
        from tinygrad import Context, Tensor

        with Context(DEV=self._device):
            kind = self._type_of(case.outputs[0])
            made = Tensor.arange(start, stop, step, dtype=kind).contiguous()
            return made if too_large(made.shape, ()) else _computed(made)

    def _type_of(self, dtype: DType) -> Any:
        from tinygrad import dtypes

        return getattr(dtypes, self._name_of(dtype))

    def _array(self, dtype: DType, bits: Bits) -> Array:
        from tinygrad import Tensor

        made = {"dtype": self._type_of(dtype), "device": self._device}
        if not bits.size:
            return Tensor.empty(*bits.shape, **made)
        memory = np.asarray(bits, dtype.format.storage).tobytes()
        return Tensor(memory, **made).reshape(bits.shape).realize()

    def _codes(self, dtype: DType, array: Array) -> Bits:
        memory = bytes(array._buffer().as_memoryview()) if array.numel() else b""
        return np.frombuffer(memory, dtype.format.storage).reshape(array.shape)


def _computed(tensor: Array) -> Array:
    """Compute a tensor. Raises NotImplementedError if its kernel does not compile."""
    try:
        return tensor.realize() if tensor.numel() else tensor
    except subprocess.CalledProcessError as error:
        raise NotImplementedError(f"{error.cmd[0]} does not compile the kernel") from None


def _compiler() -> str:
    """Return the CPU device's compiler. Raises UnavailableError if it compiles no kernel."""
    from tinygrad import Tensor, dtypes

    compiler = os.environ.get("CC", "clang")
    if shutil.which(compiler) is None:
        said = f"tinygrad's CPU device compiles with {compiler}, and there is none"
        raise UnavailableError(said, hint=_INSTEAD)
    try:
        Tensor(bytes(1), dtype=dtypes.uint8, device="CPU").cast(dtypes.int32).realize()
    except (subprocess.CalledProcessError, OSError) as error:
        said = f"{compiler} compiles no kernel of tinygrad's CPU device"
        raise UnavailableError(f"{said}: {error}", hint=_INSTEAD) from None
    return compiler
