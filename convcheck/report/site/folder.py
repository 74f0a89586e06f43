"""Write the folder of a site atomically.

`convcheck-site.json` lists the written files. A folder is replaced only if it is new, empty, or has
just that file and the files listed in it.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections.abc import Iterable
from pathlib import Path

from convcheck.errors import ConvcheckError, SystemLimitError, UsageError
from convcheck.files import LIMITS, MOST_OF_REPORT, read_text

MARK = "convcheck-site.json"
_HINT = "give a new or an empty folder, or that of an earlier site"


def check_folder(folder: Path) -> None:
    """Raise UsageError unless a folder is new, empty, or an earlier site."""
    if not folder.exists() and not folder.is_symlink():
        return
    if not folder.is_dir():
        raise UsageError(f"{folder} is not a folder", hint=_HINT)
    inside = {one.relative_to(folder).as_posix() for one in folder.rglob("*") if not one.is_dir()}
    if MARK not in inside:
        if any(folder.iterdir()):
            said = f"{folder} is not empty, and holds no earlier site"
            raise UsageError(said, hint=_HINT)
        return
    if others := sorted(inside - _listed(folder) - {MARK}):
        more = f" and {len(others) - 1:,} more" if len(others) > 1 else ""
        said = f"{folder} holds a file that is of no site of convcheck's: {others[0]}{more}"
        raise UsageError(said, hint="move it, or give another folder")


def _listed(folder: Path) -> set[str]:
    try:
        said = json.loads(read_text(folder / MARK, MOST_OF_REPORT))
        return set(map(str, said["files"]))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        hint = "remove the folder, or give another"
        raise UsageError(f"{folder / MARK} is damaged", hint=hint) from None


def write_site(files: Iterable[tuple[str, bytes]], folder: Path) -> tuple[int, int]:
    """Write (name, content) pairs atomically. Return the number of files and bytes.

    Names have slashes. Raises UsageError if the folder cannot be written, and like `check_folder`.
    """
    target = folder.resolve()
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        made = target.with_name(f".{target.name}-{secrets.token_hex(6)}")
        made.mkdir()
        try:
            sizes = _fill(made, files)
            check_folder(target)  # it could have changed
            _put(made, target)
            return len(sizes), sum(sizes)
        finally:
            shutil.rmtree(made, ignore_errors=True)
    except OSError as error:
        raise _unwritten(folder, error) from error


def _fill(made: Path, files: Iterable[tuple[str, bytes]]) -> list[int]:
    sizes: dict[str, int] = {}
    for name, content in files:
        path = made / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        sizes[name] = len(content)
    head = {"convcheck-site": 1, "files": sorted(sizes)}
    (made / MARK).write_text(json.dumps(head, indent=1) + "\n", "utf-8")
    return [*sizes.values()]


def _put(made: Path, target: Path) -> None:
    if not target.exists():
        os.rename(made, target)
        return
    before = target.with_name(f"{made.name}-before")
    os.rename(target, before)
    try:
        os.rename(made, target)
    except BaseException:
        os.rename(before, target)
        raise
    shutil.rmtree(before, ignore_errors=True)


def _unwritten(folder: Path, error: OSError) -> ConvcheckError:
    said = f"cannot write {folder}: {error.strerror or error}"
    if error.errno in LIMITS:
        return SystemLimitError(said, hint="is the device full?")
    return UsageError(said, hint="give a folder inside one that can be written to")
