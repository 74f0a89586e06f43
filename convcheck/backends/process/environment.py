"""Runtimes in another Python (`env:PATH/TO/PYTHON:RUNTIME`) and in Node.

That Python runs `standalone.py`, with numpy and the runtime. Node runs `javascript.mjs`: `ort-node`
is the native add-on, `ort-web` WebAssembly, of the npm package in a folder, by default here.
"""

import os
import re
import shlex
import shutil
from pathlib import Path
from typing import ClassVar

from convcheck.backends.process.backend import RUNTIMES, Process
from convcheck.errors import UnavailableError, UsageError
from convcheck.rules.load import Catalog

SCHEME = "env"
SERVER = Path(__file__).with_name("standalone.py")
PACKAGES = {"ort": "onnxruntime"}  # runtimes with a different package name
_ADDRESS = re.compile(rf"(?P<python>.+?):(?P<runtime>({'|'.join(RUNTIMES)})(:.*)?)")


class Environment(Process):
    """A runtime in another Python, behind the process protocol."""

    def __init__(self, address: str = "", *, catalog: Catalog | None = None) -> None:
        """Raises UsageError for a wrong address, and like `Process`."""
        python, runtime = split_address(address)
        # -I: ignore this process's environment
        command = shlex.join([python, "-I", str(SERVER), runtime])
        try:
            super().__init__(command, catalog=catalog)
        except UnavailableError as error:
            name = runtime.partition(":")[0]
            install = f"{python} -m pip install {PACKAGES.get(name, name)}"
            hint = f"{install}; with releases of before June 2024, 'numpy<2'"
            raise UnavailableError(error.message, hint=error.hint or hint) from None
        self.name = f"{SCHEME}:{address}"

    @staticmethod
    def available() -> str:
        """Return what can be used."""
        return f"a runtime of another Python: env:PATH/TO/PYTHON:{'|'.join(RUNTIMES)}"

    @staticmethod
    def stands_for(variant: str) -> str:
        """Return the backend that sends the same inputs here."""
        return split_address(variant)[1]


def split_address(address: str) -> tuple[str, str]:
    """Split PATH/TO/PYTHON:RUNTIME[:VARIANT]. Raises UsageError, also if Python cannot be run."""
    found = _ADDRESS.fullmatch(address)
    if found is None:
        hint = f"env:PATH/TO/PYTHON:RUNTIME, and RUNTIME is one of {', '.join(RUNTIMES)}"
        raise UsageError(f"env:{address} does not say which Python and which runtime", hint=hint)
    python = found["python"]
    if os.path.isdir(python):
        hint = f"name the program inside it, such as {os.path.join(python, 'bin', 'python')}"
        raise UsageError(f"env:{address}: {python} is a folder", hint=hint)
    if shutil.which(python) is None:
        why = "is not executable" if os.path.exists(python) else "does not exist"
        hint = "the path of an environment's Python: env:venv/bin/python:ort"
        raise UsageError(f"env:{address}: {python} {why}", hint=hint)
    return python, found["runtime"]


_SERVER = Path(__file__).with_name("javascript.mjs")


class OrtNode(Process):
    """ONNX Runtime's Node add-on."""

    scheme: ClassVar[str] = "ort-node"
    package: ClassVar[str] = "onnxruntime-node"

    def __init__(self, folder: str = "", *, catalog: Catalog | None = None) -> None:
        """Raises UnavailableError without Node or the package."""
        if shutil.which("node") is None:
            said = f"{self.package} needs Node.js"
            raise UnavailableError(said, hint="install Node.js 18 or newer")
        command = shlex.join(["node", str(_SERVER), self.package, folder or "."])
        try:
            super().__init__(command, catalog=catalog)
        except UnavailableError as error:
            hint = f"npm install {self.package}, and name the folder: {self.scheme}:FOLDER"
            raise UnavailableError(error.message, hint=hint) from None
        self.name = f"{self.scheme}:{folder}" if folder else self.scheme

    @staticmethod
    def stands_for(variant: str) -> str:
        """Return the backend that sends the same inputs in Python."""
        return "ort"

    @classmethod
    def available(cls) -> str:
        """Return what can be used."""
        return f"{cls.package} of npm, under Node: {cls.scheme}:FOLDER, in which npm installed it"


class OrtWeb(OrtNode):
    """ONNX Runtime as WebAssembly."""

    scheme = "ort-web"
    package = "onnxruntime-web"
