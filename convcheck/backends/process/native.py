"""The runtimes that take native requests in another Python."""

from __future__ import annotations

from collections.abc import Mapping

from convcheck.backends.native import Native
from convcheck.backends.onnx.runtime import ORT
from convcheck.backends.openvino.backend import OPENVINO
from convcheck.backends.process import wire
from convcheck.backends.torch import TORCH

RUNTIMES: Mapping[str, Native] = {"ort": ORT, "openvino": OPENVINO, "torch": TORCH}


def native_of(runtime: str) -> Native | None:
    """Return the native requests of a runtime, if it is named. Raises ProtocolError."""
    if runtime and runtime not in RUNTIMES:
        wire.wrong(f"it wants questions of {runtime!r}", f"one of {', '.join(RUNTIMES)}")
    return RUNTIMES[runtime] if runtime else None
