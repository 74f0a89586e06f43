"""The code that answers, as files: found and hashed without importing any of it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from convcheck.errors import UsageError

_CODE = re.compile(r".*\.(py|pyd|dll|dylib|so)(\.[0-9.]+)?")


@dataclass(frozen=True)
class Binary:
    """A file of code, or a folder with all the files of code that are in it."""

    path: Path
    #: How many files there are.
    files: int
    #: Of a file its SHA-256; of a folder that of the lines that `sha256sum` prints in it, sorted by
    #: the path.
    sha256: str


def hashed(paths: Iterable[Path]) -> tuple[Binary, ...]:
    """Return files and folders of code with their hashes. Raises UsageError for what cannot be
    read.
    """
    try:
        return tuple(_folder(path) if path.is_dir() else _file(path) for path in paths)
    except OSError as error:
        said = f"cannot hash the backend's code: {error.filename}: {error.strerror}"
        raise UsageError(said, hint="a certificate names what answered") from error


def module_paths(*names: str) -> list[Path]:
    """Return the folders, or the files, of modules that are there; of a submodule, the package's.

    Nothing is imported.
    """
    return [*dict.fromkeys(p for name in names for p in _of_module(name.partition(".")[0]))]


def _of_module(name: str) -> Iterator[Path]:
    found = find_spec(name) if name else None
    if found is None:
        return
    if found.submodule_search_locations:
        yield from map(Path, found.submodule_search_locations)
    elif found.origin is not None and Path(found.origin).is_file():
        yield Path(found.origin)


def _file(path: Path) -> Binary:
    return Binary(path, 1, _sha256(path))


def _folder(folder: Path) -> Binary:
    found = (path for path in folder.rglob("*") if _CODE.fullmatch(path.name) and path.is_file())
    names = sorted(path.relative_to(folder).as_posix() for path in found)
    lines = "".join(f"{_sha256(folder / name)}  {name}\n" for name in names)
    return Binary(folder, len(names), hashlib.sha256(lines.encode()).hexdigest())


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
