"""tinygrad: the functions in the specs' `calls`, compiled for a device.

`tinygrad` compiles kernels for device CPU with clang. `tinygrad:python` interprets them in Python.
Devices emulate types that they lack, so these are two implementations. Kernels cached on disk by
earlier processes are not used.
"""

from __future__ import annotations

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
    #: It takes graphs and has no options for them.
    graphs = ()

    def start(self) -> str:
        """Import tinygrad. Raises UnavailableError if its compiler is missing."""
        from tinygrad.helpers import CACHELEVEL

        CACHELEVEL.value = 0  # another compiler could have made cached kernels
        self._device, release = "PYTHON" if self._variant else "CPU", version("tinygrad")
        return release if self._variant else f"{release}, {_compiler()}"

    def support(self, case: Case) -> Declined | None:
        """Decline types that tinygrad lacks, and calls that its function lacks."""
        if ("input", "constant") in case.setting:
            return Declined("an array is no constant of a kernel of tinygrad", missing=True)
        return super().support(case)

    def cast(self, case: Case, array: Array) -> Array:
        """Run a case's casts, in one kernel unless intermediate results are exposed."""
        from tinygrad import Tensor

        made = seen(case, array, lambda hop, it: it.cast(self.type_of(hop.outputs[0])))
        if len(made) > 1 and array.numel():
            Tensor.realize(*reversed(made))
        return _computed(made[0])

    def arange(self, case: Case, start: float, stop: float, step: float) -> Array:
        """Call Tensor.arange with Python numbers, on the device."""
        from tinygrad import Context, Tensor

        with Context(DEV=self._device):
            kind = self.type_of(case.outputs[0])
            made = Tensor.arange(start, stop, step, dtype=kind).contiguous()
            return made if too_large(made.shape, ()) else _computed(made)

    def type_of(self, dtype: DType) -> Any:
        """Return tinygrad's type."""
        from tinygrad import dtypes

        return getattr(dtypes, self.name_of(dtype))

    def array(self, dtype: DType, bits: Bits) -> Array:
        """Copy codes into a tensor."""
        from tinygrad import Tensor

        made = {"dtype": self.type_of(dtype), "device": self._device}
        if not bits.size:
            return Tensor.empty(*bits.shape, **made)
        memory = np.asarray(bits, dtype.format.storage).tobytes()
        return Tensor(memory, **made).reshape(bits.shape).realize()

    def codes(self, dtype: DType, array: Array) -> Bits:
        """Copy a tensor's memory. Empty tensors have none."""
        memory = bytes(array._buffer().as_memoryview()) if array.numel() else b""
        return np.frombuffer(memory, dtype.format.storage).reshape(array.shape)


def _computed(tensor: Array) -> Array:
    """Compute a tensor. Raises NotImplementedError for a kernel that does not compile."""
    try:
        return tensor.realize() if tensor.numel() else tensor
    except subprocess.CalledProcessError as error:
        raise NotImplementedError(f"{error.cmd[0]} does not compile the kernel") from None


def _compiler() -> str:
    """Return the compiler of the CPU device.

    Raises UnavailableError if it is missing, or cannot compile the simplest kernel.
    """
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
