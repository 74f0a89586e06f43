"""tract on the CPU: ONNX models."""

import tempfile
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from convcheck.backends.onnx.importer import CONSTANT, Importer, Model


class Tract(Importer):
    """tract's importer and default runtime."""

    runtime = package = "tract"
    says: Mapping[str, str] = {"": "CPU, graph inputs", CONSTANT: "CPU, constants"}

    def _start(self) -> str:
        import tract

        self.refusals = (tract.TractError,)
        return f"tract {version('tract')}"

    def _compiled(self, proto: Any) -> Model:
        import tract

        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.onnx"
            path.write_bytes(proto.SerializeToString())
            return tract.onnx().load(path).into_model().into_runnable()

    def _tensor(self, array: NDArray[Any]) -> Any:
        import tract

        return tract.Tensor.from_numpy(array)

    def _run(self, model: Model, fed: Sequence[Any]) -> list[NDArray[Any]]:
        made = model.run(list(fed))
        try:
            return [tensor.to_numpy() for tensor in made]
        except self.refusals as error:
            raise NotImplementedError(self._words(error)) from None

    def _words(self, error: Exception) -> str:
        return " ".join(str(error).partition("Stack backtrace:")[0].split())[:300]
