"""OpenVINO on the CPU: any of its own operators, and ONNX models, through `standalone.py`."""

import base64
import re
from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any

from convcheck.backends.native import Direct, Native, Question, known_types, variant_name
from convcheck.backends.onnx.model import WORLD as ONNX
from convcheck.backends.onnx.model import build, build_ranked, cannot_ask, is_of
from convcheck.backends.process.standalone import OPENVINO_WAYS, OpenVinoServer
from convcheck.backends.protocol import Answer, Declined, Refused
from convcheck.numerics.number import Bits
from convcheck.rules.load import Catalog, load, user_folders
from convcheck.rules.model import Case, DType
from convcheck.rules.types import Types

WORLD = "openvino"
_BOOLS: dict[str, Any] = {"true": True, "false": False}


class OpenVino:
    """OpenVINO's CPU plugin or core. `variant` is a key of OPENVINO_WAYS."""

    graphs = ()
    takes = staticmethod(partial(is_of, WORLD))

    def __init__(self, variant: str = "", *, catalog: Catalog | None = None) -> None:
        """Raises UsageError for an unknown variant, ImportError without OpenVINO."""
        self.name = variant_name(WORLD, variant, OPENVINO_WAYS)
        self._server = OpenVinoServer(variant)
        self._direct = Direct(OPENVINO, self._server, catalog or load(user_folders()))
        self.version = f"{WORLD} {self._server.version}"

    def support(self, case: Case) -> Declined | None:
        """Decline operators other than OpenVINO's and ONNX's, and types that OpenVINO lacks."""
        if ("input", "fed") in case.setting and self._server.variant in ("const", "eval"):
            return Declined(f"{self.name} has constants as inputs")
        if declined := _supports(case):
            return declined
        for dtype in _types_of(case):
            if not hasattr(self._server.api.Type, dtype.name_in(WORLD)):
                return Declined(f"OpenVINO has no type {dtype}", missing=True)
        return None

    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        """Run the case. A graph that cannot be built, or missing support, is Declined."""
        return self._direct.answer(case, inputs)


def _supports(case: Case) -> Declined | None:
    if not (is_of(WORLD, case) or is_of(ONNX, case)):
        return Declined(f"{case.op} is neither OpenVINO's operator nor ONNX's", missing=True)
    for dtype in _types_of(case):
        if not dtype.name_in(WORLD):
            return Declined(f"OpenVINO has no type {dtype}", missing=True)
    return cannot_ask(case) if is_of(ONNX, case) else None


def _types_of(case: Case) -> list[DType]:
    return [t for cast in case.hops or (case,) for t in (*cast.inputs, *cast.outputs)]


def _question(case: Case, catalog: Catalog) -> Question:
    found: dict[str, Any] = {}
    if is_of(ONNX, case):
        # some importers of operators need the ranks
        ranks = case.hops[0].ranks[:1] if case.hops else case.ranks
        model = build_ranked(case, ranks) if ranks else build(case)
        found["model"] = base64.b64encode(model.SerializeToString()).decode()
    elif case.hops:
        found["hops"] = [_node(hop) for hop in case.hops]
        found["exposed"] = ("middle", "exposed") in case.setting
    else:
        found |= _node(case)
    if ("input", "constant") in case.setting:
        found["folds"] = True
    types = _types((*case.outputs, *case.inputs), catalog.types)
    return {**found, "types": types, "outputs": len(case.outputs)}


@lru_cache(maxsize=256)
def _types(own: tuple[DType, ...], types: Types) -> dict[str, object]:
    known = [*own, *(t for t in types.types.values() if t not in own)]
    return known_types(lambda dtype: dtype.name_in(WORLD), known)


def _node(case: Case) -> dict[str, object]:
    return {
        "operator": case.op.partition(".")[2],
        "opset": f"opset{case.version}",
        "attributes": dict(attributes_of(case)),
    }


def attributes_of(case: Case) -> list[tuple[str, Any]]:
    """Return a node's attributes with OpenVINO's values."""
    carried = [(name, case.outputs[0].name_in(WORLD)) for name, _ in case.carried]
    given = [(name, _BOOLS.get(str(value), value)) for name, value in case.given]
    return [*given, *carried]


_NOISE = re.compile(
    r" at src/\S+:\d+(?=:)"
    r"|Exception from src/\S+:\d+:"
    r"|While validating node '.*?' with friendly_name '[^']*':?"
)
_NUMBERED = re.compile(r"\b([A-Za-z]\w*?)_\d+\b(?= ?[\[('\"(]| \()")  # Clamp_3711 [0]
_MISSING = (
    "is_type_supported",  # an element type that the operator lacks
    "Couldn't create operation",
    "Unsupported opset version",
    "Unsupported data type",
    "Unsupported operation",
    "no such attribute",
    "not implemented",
    "not supported",
    "unsupported",
    "oesn't support",
    "oes not support",
    "can't convert from",  # old releases: the plugin lacks a kernel for a compiled graph
)


def trimmed(message: str) -> str:
    """Drop C++ source lines, node listings, line breaks and running numbers from a message."""
    text = _NOISE.sub("", " ".join(message.split()))
    return _NUMBERED.sub(r"\1", " ".join(text.split())).strip(": ")


def _heard(answer: Answer) -> Answer:
    if not isinstance(answer, Declined | Refused):
        return answer
    text = trimmed(answer.message)
    missing = any(phrase in text for phrase in _MISSING)
    if isinstance(answer, Refused):
        return Declined(text, missing=True) if missing else Refused(text)
    return Declined(text, missing=missing or answer.missing)


OPENVINO = Native(lambda case, catalog: _supports(case), _question, _heard)
