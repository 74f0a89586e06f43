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
from convcheck.semantics.expected import PATTERNS, Decision
from convcheck.vectors.model import GENERATOR, CallSet, Vectors, VectorSet

FORMAT = "convcheck-vectors/1"
Tensors = dict[str, NDArray[Any]]


def can_hold(case: Case) -> bool:
    """Return whether safetensors can hold a case: it has no texts."""
    return not any(isinstance(t.format, Text) for t in (*case.inputs, *case.outputs))


def content(spec: Spec, vectors: Vectors, tier: str, seed: int) -> bytes:
    """Return the file of one case, for which `can_hold` is true."""
    from safetensors.numpy import save

    if isinstance(vectors, CallSet):
        tensors, decisions = _of_calls(vectors)
    else:
        tensors, decisions = _of_elements(vectors)
    case = vectors.case
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


def _of_elements(vectors: VectorSet) -> tuple[Tensors, tuple[Decision, ...]]:
    expected = vectors.expected
    due = expected.readings[0]
    [codes] = vectors.inputs
    tensors: Tensors = {
        "input": codes,
        "expected": due.codes,
        "pattern": due.patterns,
        "row": expected.rows.astype(np.uint16),
    }
    return {name: np.ascontiguousarray(t) for name, t in tensors.items()}, expected.decisions


def _of_calls(vectors: CallSet) -> tuple[Tensors, tuple[Decision, ...]]:
    first = [expected.readings[0] for expected in vectors.expected]
    tensors: Tensors = {
        "row": np.array([e.row for e in vectors.expected], np.uint16),
        "outcome": np.array([reading.pattern for reading in first], np.uint8),
    }
    for n, (call, reading) in enumerate(zip(vectors.calls, first, strict=True)):
        for i, tensor in enumerate(call):
            tensors[f"{n}/input/{i}"] = np.array(tensor)
        for i, due in enumerate(reading.outputs):
            tensors[f"{n}/expected/{i}"] = np.array(due.codes).reshape(due.shape)
            tensors[f"{n}/pattern/{i}"] = np.array(due.patterns, np.uint8).reshape(due.shape)
    return tensors, vectors.decisions


def _output_types(vectors: Vectors) -> list[Any]:
    if vectors.case.outputs or isinstance(vectors, VectorSet):
        return [t.name for t in vectors.case.outputs]
    return [[d.dtype.name for d in e.readings[0].outputs] for e in vectors.expected]
