"""pypto's golden interpreter of its tensor graph, on the CPU.

pypto checks its compiler with it. It runs when a function is traced, and writes saved tensors into
files. After an exception the process is unusable: the next call may fail or crash.
"""

import atexit
import contextlib
import ctypes
import inspect
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from convcheck.backends.protocol import Answer, Declined, Outputs
from convcheck.backends.pypto import calculator as pypto_build
from convcheck.numerics.format import Float, Int
from convcheck.numerics.number import Bits, Codes
from convcheck.rules.model import Case, DType, Spec, op_and_version
from convcheck.streams import say

WORLD = "pypto"
SCRATCH = "convcheck-pypto-"  # prefix of scratch folders
MEMORY = "/dev/shm"  # noqa: S108 a folder in it is made as safely as any other temporary one
SAVED = "answer"
RELEASE = "0.2"  # the release whose specs are run by default


class SpoiledError(Exception):
    """The runtime raised on these inputs although it answers plain ones, and is unusable."""


class Pypto:
    """The golden interpreter. A process has one instance."""

    name = WORLD
    imports = ("torch", "sympy")  # the slowest part of starting pypto

    def __init__(self) -> None:
        """Raises UnavailableError without pypto, torch, CMake or a compiler."""
        self.version = pypto_build.installed().label
        library = pypto_build.calculator(partial(say, err=True))
        self._scratch = _scratch()
        self._pypto, self._impl = _load(library, self._scratch)
        self.spoiled = False
        self._plain: Case | None = None  # the last case that answered plain inputs

    @staticmethod
    def prepare(say: pypto_build.Say) -> None:
        """Build the calculator if needed."""
        pypto_build.calculator(say)

    @staticmethod
    def available() -> str:
        """Return the installed release without loading it. Raises UnavailableError."""
        found = pypto_build.installed()
        if found.library.is_file():
            return found.label
        pypto_build.check_tools()
        return f"{found.label}; its calculator is built at the first use, about a minute"

    @staticmethod
    def takes(spec: Spec) -> bool:
        """Return whether a run without SPEC runs this spec: those of its release."""
        op, version = op_and_version(spec.id)
        return op.partition(".")[0] == WORLD and version == RELEASE

    def support(self, case: Case) -> Declined | None:
        """Decline other standards' operators, and types that are not kept unchanged."""
        world, _, function = case.op.partition(".")
        if world != WORLD or not hasattr(self._pypto, function):
            return Declined(f"pypto has no {case.op}", missing=True)
        for dtype in (*case.inputs, *case.outputs):
            if not _goes_through(dtype) or not hasattr(self._pypto, dtype.name_in(WORLD)):
                return Declined(f"no type {dtype.name} on this route", missing=True)
        known = _values(getattr(self._pypto, function))
        unknown = [f"{k}={v}" for k, v in case.given if str(v) not in known.get(k, ())]
        return Declined(f"pypto has no {', '.join(unknown)}", missing=True) if unknown else None

    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        """Trace the case's function on inputs of rank 1 to 4.

        A case that raises on plain inputs is Declined. Raises SpoiledError if only these inputs
        raise, or if the adapter is already `spoiled`.
        """
        if self.spoiled:
            raise SpoiledError("pypto raised in this process before")
        if self._plain != case:
            plain = [np.ones(1, dtype.format.storage) for dtype in case.inputs]
            try:
                self._traced(case, plain)
            except Exception as error:  # pypto's exceptions share no other base class
                return Declined(self._spoil(error))
            self._plain = case
        try:
            return self._traced(case, inputs)
        except Exception as error:  # as above
            shape = ", ".join(str(bits.shape) for bits in inputs)
            raise SpoiledError(f"on inputs of shape {shape}: {self._spoil(error)}") from error

    def _spoil(self, error: Exception) -> str:
        self.spoiled = True
        lines = str(error).strip().splitlines()
        return f"{type(error).__name__}: {' / '.join(lines[:2])}"

    def _traced(self, case: Case, inputs: Sequence[Bits]) -> Outputs:
        tensors = [_tensor(bits) for bits in inputs]  # their memory has to outlive the trace
        self._impl.Reset()
        self._pypto.set_verify_options(enable_pass_verify=True, pass_verify_pass_filter=[])
        # the interpreter runs this graph
        self._pypto.set_host_options(compile_stage=self._pypto.CompStage.TENSOR_GRAPH)
        try:
            self._trace(case, tensors)
            codes = self._saved(case.outputs[0], inputs[0].shape)
        finally:
            for folder in self._scratch.glob("output_*"):
                shutil.rmtree(folder, ignore_errors=True)
        return Outputs((codes,), (case.outputs[0].name,))

    def _trace(self, case: Case, tensors: Sequence[Any]) -> None:
        """Trace a function that saves its result, since an input moved to an output kills pypto."""
        pypto = self._pypto
        operands = [
            pypto.from_torch(tensor, f"x{i}", dtype=getattr(pypto, dtype.name_in(WORLD)))
            for i, (dtype, tensor) in enumerate(zip(case.inputs, tensors, strict=True))
        ]
        pypto.set_verify_golden_data(operands, None)
        with pypto.function("ask", *operands):
            pypto.set_vec_tile_shapes(*(max(size, 1) for size in tensors[0].shape))
            for _ in pypto.loop(1):
                pypto.pass_verify_save(self._operation(case, operands), SAVED)

    def _operation(self, case: Case, operands: Sequence[Any]) -> Any:
        function = getattr(self._pypto, case.op.partition(".")[2])
        target = getattr(self._pypto, case.outputs[0].name_in(WORLD))
        known = _values(function)
        attributes = {name: known[name][str(value)] for name, value in case.given}
        return function(*operands, target, **attributes)

    def _saved(self, dtype: DType, shape: tuple[int, ...]) -> Codes:
        (path,) = self._scratch.glob(f"output_*/tensor/{SAVED}_*.data")
        codes = np.fromfile(path, dtype.format.storage)
        # a wrong number of elements is judged
        return codes.reshape(shape) if codes.size == np.prod(shape, dtype=int) else codes


@cache
def _values(function: Callable[..., object]) -> dict[str, Mapping[str, Any]]:
    """Return the values of a function's enumeration parameters, by name."""
    defaults = {p.name: p.default for p in inspect.signature(function).parameters.values()}
    return {
        name: type(default).__members__
        for name, default in defaults.items()
        if hasattr(type(default), "__members__")
    }


def _goes_through(dtype: DType) -> bool:
    """Return whether a type is stored unchanged. The calculator re-encodes float8 at every copy."""
    fmt = dtype.format
    plain = isinstance(fmt, Float | Int) and fmt.bits == 8 * fmt.storage.itemsize
    narrow = isinstance(fmt, Float) and fmt.bits == 8
    return bool(dtype.name_in(WORLD)) and plain and not narrow


def _tensor(bits: Bits) -> Any:
    import torch

    codes = np.array(bits, order="C")
    return torch.from_numpy(codes.view(f"i{codes.itemsize}"))


def _load(library: Path, scratch: Path) -> tuple[Any, Any]:
    os.environ["TILE_FWK_OUTPUT_DIR"] = str(scratch)
    os.environ["PYPTO_HOME"] = str(scratch)
    os.environ["ASCEND_PROCESS_LOG_PATH"] = str(scratch)
    import torch

    torch.set_num_threads(1)
    import pypto
    from pypto import _utils, pypto_impl

    ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)
    _utils.BuildOnlineManager().calculator_loaded = True
    pypto_impl.DeviceInit()
    return pypto, pypto_impl


def _scratch() -> Path:
    """Make a folder, in memory if possible, that is removed at exit. Remove those of killed
    processes.
    """
    root = MEMORY if os.access(MEMORY, os.W_OK) else tempfile.gettempdir()
    for old in Path(root).glob(f"{SCRATCH}*"):
        pid = old.name.removeprefix(SCRATCH).partition("-")[0]
        if pid.isdigit() and not _alive(int(pid)):
            shutil.rmtree(old, ignore_errors=True)
    scratch = Path(tempfile.mkdtemp(prefix=f"{SCRATCH}{os.getpid()}-", dir=root))
    atexit.register(shutil.rmtree, scratch, ignore_errors=True)
    return scratch


def _alive(pid: int) -> bool:
    with contextlib.suppress(PermissionError):  # another user's process
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
    return True
