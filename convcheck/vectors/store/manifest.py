"""The manifest of a vectors folder: the hash of each file, and the file of each case."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from convcheck.errors import Place, VectorError
from convcheck.files import MOST_OF_REPORT, read_text
from convcheck.vectors.model import GENERATOR

MANIFEST_FORMAT = 3
MANIFEST = "MANIFEST.json"
_REGENERATE = "run `convcheck generate`, or get the file again from its source"


class ListedFile(NamedTuple):
    """A file's entry in the manifest."""

    sha256: str
    #: elements or whole calls
    vectors: int


@dataclass(frozen=True)
class Manifest:
    """The table of contents of a vectors folder."""

    folder: Path
    #: of the random part of the inputs
    seed: int
    tier: str
    #: spec id -> the spec's hash, and the file of each case
    specs: Mapping[str, Any]
    files: Mapping[str, ListedFile]
    #: the hash of the manifest itself
    digest: str

    def sha256(self, name: str) -> str | None:
        """Return the hash of a file, None if it is not listed."""
        return self.files[name].sha256 if name in self.files else None

    def only(self, ids: Iterable[str]) -> Manifest:
        """Return the manifest of these specs only."""
        specs = {name: self.specs[name] for name in ids if name in self.specs}
        names = {name for spec in specs.values() for name in spec["cases"].values()}
        return replace(
            self, specs=specs, files={n: self.files[n] for n in names if n in self.files}
        )


def read_manifest(folder: Path) -> Manifest:
    """Read a folder's manifest. Raises VectorError."""
    data, text = read_json(folder / MANIFEST)
    check_version(data, "convcheck-manifest", MANIFEST_FORMAT, folder / MANIFEST)
    try:
        specs = {name: _spec_entry(entry) for name, entry in data["specs"].items()}
        files = {
            f"{place}/{name}.json": ListedFile(*entry)
            for place, entries in data["files"].items()
            for name, entry in entries.items()
        }
        return Manifest(folder, data["seed"], data["tier"], specs, files, sha256(text))
    except (KeyError, TypeError, AttributeError) as error:
        raise damaged_file(folder / MANIFEST, f"truncated or edited, {error!r} in it") from None


def _spec_entry(entry: Mapping[str, Any]) -> dict[str, Any]:
    listed = {
        name: f"{folder}/{name}.json" for folder, names in entry["cases"].items() for name in names
    }
    return {"spec_sha256": entry["spec_sha256"], "cases": {**listed, **entry["shared"]}}


def read_json(path: Path) -> tuple[dict[str, Any], str]:
    """Return the object in a JSON file and the file's text. Raises VectorError."""
    try:
        text = read_text(path, MOST_OF_REPORT)
        data = json.loads(text)
    except OSError as error:
        raise damaged_file(path, f"cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", 0)
        raise damaged_file(path, f"truncated or edited, not JSON: {error}", line) from None
    if not isinstance(data, dict):
        raise damaged_file(path, "not a JSON object")
    return data, text


def damaged_file(path: Path, what: str, line: int = 0) -> VectorError:
    """Return the error for a damaged file."""
    return VectorError(f"vector file: {what}", place=Place(str(path), line), hint=_REGENERATE)


def check_version(data: Mapping[str, Any], key: str, known: int, path: Path) -> None:
    """Raise VectorError if a file has another format version."""
    version = data.get(key)
    if not isinstance(version, int):
        raise damaged_file(path, f"not a convcheck file: no {key!r}")
    if version != known:
        raise VectorError(
            f"vector file of format {version}; this convcheck reads format {known}",
            place=Place(str(path), 1),
            hint="upgrade convcheck" if version > known else "run `convcheck generate`",
        )


def manifest_text(
    tier: str, seed: int, specs: Mapping[str, Any], files: Mapping[str, ListedFile]
) -> str:
    """Return the text of a manifest."""
    head = {
        "convcheck-manifest": MANIFEST_FORMAT,
        "generator": GENERATOR,
        "seed": seed,
        "tier": tier,
    }
    parts = [canonical(head)[:-1]]
    folders: dict[str, dict[str, ListedFile]] = {}
    for path, entry in files.items():
        folder, name = path.removesuffix(".json").rsplit("/", 1)
        folders.setdefault(folder, {})[name] = entry
    found = ",\n".join(f"{canonical(name)}: {_entries(entry)}" for name, entry in folders.items())
    parts.append(f'"files": {{\n{found}\n}}')
    listed = ",\n".join(f"{canonical(name)}: {_spec_text(entry)}" for name, entry in specs.items())
    parts.append(f'"specs": {{\n{listed}\n}}')
    return ",\n".join(parts) + "}\n"


def _spec_text(entry: Mapping[str, Any]) -> str:
    """Return the files of a spec's cases as text.

    Cases whose file has their own name are listed by folder; others with the file that they share.
    """
    folders: dict[str, list[str]] = {}
    shared: dict[str, str] = {}
    for name, path in entry["cases"].items():
        folder = path.removesuffix(f"/{name}.json")
        if folder == path:
            shared[name] = path
        else:
            folders.setdefault(folder, []).append(name)
    listed = (
        f"{canonical(folder)}: [\n" + ",\n".join(map(canonical, names)) + "\n]"
        for folder, names in folders.items()
    )
    return (
        f'{{"spec_sha256": {canonical(entry["spec_sha256"])},\n"cases": {{\n'
        + ",\n".join(listed)
        + '\n},\n"shared": '
        + _entries(shared)
        + "}"
    )


def _entries(mapping: Mapping[str, Any]) -> str:
    return "{\n" + ",\n".join(f"{canonical(k)}: {canonical(v)}" for k, v in mapping.items()) + "\n}"


def sha256(text: str) -> str:
    """Return the SHA-256 of a text."""
    return hashlib.sha256(text.encode()).hexdigest()


def canonical(value: object) -> str:
    """Return the canonical JSON of a value."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True)
