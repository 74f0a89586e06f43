"""pypto's calculator: the library that computes its golden values, built once per machine.

It is a CMake project of pypto, linked with torch, and cached per versions of both and C++ ABI.
Neither is imported, since this runs before workers start.
"""

import fcntl
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

from convcheck.backends.native import cache_folder
from convcheck.errors import UnavailableError, install_hint

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
