"""The runtimes that can be asked in their own words in another Python, by name."""

from __future__ import annotations

import base64
from collections.abc import Mapping

from convcheck.backends.native import Native, known_types
from convcheck.backends.onnx.model import WORLD as ONNX
from convcheck.backends.onnx.model import build, cannot_ask, tensor_type_number
from convcheck.backends.onnx.runtime import from_load, from_run
from convcheck.backends.openvino.backend import OPENVINO
from convcheck.backends.process import wire
from convcheck.backends.protocol import Answer, Declined, Refused
from convcheck.backends.torch import TORCH
from convcheck.rules.load import Catalog
from convcheck.rules.model import Case


def native_of(runtime: str) -> Native | None:
    """Return how a runtime is asked, None for '', no runtime. Raises ProtocolError for others."""
    if runtime and runtime not in RUNTIMES:
        wire.wrong(f"it wants questions of {runtime!r}", f"one of {', '.join(RUNTIMES)}")
    return RUNTIMES[runtime] if runtime else None


def _onnx_supports(case: Case, catalog: Catalog) -> Declined | None:
    return cannot_ask(case)


def _onnx_question(case: Case, catalog: Catalog) -> Mapping[str, object]:
    known = [t for t in catalog.types.types.values() if t.name_in(ONNX)]
    return {
        **_graph_of_onnx(case),
        "types": known_types(tensor_type_number, known),
    }


def _graph_of_onnx(case: Case) -> dict[str, object]:
    return {"model": base64.b64encode(build(case).SerializeToString()).decode()}


def _onnx_runtime_said(answer: Answer) -> Answer:
    if isinstance(answer, Declined) and not answer.missing:
        return from_load(answer.message)
    return from_run(answer.message) if isinstance(answer, Refused) else answer


RUNTIMES: Mapping[str, Native] = {
    "ort": Native(_onnx_supports, _onnx_question, _onnx_runtime_said),
    "openvino": OPENVINO,
    "torch": TORCH,
}
