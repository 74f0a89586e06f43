"""pypto's golden interpreter of its tensor graph, on the CPU.

pypto checks its compiler with it. It runs when a function is traced, and writes saved tensors into
files. After an exception the process is unusable: the next call may fail or crash.
"""

import atexit
import contextlib
import ctypes
import fcntl
import inspect
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from convcheck.backends.native import cache_folder
from convcheck.backends.protocol import Answer, Declined, Outputs
from convcheck.errors import UnavailableError, install_hint
from convcheck.numerics.format import Float, Int
from convcheck.numerics.number import Bits, Codes
from convcheck.rules.model import Case, DType, Spec, op_and_version
from convcheck.streams import say

Say = Callable[[str], None]

PACKAGES = ("pypto", "torch")
LIBRARY = "libtile_fwk_calculator.so"
TOOLS_HINT = "install CMake and a C++ compiler, such as by `apt install cmake g++ make`"
SHOWN = 5  # lines of a failed build's output
_ABI = re.compile(r"_GLIBCXX_USE_CXX11_ABI=([01])")


@dataclass(frozen=True)
class Installed:
    """The folders and versions of pypto and torch."""

    pypto: Path
    torch: Path
    pypto_version: str
    torch_version: str

    @property
    def project(self) -> Path:
        """Return the folder of the CMake project."""
        return self.pypto / "lib" / "calculator"

    @property
    def abi(self) -> str:
        """Return '1' if torch was compiled with the C++11 ABI of libstdc++, else '0'."""
        config = self.torch / "share" / "cmake" / "Torch" / "TorchConfig.cmake"
        try:
            found = _ABI.search(config.read_text())
        except OSError:
            found = None
        return found[1] if found else "1"  # all wheels since torch 2.6

    @property
    def label(self) -> str:
        """Return the version of the backend."""
        torch = self.torch_version.partition("+")[0]
        machine = platform.machine().replace("_", "-")
        return f"pypto {self.pypto_version} golden interpreter (torch {torch}, {machine})"

    @property
    def library(self) -> Path:
        """Return the calculator's path."""
        versions = f"pypto-{self.pypto_version}-torch-{self.torch_version}"
        return cache_folder("pypto") / f"{versions}-abi{self.abi}-{platform.machine()}" / LIBRARY


def installed() -> Installed:
    """Find pypto and torch without importing them. Raises UnavailableError."""
    folders = {name: _folder(name) for name in PACKAGES}
    missing = [name for name, folder in folders.items() if folder is None]
    if missing:
        raise UnavailableError(f"{' and '.join(missing)} not installed", hint=install_hint("pypto"))
    pypto, torch = (Path(folders[name] or "") for name in PACKAGES)
    found = Installed(pypto, torch, metadata.version("pypto"), metadata.version("torch"))
    if not (found.project / "CMakeLists.txt").is_file():
        raise UnavailableError(
            f"pypto {found.pypto_version} has no calculator in {found.project}",
            hint=install_hint("pypto"),
        )
    return found


def check_tools() -> None:
    """Raise UnavailableError without CMake, compilers or a build program."""
    missing = [
        what
        for what, found in (
            ("cmake", _which("cmake")),
            ("a C compiler", os.environ.get("CC") or _which("cc", "gcc", "clang")),
            ("a C++ compiler", os.environ.get("CXX") or _which("c++", "g++", "clang++")),
            ("make or ninja", _which("make", "ninja")),
        )
        if not found
    ]
    if missing:
        message = f"pypto's calculator cannot be built without {', '.join(missing)}"
        raise UnavailableError(message, hint=TOOLS_HINT)


def calculator(say: Say) -> Path:
    """Return the calculator's path, built if needed. Raises UnavailableError."""
    found = installed()
    library = found.library
    if not library.is_file():
        check_tools()
        once(library, lambda folder: _make(found, folder), say)
    return library


def once(library: Path, make: Callable[[Path], Path], say: Say) -> None:
    """Have one process `make` a file in an empty folder, and move it into place. Others wait."""
    try:
        library.parent.mkdir(parents=True, exist_ok=True)
        with _locked(library.parent / "lock", say):
            if not library.is_file():
                say("building pypto's calculator, about a minute, once for these versions ...")
                for old in library.parent.glob("build-*"):  # of a killed build, as the lock is ours
                    shutil.rmtree(old, ignore_errors=True)
                with tempfile.TemporaryDirectory(prefix="build-", dir=library.parent) as folder:
                    os.replace(make(Path(folder)), library)
    except OSError as error:
        message = f"pypto's calculator could not be put into {library.parent}: {error}"
        raise UnavailableError(message, hint="set XDG_CACHE_HOME to a folder to write to") from None


@contextmanager
def _locked(path: Path, say: Say) -> Iterator[None]:
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("waiting for pypto's calculator, which another process is building ...")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _make(found: Installed, folder: Path) -> Path:
    """Build the calculator. A Debug build aborts on some types."""
    options = {
        "CMAKE_BUILD_TYPE": "Release",
        "CMAKE_SKIP_RPATH": "ON",  # its dependencies are loaded before it
        "PY3_MOD_TORCH_VERSION": found.torch_version,
        "PY3_MOD_TORCH_ROOT_PATH": str(found.torch),
        "PY3_MOD_TORCH_C_GLIBCXX_USE_CXX11_ABI": found.abi,
    }
    generator = ["-G", "Ninja"] if not _which("make") else []
    settings = [f"-D{name}={value}" for name, value in options.items()]
    build = str(folder / "build")
    _run("cmake", "-S", str(found.project), "-B", build, *generator, *settings)
    _run("cmake", "--build", build, "--parallel", str(os.cpu_count() or 1))
    return folder / "build" / LIBRARY


def _run(*command: str) -> None:
    done = subprocess.run(  # noqa: S603 the command is ours
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, errors="replace", check=False,
    )  # fmt: skip
    if done.returncode:
        lines = [line.strip() for line in done.stdout.splitlines() if line.strip()]
        message = f"building pypto's calculator failed: {' / '.join(lines[-SHOWN:])}"
        raise UnavailableError(message, hint=TOOLS_HINT)


def _folder(name: str) -> str | None:
    """Return a package's folder, of the imported one if there is one."""
    module = sys.modules.get(name)
    spec = module.__spec__ if module else find_spec(name)
    # a folder without __init__.py has no origin and is not the package
    places = spec.submodule_search_locations if spec and spec.origin else None
    return next(iter(places), None) if places else None


def _which(*names: str) -> str | None:
    return next((path for name in names if (path := shutil.which(name))), None)


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
        self.version = installed().label
        library = calculator(partial(say, err=True))
        self._scratch = _scratch()
        self._pypto, self._impl = _load(library, self._scratch)
        self.spoiled = False
        self._plain: Case | None = None  # the last case that answered plain inputs

    @staticmethod
    def prepare(say: Say) -> None:
        """Build the calculator if needed."""
        calculator(say)

    @staticmethod
    def available() -> str:
        """Return the installed release without loading it. Raises UnavailableError."""
        found = installed()
        if found.library.is_file():
            return found.label
        check_tools()
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
