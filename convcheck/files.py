"""Files are written whole or not at all."""

from __future__ import annotations

import os
import sys
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


def write_text(text: str, path: str) -> None:
    """Write a text to a file, whole or not at all; '-' is standard output.

    It is UTF-8, whatever a terminal has. Raises UsageError where it cannot be written.
    """
    content = text.encode("utf-8", "backslashreplace")
    if path == "-":
        _write_stdout(content)
    else:
        write_whole(Path(path), content)


def _write_stdout(content: bytes) -> None:
    if sys.stdout is None:
        raise UsageError("cannot write to stdout: it is closed")
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise UsageError(f"cannot write to stdout: {error.strerror or error}") from error


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
