"""Graphs of OpenVINO made of a case, for its native operators and for ONNX models.

No operator is known here: a node is made by the name and attributes that the case has.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

from convcheck.backends.onnx.model import WORLD as ONNX
from convcheck.backends.onnx.model import build, build_ranked
from convcheck.backends.protocol import Declined, Refused
from convcheck.rules.model import Case, Value

if TYPE_CHECKING:
    from openvino import Core, Node, Output, Tensor, Type

WORLD = "openvino"
Dims = tuple[tuple[int, ...], ...]  # per input its dimensions, -1 for one that is not stated
_BOOLS = {"true": True, "false": False}


class TurnedDownError(Exception):
    """OpenVINO made another node than the one that was asked for, or none."""


def imported_version() -> str:
    """Import OpenVINO, for the first time in a process, and return its version. Raises ImportError
    where it is not installed.

    Without what it sends to its makers each time that it is imported: no user of convcheck was
    asked for that, and a worker would wait for it for seconds at its end where no network is.
    """
    sys.modules.setdefault("openvino_telemetry", cast(ModuleType, None))  # it does without
    import openvino

    return str(openvino.__version__.partition("-")[0])


@cache
def core() -> Core:
    """Make OpenVINO's core, once in a process."""
    import openvino

    return openvino.Core()


def element_type(name: str) -> Type | None:
    """Return the element type that OpenVINO has under its own name ('f8e4m3'), None for no such."""
    import openvino

    return getattr(openvino.Type, name, None) if name else None


def parameters(case: Case, dims: Dims) -> list[Node]:
    """Make a Parameter for each input of a case."""
    from openvino import PartialShape
    from openvino.op import Parameter

    types = [element_type(dtype.name_in(WORLD)) for dtype in case.inputs]
    return [
        Parameter(kind, PartialShape(list(shape))) for kind, shape in zip(types, dims, strict=True)
    ]


def constants(tensors: Sequence[Tensor]) -> list[Node]:
    """Make a Constant of each tensor, with a copy of its memory."""
    from openvino.op import Constant

    return [Constant(tensor, shared_memory=False) for tensor in tensors]


def outputs_on(case: Case, sources: Sequence[Node]) -> list[Output]:
    """Put a case's operator on sources, in the operator's order: its outputs, types inferred.

    Raises RuntimeError in OpenVINO's words where it turns the question down, and TurnedDownError.
    """
    if case.op.partition(".")[0] == ONNX:
        return _imported(case, sources)
    return _chain(case, sources) if case.hops else _native(case, sources)


def _chain(case: Case, sources: Sequence[Node]) -> list[Output]:
    """Put the casts of a chain one on the other; where the setting says so, each middle is an
    output as well, after the last one.
    """
    made: list[Output] = []
    for hop in case.hops:
        made = [*_native(hop, made[:1] or sources), *made]
    return made if ("middle", "exposed") in case.setting else made[:1]


def _native(case: Case, sources: Sequence[Node | Output]) -> list[Output]:
    from openvino.utils.node_factory import NodeFactory

    opset = f"opset{case.version}"
    node = NodeFactory(opset).create(
        case.op.partition(".")[2], list(sources), dict(attributes_of(case))
    )
    made = node.get_type_info().version_id
    if made != opset:
        raise TurnedDownError(f"Couldn't create operation: {opset} has that of {made}")
    unknown = dict(attributes_of(case)).keys() - node.get_attributes().keys()
    if unknown:  # the factory passes over attributes that it does not know
        raise TurnedDownError(f"no such attribute: {', '.join(sorted(unknown))}")
    return list(node.outputs())


def attributes_of(case: Case) -> list[tuple[str, Any]]:
    """Return the attributes of a case's node, as OpenVINO has their values."""
    carried = [(name, case.outputs[0].name_in(WORLD)) for name, _ in case.carried]
    return [*((name, _value(value)) for name, value in case.given), *carried]


def _value(value: Value) -> Value | bool:
    return _BOOLS.get(value, value) if isinstance(value, str) else value


def _imported(case: Case, sources: Sequence[Node]) -> list[Output]:
    """Read the ONNX model of a case and put the sources in the place of its inputs."""
    from openvino import Model

    # an importer of some operators wants to know how many dimensions there are
    ranks = case.hops[0].ranks[:1] if case.hops else case.ranks
    made = build_ranked(case, ranks) if ranks else build(case)
    model = core().read_model(made.SerializeToString())
    for parameter, source in zip(model.get_parameters(), sources, strict=True):
        parameter.output(0).replace(source.output(0))
    outputs = [result.input_value(0) for result in model.get_results()]
    inputs = [source for source in sources if source.get_type_name() == "Parameter"]
    Model(outputs, inputs, "convcheck")  # infers the types and shapes anew
    return outputs


_NOISE = re.compile(
    r" at src/\S+:\d+(?=:)"
    r"|Exception from src/\S+:\d+:"
    r"|While validating node '.*?' with friendly_name '[^']*':?"
)
_NUMBERED = re.compile(r"\b([A-Za-z]\w*?)_\d+\b(?= ?[\[('\"(]| \()")  # Clamp_3711 [0]: by count
_MISSING = (
    "is_type_supported",  # an element type that the operator does not take
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
    "can't convert from",  # of old releases: the plugin has no kernel for a graph that it took
)


def trimmed(message: str) -> str:
    """Trim a message: C++ source lines, node listings, line breaks and running numbers are cut."""
    text = _NOISE.sub("", " ".join(message.split()))
    return _NUMBERED.sub(r"\1", " ".join(text.split())).strip(": ")


def turned_down(error: Exception) -> Declined:
    """Judge why no graph could be made: something is missing, or the question is refused."""
    text = trimmed(str(error))
    return Declined(text, missing=_is_missing(text))


def on_values(error: Exception) -> Refused | Declined:
    """Judge an exception on values: a refusal, or something that is missing."""
    text = trimmed(str(error))
    return Declined(text, missing=True) if _is_missing(text) else Refused(text)


def _is_missing(text: str) -> bool:
    return any(phrase in text for phrase in _MISSING)
