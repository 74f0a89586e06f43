"""tract on the CPU: ONNX models through its Python bindings."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from convcheck.backends.onnx.importer import CONSTANT, Importer, Model


class Tract(Importer):
    """tract's ONNX importer and default runtime."""

    runtime = package = "tract"
    says: Mapping[str, str] = {"": "CPU, graph inputs", CONSTANT: "CPU, constants"}

    def start(self) -> str:
        """Import tract."""
        import tract

        self.refusals = (tract.TractError,)
        return f"tract {version('tract')}"

    def model(self, proto: Any) -> Model:
        """Load a model from a temporary file."""
        import tract

        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.onnx"
            path.write_bytes(proto.SerializeToString())
            return tract.onnx().load(path).into_model().into_runnable()

    def tensor(self, array: NDArray[Any]) -> Any:
        """Return an array as tract's tensor."""
        import tract

        return tract.Tensor.from_numpy(array)

    def run(self, model: Model, fed: Sequence[Any]) -> list[NDArray[Any]]:
        """Run a model."""
        made = model.run(list(fed))
        try:
            return [tensor.to_numpy() for tensor in made]
        except self.refusals as error:
            raise NotImplementedError(self.words(error)) from None

    def words(self, error: Exception) -> str:
        """Return an exception's message without its stack trace."""
        return " ".join(str(error).partition("Stack backtrace:")[0].split())[:300]
