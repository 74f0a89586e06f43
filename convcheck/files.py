"""Files are written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from convcheck.errors import UsageError


def write_whole(path: Path, content: bytes, *, folders: bool = False) -> None:
    """Write a file whole or not at all; with `folders`, make the folders to it.

    A pipe or a device is written to, not replaced. Raises UsageError where it cannot be written.
    """
    try:
        target = path.resolve()
        if folders:
            target.parent.mkdir(parents=True, exist_ok=True)
        if target.exists() and not target.is_file():
            target.write_bytes(content)
        else:
            _replace(target, content)
    except OSError as error:
        hint = "give a file in a folder that exists and can be written to"
        raise UsageError(f"cannot write {path}: {error.strerror or error}", hint=hint) from error


def _replace(path: Path, content: bytes) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
