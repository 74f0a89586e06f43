"""The content of a vectors folder: a manifest, and a file for each operator and source type.

Versions of an operator, and operators that extend it, share a folder. A file has sets of vectors,
each for all cases that have the same types, rules and vectors.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec

from convcheck.errors import Place, VectorError
from convcheck.files import MOST_OF_REPORT, read_file
from convcheck.rules.model import Case, Spec
from convcheck.vectors.model import Coverage, Tier
from convcheck.vectors.store.words import Tensor

MANIFEST_FORMAT, FORMAT = 4, 3
MANIFEST = "MANIFEST.json"
_REGENERATE = "run `convcheck generate`, or get the file again from its source"


class Line(NamedTuple):
    """A call, or some elements in a row that one rule decides."""

    inputs: list[Tensor]
    #: index of the deciding rule
    rule: int
    #: (index of its name, outputs, or the pattern of the whole call)
    readings: list[tuple[int, str | list[Tensor]]]
    #: the rule of each element of each output, if they differ
    rules: tuple[str, ...] = ()
    between: bool = False


class StoredSet(msgspec.Struct, frozen=True):
    """The vectors of some cases.

    In readings after the first, `same` stands for the element of the first.
    """

    #: spec id -> names of cases, several with choices in braces
    cases: dict[str, list[str]]
    inputs: list[str]
    outputs: list[str]
    coverage: Coverage
    #: (rule, row, level)
    rules: list[tuple[str, str, str]]
    #: their names
    readings: list[str]
    vectors: list[Line]


class StoredFile(msgspec.Struct, frozen=True):
    """A file of vectors."""

    sets: list[StoredSet]


class StoredSpec(msgspec.Struct, frozen=True):
    """A spec's entry in the manifest."""

    spec_sha256: str
    folder: str


class Manifest(msgspec.Struct, frozen=True):
    """The table of contents of a vectors folder."""

    #: of the random part of the inputs
    seed: int
    tier: Tier
    specs: dict[str, StoredSpec]
    #: name -> its SHA-256
    files: dict[str, str]
    folder: Path = Path()

    def only(self, ids: Iterable[str]) -> Manifest:
        """Return the manifest of these specs only."""
        specs = {name: self.specs[name] for name in ids if name in self.specs}
        folders = {spec.folder for spec in specs.values()}
        files = {n: sha for n, sha in self.files.items() if n.rpartition("/")[0] in folders}
        return msgspec.structs.replace(self, specs=specs, files=files)

    def file_of(self, case: Case) -> str:
        """Return the file that has a case. Raises VectorError if it is not listed."""
        name = file_in(self.specs[case.spec].folder, case)
        if name not in self.files:
            raise damaged_file(self.folder / MANIFEST, f"it has no vectors of {case.id}")
        return name


def folder_of(spec: Spec) -> str:
    """Return a spec's folder, that of the operator that it extends: onnx/Cast."""
    while spec.parent:
        spec = spec.parent
    return spec.op.replace(".", "/", 1)


def file_in(folder: str, case: Case) -> str:
    """Return the file of a case, that of its first input's type: onnx/Cast/float32.json."""
    return f"{folder}/{case.inputs[0].name}.json"


def read_manifest(folder: Path) -> Manifest:
    """Read a folder's manifest. Raises VectorError."""
    manifest, _ = read_stored(folder / MANIFEST, Manifest)
    return msgspec.structs.replace(manifest, folder=folder)


Content = TypeVar("Content", Manifest, StoredFile)
_VERSIONS = {Manifest: ("manifest", MANIFEST_FORMAT), StoredFile: ("vectors", FORMAT)}


def read_stored(path: Path, kind: type[Content]) -> tuple[Content, str]:
    """Return a file's content and its SHA-256. Raises VectorError."""
    key, known = _VERSIONS[kind]
    try:
        text = read_file(path, MOST_OF_REPORT)
        found = re.match(rb'\{"convcheck-%s": (\d+)' % key.encode(), text)
        if not found:
            raise damaged_file(path, "truncated or edited: it does not begin with its version")
        if (version := int(found[1])) != known:
            raise VectorError(
                f"vector file of format {version}; this convcheck reads format {known}",
                place=Place(str(path), 1),
                hint="upgrade convcheck" if version > known else "run `convcheck generate`",
            )
        return msgspec.json.decode(text, type=kind), hashlib.sha256(text).hexdigest()
    except OSError as error:
        raise damaged_file(path, f"cannot be read: {error.strerror}") from error
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise damaged_file(path, f"truncated or edited: {error}") from None


def damaged_file(path: Path, what: str) -> VectorError:
    """Return the error for a damaged file."""
    return VectorError(f"vector file: {what}", place=Place(str(path), 0), hint=_REGENERATE)
