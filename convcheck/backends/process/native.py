"""The runtimes that can be asked in their own words in another Python, by name."""

from __future__ import annotations

from collections.abc import Mapping

from convcheck.backends.native import Native
from convcheck.backends.onnx.runtime import ORT
from convcheck.backends.openvino.backend import OPENVINO
from convcheck.backends.process import wire
from convcheck.backends.torch import TORCH

RUNTIMES: Mapping[str, Native] = {"ort": ORT, "openvino": OPENVINO, "torch": TORCH}


def native_of(runtime: str) -> Native | None:
    """Return how a runtime is asked, None for '', no runtime. Raises ProtocolError for others."""
    if runtime and runtime not in RUNTIMES:
        wire.wrong(f"it wants questions of {runtime!r}", f"one of {', '.join(RUNTIMES)}")
    return RUNTIMES[runtime] if runtime else None
