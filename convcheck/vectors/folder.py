"""Write exports: the folder, and safetensors files."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convcheck.errors import UsageError
from convcheck.files import MOST_OF_REPORT, read_text, write_whole
from convcheck.numerics.format import Text
from convcheck.rules.digest import digest_of_spec
from convcheck.rules.model import Case, Spec
from convcheck.semantics.expected import PATTERNS
from convcheck.vectors.model import GENERATOR, CallSet, Vectors

MARK = "convcheck-export.json"


def check(folder: Path, form: str) -> frozenset[str]:
    """Return an earlier export's files in a folder. Raises UsageError."""
    if not folder.exists():
        return frozenset()
    if not folder.is_dir():
        raise UsageError(f"{folder} is not a folder", hint="--out DIR")
    if (folder / MARK).is_file():
        return _listed(folder, form)
    if any(folder.iterdir()):
        said = f"{folder} is not empty, and holds no earlier export"
        raise UsageError(said, hint="give a new or an empty folder")
    return frozenset()


def _listed(folder: Path, form: str) -> frozenset[str]:
    try:
        said = json.loads(read_text(folder / MARK, MOST_OF_REPORT))
        earlier, names = str(said["form"]), frozenset(map(str, said["files"]))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        hint = "remove the folder, or give another"
        raise UsageError(f"{folder / MARK} is damaged", hint=hint) from None
    if earlier != form:
        wrong = f"{folder} holds an export in the form {earlier}, not {form}"
        raise UsageError(wrong, hint="give another folder, or remove that one")
    inside = folder.resolve()
    return frozenset(n for n in names if (folder / n).resolve().is_relative_to(inside))


def write_export(files: Iterable[tuple[str, bytes]], folder: Path, form: str) -> None:
    """Write files (name, content), and remove an earlier export's. Raises UsageError."""
    before, given = check(folder, form), set[str]()
    _mark(folder, form, before)
    try:
        for name, content in files:
            path = folder / name
            if name not in before and path.exists() and path.read_bytes() != content:
                raise UsageError(f"{path} is there already", hint="move it, or give another folder")
            given.add(name)
            write_whole(path, content, folders=True)
        for name in before - given:
            path = folder / name
            path.unlink(missing_ok=True)
            for parent in (p for p in path.parents if p.is_relative_to(folder) and p != folder):
                if parent.is_dir() and not any(parent.iterdir()):
                    parent.rmdir()
        before = frozenset()
    finally:
        _mark(folder, form, before | given)


def _mark(folder: Path, form: str, names: Iterable[str]) -> None:
    head = {"convcheck-export": 1, "form": form, "files": sorted(names)}
    write_whole(folder / MARK, (json.dumps(head, indent=1) + "\n").encode(), folders=True)


FORMAT = "convcheck-vectors/1"
Tensors = dict[str, NDArray[Any]]


def why_not(case: Case) -> str:
    """Return why safetensors cannot hold a case, or ''."""
    texts = any(isinstance(t.format, Text) for t in (*case.inputs, *case.outputs))
    return "it has texts" if texts else ""


def content(spec: Spec, vectors: Vectors, tier: str, seed: int) -> bytes:
    """Return a case's file, without texts."""
    from safetensors.numpy import save

    case, decisions = vectors.case, vectors.decisions
    outputs: list[Any] = [t.name for t in case.outputs]
    if isinstance(vectors, CallSet):
        tensors = _of_calls(vectors)
        if not outputs:
            outputs = [[d.dtype.name for d in e.readings[0].outputs] for e in vectors.expected]
    else:
        [codes], due = vectors.inputs, vectors.expected.readings[0]
        rows = vectors.rows.astype(np.uint16)
        columns = {"input": codes, "expected": due.codes, "pattern": due.patterns, "row": rows}
        tensors = {name: np.ascontiguousarray(column) for name, column in columns.items()}
    metadata = {
        "format": FORMAT,
        "case": case.id,
        "inputs": json.dumps([t.name for t in case.sources]),
        "outputs": json.dumps(outputs),
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
