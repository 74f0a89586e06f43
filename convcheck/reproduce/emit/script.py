"""Prepare the names, attributes and types of a script for a runtime."""

from __future__ import annotations

import keyword
from collections.abc import Mapping, Sequence
from itertools import pairwise, zip_longest
from typing import Any, cast

from convcheck.backends.onnx.model import (
    build,
    input_names,
    middle_names,
    node_constants,
    output_names,
)
from convcheck.backends.onnx.runtime import optimisation_of
from convcheck.backends.packing import pack
from convcheck.judge.result import Strip
from convcheck.judge.words import value
from convcheck.numerics.codes import Codes
from convcheck.numerics.format import Bool, Format, Numeric, Text
from convcheck.reproduce.witness import Witness
from convcheck.rules.model import Case, DType

_ONNX = "onnx"
_RESERVED = frozenset(("op_type", "inputs", "outputs", "name", "doc_string", "domain", "overload"))


def due_strips(witness: Witness) -> list[Strip]:
    """Return every expected output under any reading."""
    return [s for due in witness.due if not isinstance(due.outputs, str) for s in due.outputs]


def packed(witness: Witness) -> bool:
    """Return whether elements are packed, several to a byte."""
    strips = (*witness.inputs, *due_strips(witness), *(witness.got or ()))
    formats = (s.format for s in strips if not isinstance(s.format, Text | Bool | None))
    return any(fmt.bits < 8 for fmt in formats if fmt)


def of_runtime(witness: Witness, variant: str) -> dict[str, Any]:
    """Return the content for the template of the witness's runtime."""
    case = witness.case
    content: dict[str, Any] = {
        "folded": variant == "const" or ("input", "constant") in case.setting,
        "partly": variant == "first" and ("input", "constant") not in case.setting,
        "exposed": ("middle", "exposed") in case.setting,
    }
    stated = witness.first and bool(case.outputs)
    size = "shape" if stated else "[-1] * len(shape)"
    content["dims"] = f"ov.PartialShape({size})"
    if witness.backend.name.startswith("openvino"):
        from convcheck.backends.process.standalone import OPENVINO_CONFIG

        content |= {"config": repr(OPENVINO_CONFIG)}
    if case.op.partition(".")[0] == _ONNX:
        return {**content, **_of_model(witness)}
    from convcheck.backends.openvino.backend import attributes_of

    before = repr(dict(attributes_of(witness.before))) if witness.before else ""
    return {
        **content,
        "op": repr(case.op.partition(".")[2]),
        "attributes": [repr(dict(attributes_of(one))) for one in case.hops or (case,)],
        "before": before,
        "opset": repr(f"opset{case.version}"),
    }


def _of_model(witness: Witness) -> dict[str, Any]:
    case = witness.case
    middles = [hop.outputs[0] for hop in case.hops[:-1]]
    types = (*case.node_inputs, *middles, *case.outputs)
    numbers = {t.name: f"TensorProto.{t.name_in(_ONNX)}" for t in types}
    numeric = [t for t in (*case.inputs, *case.outputs) if not isinstance(t.format, Text)]
    words = {t.name_in(_ONNX): _word_of(t.format, packed(witness)) for t in numeric}
    return {
        "input_names": repr(input_names(case)),
        "output_names": repr(output_names(case)),
        "named_inputs": _named(input_names(case), case.inputs, numbers, _dims(witness)),
        "named_outputs": _named(output_names(case), case.outputs, numbers)
        + _exposed(case, numbers),
        "nodes": _nodes(case, numbers),
        "parts": _parts(case, numbers),
        "constant": ("input", "constant") in case.setting,
        "before": _node(witness.before, input_names(case), output_names(case), numbers)
        if witness.before
        else "",
        **_optimised(case),
        "opset": case.version,
        "ir": int(build(case).ir_version),
        "bits": repr(words) if words else "",
    }


def _nodes(case: Case, numbers: Mapping[str, str]) -> list[str]:
    names = [input_names(case), *([name] for name in middle_names(case)), output_names(case)]
    constants = [[name for name, *_ in some] for some in node_constants(case)] or [[]]
    nodes = zip(case.hops or (case,), pairwise(names), constants, strict=True)
    return [_node(one, [*before, *more], after, numbers) for one, (before, after), more in nodes]


def _parts(case: Case, numbers: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the arguments of helper.make_tensor for each constant input, and its value."""
    found = []
    for name, dtype, bits in (one for some in node_constants(case) for one in some):
        fmt = cast(Numeric, dtype.format)
        memory = pack(fmt, cast(Codes, bits)).tobytes()
        said = f"{name!r}, {numbers[dtype.name]}, [], {memory!r}, raw=True"
        found.append((said, str(value(fmt, int(bits)))))
    return found


def _node(
    case: Case, before: Sequence[str], after: Sequence[str], numbers: Mapping[str, str]
) -> str:
    op = repr(case.op.partition(".")[2])
    return f"{op}, {list(before)!r}, {list(after)!r}{_keywords(case, numbers)}"


def _exposed(case: Case, numbers: Mapping[str, str]) -> list[str]:
    if ("middle", "exposed") not in case.setting:
        return []
    return _named(middle_names(case), [hop.outputs[0] for hop in case.hops[:-1]], numbers)


def _optimised(case: Case) -> dict[str, Any]:
    level, entries = optimisation_of(dict(case.setting))
    said = [(repr(name), repr(value)) for name, value in entries.items()]
    return {"level": level, "entries": said}


def _named(
    names: Sequence[str],
    types: Sequence[DType],
    numbers: Mapping[str, str],
    dims: Sequence[object] = (),
) -> list[str]:
    """Return the arguments of helper.make_tensor_value_info for each tensor."""
    stated = zip_longest(names, types, dims)
    return [f"{name!r}, {numbers[t.name]}, {shape}" for name, t, shape in stated]


def _dims(witness: Witness) -> list[list[None]]:
    """Return unknown dimensions for each input, if the runtime needs their number."""
    if not witness.backend.name.startswith("openvino"):
        return []
    return [[None] * len(strip.shape) for strip in witness.inputs]


def _word_of(fmt: Format, packed: bool) -> int | str:
    """Return an element's width in bits if any are packed, otherwise numpy's type name."""
    assert not isinstance(fmt, Text)  # noqa: S101 texts have no words
    return (8 if isinstance(fmt, Bool) else fmt.bits) if packed else f"u{fmt.storage.itemsize}"


def _keywords(case: Case, numbers: Mapping[str, str]) -> str:
    said: list[tuple[str, str]] = [(name, repr(v)) for name, v in case.given]
    for name, kind in case.carried:
        output = case.outputs[0]
        said.append((name, numbers[output.name] if kind == "int" else repr(output.name_in(_ONNX))))
    if all(_is_keyword(name) for name, _ in said):
        return "".join(f", {name}={v}" for name, v in said)
    return f", **{{{', '.join(f'{name!r}: {v}' for name, v in said)}}}"


def _is_keyword(name: str) -> bool:
    return name.isidentifier() and not keyword.iskeyword(name) and name not in _RESERVED
