"""tinygrad as a backend: its functions, compiled for a device, as the specs' `calls` say.

`tinygrad` has a kernel for the device CPU compiled by clang; `tinygrad:python` interprets it in
Python. The types that a device lacks are made of others there, so that these are two
implementations. Tensors are made of bytes and read as bytes. Kernels that an earlier process kept
on disk are not used.
"""

from __future__ import annotations

import math
import os
import shutil
import subprocess
from collections.abc import Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING

import numpy as np

from convcheck.backends.calls import cannot_call, function_of, numbers_of
from convcheck.backends.installed import release_of
from convcheck.backends.packing import too_large
from convcheck.backends.protocol import Answer, Declined, Outputs, Oversized, Refused
from convcheck.errors import UnavailableError, UsageError
from convcheck.numerics.codes import Bits, Codes
from convcheck.rules.load import Catalog, load, user_folders
from convcheck.rules.model import Case, DType, Spec

if TYPE_CHECKING:
    from tinygrad import Tensor
    from tinygrad.dtype import DType as TinyType

RUNTIME = "tinygrad"  # its column in specs/dtypes.yaml and its key in `calls`
CAST, ARANGE = "cast", "arange"
_DEVICES = {"": "CPU", "python": "PYTHON"}
_SAYS = {"": "device CPU, kernels compiled by {}", "python": "device PYTHON, kernels interpreted"}

_INSTEAD = "install clang, or ask tinygrad:python"


class Tinygrad:
    """tinygrad on a device that every machine has; `variant` is '' or 'python'."""

    #: It takes graphs, and no option tells what becomes of one.
    graphs = ()

    def __init__(self, variant: str = "", *, catalog: Catalog | None = None) -> None:
        """Take the specs' `calls` from a catalogue; without one, read the built-in and the user's.

        Raises UsageError for an unknown variant, ImportError where tinygrad is not installed, and
        UnavailableError where its compiler is not.
        """
        if variant not in _DEVICES:
            hint = f"one of {RUNTIME}, {RUNTIME}:python"
            raise UsageError(f"the tinygrad backend has no variant {variant!r}", hint=hint)
        from tinygrad.helpers import CACHELEVEL

        CACHELEVEL.value = 0  # what it keeps on disk another compiler may have made
        compiler = os.environ.get("CC", "clang")  # as tinygrad finds it
        if not variant and shutil.which(compiler) is None:
            said = f"tinygrad's CPU device compiles with {compiler}, and there is none"
            raise UnavailableError(said, hint=_INSTEAD)
        if not variant:
            _check_compiler(compiler)
        self._device = _DEVICES[variant]
        self._catalog = catalog or load(user_folders())
        self.name = f"{RUNTIME}:{variant}" if variant else RUNTIME
        self.version = f"tinygrad {version('tinygrad')}, {_SAYS[variant].format(compiler)}"

    @staticmethod
    def takes(spec: Spec) -> bool:
        """Return whether a run without a choice of specs asks this one."""
        return RUNTIME in spec.calls

    @staticmethod
    def available() -> str:
        """Say which release there is. Raises UnavailableError where there is none."""
        return release_of(RUNTIME)

    def support(self, case: Case) -> Declined | None:
        """Decline types that tinygrad has not, and what its function cannot be asked."""
        if ("input", "constant") in case.setting:
            return Declined("an array is no constant of a kernel of tinygrad", missing=True)
        return cannot_call(self._catalog, RUNTIME, (CAST, ARANGE), case)

    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        """Convert the first input, its shape kept; a second one would only name the type. Or make a
        sequence, from three numbers.

        What the compiler does not take is Declined, what Python raises on values Refused.
        """
        from tinygrad import Tensor

        if function_of(self._catalog, RUNTIME, case) == ARANGE:
            return self._sequence(case, inputs)
        made = _tensor(case.inputs[0], inputs[0], self._device)
        seen = [made]
        for hop in case.hops or (case,):
            made = made.cast(_type(hop.outputs[0]))
            seen.append(made)
        if ("middle", "exposed") in case.setting and made.numel():
            Tensor.realize(*seen[1:])
        return self._read(case, made)

    def _sequence(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        """Call Tensor.arange with Python's numbers, on the device."""
        from tinygrad import Context, Tensor

        with Context(DEV=self._device):
            try:
                numbers = numbers_of(case, inputs)
                made = Tensor.arange(*numbers, dtype=_type(case.outputs[0])).contiguous()
            except (ArithmeticError, ValueError, RuntimeError) as error:
                return Refused(f"{type(error).__name__}: {error}")
            if too_large(made.shape, ()):
                return Oversized((made.shape,), (self._type_name(case, made),))
            return self._read(case, made)

    def _read(self, case: Case, made: Tensor) -> Answer:
        """Run what makes a tensor, and return its codes."""
        if not made.numel():  # no kernel, and no memory
            return Outputs((np.empty(made.shape, _storage(case)),), (self._type_name(case, made),))
        try:
            memory = made._buffer().as_memoryview()
        except subprocess.CalledProcessError as error:
            return Declined(f"{error.cmd[0]} does not compile the kernel", missing=True)
        except (OverflowError, ValueError) as error:
            return Refused(f"{type(error).__name__}: {error}")
        codes: Codes = np.frombuffer(bytes(memory), _storage(case)).reshape(made.shape)
        return Outputs((codes,), (self._type_name(case, made),))

    def _type_name(self, case: Case, made: Tensor) -> str:
        """Return convcheck's name of a tensor's type; tinygrad's of another than the case's."""
        due = case.outputs[0]
        return due.name if made.dtype == _type(due) else str(made.dtype)


def _check_compiler(compiler: str) -> None:
    """Raise UnavailableError for a compiler that does not compile the plainest kernel."""
    from tinygrad import Tensor, dtypes

    try:
        made = Tensor(bytes(1), dtype=dtypes.uint8, device=_DEVICES[""])
        made.cast(dtypes.int32).realize()
    except (subprocess.CalledProcessError, OSError) as error:
        said = f"{compiler} compiles no kernel of tinygrad's CPU device"
        raise UnavailableError(f"{said}: {error}", hint=_INSTEAD) from None


def _tensor(dtype: DType, bits: Bits, device: str) -> Tensor:
    """Make a tensor of codes in memory of its own, as a kernel reads it."""
    from tinygrad import Tensor

    memory = np.asarray(bits, dtype.format.storage).tobytes()
    if not math.prod(bits.shape):
        return Tensor.empty(*bits.shape, dtype=_type(dtype), device=device)
    return Tensor(memory, dtype=_type(dtype), device=device).reshape(bits.shape).realize()


def _storage(case: Case) -> np.dtype[np.unsignedinteger]:
    return case.outputs[0].format.storage


def _type(dtype: DType) -> TinyType:
    from tinygrad import dtypes

    found: TinyType = getattr(dtypes, dtype.name_in(RUNTIME))
    return found
