"""ONNX Runtime in JavaScript: `ort-node`, its Node binding, and `ort-web`, its WebAssembly build.

Node runs `javascript.mjs`. The address may name the folder of the npm package, `ort-web:FOLDER`; by
default, it is the working folder.
"""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path
from typing import ClassVar

from convcheck.backends.process.backend import Process
from convcheck.errors import UnavailableError
from convcheck.rules.load import Catalog

_SERVER = Path(__file__).with_suffix(".mjs")


class OrtNode(Process):
    """ONNX Runtime's Node add-on."""

    #: The name of the backend.
    scheme: ClassVar[str] = "ort-node"
    #: The npm package.
    package: ClassVar[str] = "onnxruntime-node"

    def __init__(self, folder: str = "", *, catalog: Catalog | None = None) -> None:
        """Start Node. Raises UnavailableError without Node or the package."""
        if shutil.which("node") is None:
            raise UnavailableError(
                f"{self.package} needs Node.js", hint="install Node.js 18 or newer"
            )
        place = folder or "."
        try:
            super().__init__(
                shlex.join(["node", str(_SERVER), self.package, place]), catalog=catalog
            )
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
