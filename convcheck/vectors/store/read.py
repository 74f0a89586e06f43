"""Read vector files and their manifest, and verify their hashes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convcheck.files import MOST_OF_REPORT, read_file
from convcheck.numerics.codes import Bits
from convcheck.numerics.format import Format
from convcheck.rules.model import Case, Spec
from convcheck.semantics.evaluate import decisions_named
from convcheck.semantics.expected import Expected, Reading
from convcheck.vectors.form import form_decision
from convcheck.vectors.model import Vectors, VectorSet
from convcheck.vectors.store.manifest import (
    MANIFEST,
    ListedFile,
    Manifest,
    check_version,
    damaged_file,
    read_json,
    sha256,
)
from convcheck.vectors.store.read_calls import Types, call_set, count_calls
from convcheck.vectors.store.words import bits_of_words, due_of_words
from convcheck.vectors.store.write import FORMAT
from convcheck.vectors.store.write_calls import file_key

_DAMAGED = KeyError, ValueError, TypeError, IndexError, OverflowError


def read_vectors(manifest: Manifest, spec: Spec, case: Case, types: Types) -> Vectors:
    """Read the vectors of a case; `types` are the possible output types of a whole call.

    Raises VectorError for a file that is truncated, edited or newer than the manifest.
    """
    name, entry = _listed(manifest, case)
    data = shared_file(manifest.folder, name, entry.sha256)
    try:
        if case.whole_calls:
            return call_set(data, spec, case, types)
        rules = decisions_named(spec, case, [tuple(rule[:3]) for rule in data["rules"]])
        sources, target = tuple(t.format for t in case.sources), case.outputs[0].format
        readings = max(len(rule.readings) for rule in rules)
        content = _content(manifest.folder, name, entry.sha256, sources, target, readings)
        expected = Expected(content.rows, rules, content.readings)
        return VectorSet(case, content.inputs, expected, data["coverage"], form_decision(spec))
    except _DAMAGED as error:
        said = f"not vectors of {case.id}: {error!r}"
        raise damaged_file(manifest.folder / name, said) from error


def count_stored(manifest: Manifest, case: Case) -> int:
    """Return the number of a case's vectors from the files of a folder.

    Raises VectorError for files that do not have it.
    """
    name, entry = _listed(manifest, case)
    try:
        if not case.whole_calls:
            return int(entry.vectors)
        return count_calls(shared_file(manifest.folder, name, entry.sha256), case)
    except _DAMAGED as error:
        said = f"no count of {case.id}: {error!r}"
        raise damaged_file(manifest.folder / name, said) from error


def _listed(manifest: Manifest, case: Case) -> tuple[str, ListedFile]:
    name = manifest.specs[case.spec]["cases"].get(file_key(case))
    if name not in manifest.files:
        raise damaged_file(manifest.folder / MANIFEST, f"it has no vectors of {case.id}")
    return name, manifest.files[name]


def verified(folder: Path, name: str, sha: str | None) -> dict[str, Any]:
    """Read a vector file and verify its hash. Raises VectorError."""
    path = folder / name
    data, text = read_json(path)
    check_version(data, "convcheck-vectors", FORMAT, path)
    if sha256(text) != sha:
        raise damaged_file(path, "its hash is not the one in the manifest: truncated or edited")
    return data


_NEIGHBOURS = 4  # files; cases that share one are adjacent


@lru_cache(maxsize=_NEIGHBOURS)
def shared_file(folder: Path, name: str, sha: str | None) -> dict[str, Any]:
    """Read a file as `verified` does, cached for the cases that share it."""
    return verified(folder, name, sha)


@dataclass(frozen=True)
class _Content:
    """The vectors of a file, in read-only arrays that cases share."""

    inputs: tuple[Bits, ...]
    rows: NDArray[np.int16]
    readings: tuple[Reading, ...]


@lru_cache(maxsize=_NEIGHBOURS)
def _content(
    folder: Path, name: str, sha: str | None, sources: tuple[Format, ...], target: Format,
    readings: int,
) -> _Content:  # fmt: skip
    columns = list(zip(*shared_file(folder, name, sha)["vectors"], strict=True))
    words = zip(sources, columns[:-2], strict=True)
    content = _Content(
        tuple(bits_of_words(source, column) for source, column in words),
        np.array(columns[-1], np.int16),
        tuple(_reading(target, columns[-2], r) for r in range(readings)),
    )
    of_readings = (array for r in content.readings for array in (r.codes, r.patterns))
    for array in (*content.inputs, content.rows, *of_readings):
        array.flags.writeable = False
    return content


def _reading(fmt: Format, said: Iterable[str | list[str]], r: int) -> Reading:
    words = [word if isinstance(word, str) else word[min(r, len(word) - 1)] for word in said]
    return Reading(*due_of_words(fmt, words))


def verify_files(manifest: Manifest, cases: Sequence[Case]) -> None:
    """Verify the files of cases. Raises VectorError for the first failure."""
    folder = manifest.folder
    for name in {manifest.specs[case.spec]["cases"].get(file_key(case)) for case in cases}:
        if name is not None:
            due = manifest.sha256(name)
            if _sha256_of(folder / name) != due:
                verified(folder, name, due)  # it says what is wrong


def _sha256_of(path: Path) -> str:
    try:
        return hashlib.sha256(read_file(path, MOST_OF_REPORT)).hexdigest()
    except OSError:
        return ""
