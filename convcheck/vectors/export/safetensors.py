"""Export vectors as safetensors: codes as unsigned integers.

A case of elements has `input`, `expected` (codes under the first reading), `pattern` (uint8, an
index into the metadata's patterns) and `row` (an index into its rules). A case of whole calls has
names such as `7/input/0`, `7/expected/0`, `7/pattern/0`: call, tensor, index. There `row` and
`outcome` (a pattern, `exact` for outputs) have one entry per call.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convcheck.numerics.format import Text
from convcheck.rules.digest import digest_of_spec
from convcheck.rules.model import Case, Spec
from convcheck.semantics.expected import PATTERNS
from convcheck.vectors.model import GENERATOR, CallSet, Vectors, VectorSet

FORMAT = "convcheck-vectors/1"
Tensors = dict[str, NDArray[Any]]


def why_not(case: Case) -> str:
    """Return why safetensors cannot hold a case, or ''."""
    texts = any(isinstance(t.format, Text) for t in (*case.inputs, *case.outputs))
    return "it has texts" if texts else ""


def content(spec: Spec, vectors: Vectors, tier: str, seed: int) -> bytes:
    """Return the file of one case without texts."""
    from safetensors.numpy import save

    tensors = _of_calls(vectors) if isinstance(vectors, CallSet) else _of_elements(vectors)
    case, decisions = vectors.case, vectors.decisions
    metadata = {
        "format": FORMAT,
        "case": case.id,
        "inputs": json.dumps([t.name for t in case.sources]),
        "outputs": json.dumps(_output_types(vectors)),
        "attributes": json.dumps(dict(case.attributes)),
        "coverage": vectors.coverage,
        "tier": tier,
        "seed": str(seed),
        "generator": str(GENERATOR),
        "spec": spec.id,
        "spec_sha256": digest_of_spec(spec),
        "patterns": json.dumps(PATTERNS),
        "rules": json.dumps([[d.rule, d.row, d.level] for d in decisions]),
        "readings": json.dumps([list(filter(None, d.readings)) for d in decisions]),
    }
    return bytes(save(tensors, metadata))


def _of_elements(vectors: VectorSet) -> Tensors:
    [codes], due = vectors.inputs, vectors.expected.readings[0]
    rows = vectors.rows.astype(np.uint16)
    tensors = {"input": codes, "expected": due.codes, "pattern": due.patterns, "row": rows}
    return {name: np.ascontiguousarray(tensor) for name, tensor in tensors.items()}


def _of_calls(vectors: CallSet) -> Tensors:
    first = [expected.readings[0] for expected in vectors.expected]
    tensors: Tensors = {
        "row": vectors.rows.astype(np.uint16),
        "outcome": np.array([reading.pattern for reading in first], np.uint8),
    }
    for n, (call, reading) in enumerate(zip(vectors.calls, first, strict=True)):
        for i, tensor in enumerate(call):
            tensors[f"{n}/input/{i}"] = np.array(tensor)
        for i, due in enumerate(reading.outputs):
            tensors[f"{n}/expected/{i}"] = np.array(due.codes).reshape(due.shape)
            tensors[f"{n}/pattern/{i}"] = np.array(due.patterns, np.uint8).reshape(due.shape)
    return tensors


def _output_types(vectors: Vectors) -> list[Any]:
    if vectors.case.outputs or isinstance(vectors, VectorSet):
        return [t.name for t in vectors.case.outputs]
    return [[d.dtype.name for d in e.readings[0].outputs] for e in vectors.expected]
