"""Runtimes that are asked in their own words: what `standalone.py` wants with each request.

Such a server knows nothing of specs and types. A request brings under `native` all that its runtime
has to be given, the server passes on what that says, and this side tells what the answer means.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from convcheck.backends.onnx.model import WORLD as ONNX
from convcheck.backends.onnx.model import build, cannot_ask, tensor_type_number
from convcheck.backends.onnx.runtime import from_load, from_run
from convcheck.backends.openvino.graph import WORLD as OPENVINO
from convcheck.backends.openvino.graph import attributes_of, on_values, turned_down
from convcheck.backends.packing import is_packed
from convcheck.backends.process import wire
from convcheck.backends.protocol import Answer, Declined, Refused, max_elements
from convcheck.backends.torch import RUNTIME as TORCH
from convcheck.backends.torch import from_call
from convcheck.numerics.format import Format, Text
from convcheck.rules.functions import why_not
from convcheck.rules.load import Catalog
from convcheck.rules.model import Case, DType


@dataclass(frozen=True)
class Native:
    """How one runtime is asked in its own words."""

    #: Says why a case cannot be asked, None where it can; without the runtime.
    support: Callable[[Case, Catalog], Declined | None]
    #: Returns what a request has under `native`.
    question: Callable[[Case, Catalog], Mapping[str, object]]
    #: Returns what an answer means that has the runtime's own words.
    heard: Callable[[Answer], Answer]


def native_of(runtime: str) -> Native | None:
    """Return how a runtime is asked, None for '', no runtime. Raises ProtocolError for others."""
    if runtime and runtime not in RUNTIMES:
        wire.wrong(f"it wants questions of {runtime!r}", f"one of {', '.join(RUNTIMES)}")
    return RUNTIMES[runtime] if runtime else None


def _types(own: Callable[[DType], object], types: Iterable[DType]) -> dict[str, object]:
    """Return what a server has to know of types: what the runtime calls each, and its bits, 0 for
    texts; the first of those that it calls alike.
    """
    found: dict[str, object] = {}
    taken = set()
    for dtype in types:
        name = own(dtype)
        if name and name not in taken:
            taken.add(name)
            found[dtype.name] = {"own": name, "bits": _bits(dtype.format)}
    return found


def _bits(fmt: Format) -> int:
    if isinstance(fmt, Text):
        return 0
    return fmt.bits if is_packed(fmt) else 8 * fmt.storage.itemsize


def _onnx_supports(case: Case, catalog: Catalog) -> Declined | None:
    return cannot_ask(case)


def _onnx_question(case: Case, catalog: Catalog) -> Mapping[str, object]:
    known = [t for t in catalog.types.types.values() if t.name_in(ONNX)]
    return {
        **_graph_of_onnx(case),
        "types": _types(tensor_type_number, known),
        "limit": max_elements(),
    }


def _openvino_supports(case: Case, catalog: Catalog) -> Declined | None:
    """Decline what is neither OpenVINO's nor ONNX's, and types that no release has a name for."""
    world = case.op.partition(".")[0]
    if world == ONNX:
        return cannot_ask(case)
    if world != OPENVINO:
        return Declined(f"{case.op} is neither OpenVINO's operator nor ONNX's", missing=True)
    for dtype in (*case.inputs, *case.outputs):
        if not dtype.name_in(OPENVINO):
            return Declined(f"OpenVINO has no type {dtype}", missing=True)
    return None


def _openvino_question(case: Case, catalog: Catalog) -> Mapping[str, object]:
    own = (*case.outputs, *case.inputs)  # before others of the same name
    known = [*own, *(t for t in catalog.types.types.values() if t not in own)]
    return {
        **(_graph_of_onnx(case) if case.op.startswith(f"{ONNX}.") else _node_of(case)),
        "types": _types(lambda dtype: dtype.name_in(OPENVINO), known),
        "outputs": len(case.outputs),
        "limit": max_elements(),
    }


def _graph_of_onnx(case: Case) -> dict[str, object]:
    return {"model": base64.b64encode(build(case).SerializeToString()).decode()}


def _node_of(case: Case) -> dict[str, object]:
    return {
        "operator": case.op.partition(".")[2],
        "opset": f"opset{case.version}",
        "attributes": dict(attributes_of(case)),
    }


def _openvino_said(answer: Answer) -> Answer:
    if isinstance(answer, Declined):
        missing = answer.missing
        found = turned_down(RuntimeError(answer.message))
        return Declined(found.message, missing or found.missing)
    return on_values(RuntimeError(answer.message)) if isinstance(answer, Refused) else answer


def _torch_supports(case: Case, catalog: Catalog) -> Declined | None:
    reason = why_not(catalog.specs.get(case.spec), TORCH, case)
    return Declined(reason, missing=True) if reason else None


def _torch_question(case: Case, catalog: Catalog) -> Mapping[str, object]:
    known = [t for t in catalog.types.types.values() if t.name_in(TORCH)]
    return {
        "function": catalog.specs[case.spec].calls[TORCH].function,
        "target": case.outputs[0].name_in(TORCH) if case.outputs else "",
        "types": _types(lambda dtype: dtype.name_in(TORCH), known),
        "limit": max_elements(),
    }


def _torch_said(answer: Answer) -> Answer:
    if isinstance(answer, Declined):
        return Declined(" ".join(answer.message.split()), answer.missing)
    return from_call(answer.message) if isinstance(answer, Refused) else answer


def _onnx_runtime_said(answer: Answer) -> Answer:
    if isinstance(answer, Declined) and not answer.missing:
        return from_load(answer.message)
    return from_run(answer.message) if isinstance(answer, Refused) else answer


RUNTIMES: Mapping[str, Native] = {
    "ort": Native(_onnx_supports, _onnx_question, _onnx_runtime_said),
    "openvino": Native(_openvino_supports, _openvino_question, _openvino_said),
    "torch": Native(_torch_supports, _torch_question, _torch_said),
}
