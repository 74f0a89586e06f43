"""Write an export into a folder, each file completely or not at all.

`convcheck-export.json` lists the files. An export writes only to a new or empty folder, or to one
with that file, and removes only files that it lists.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from convcheck.errors import UsageError
from convcheck.files import MOST_OF_REPORT, read_text, write_whole

MARK = "convcheck-export.json"


def check(folder: Path, form: str) -> frozenset[str]:
    """Return the files that an earlier export left in a folder.

    Raises UsageError if the folder has other files, or is not a folder.
    """
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
    """Write files, given as (name with slashes, content), and remove those of an earlier export.

    Raises UsageError as `check` does, and for a file in the way.
    """
    before, given = check(folder, form), set[str]()
    _mark(folder, form, before)
    try:
        for name, content in files:
            if name not in before:
                _check_own(folder / name, content)
            given.add(name)
            write_whole(folder / name, content, folders=True)
        _remove(folder, before - given)
        before = frozenset()
    finally:
        _mark(folder, form, before | given)


def _check_own(path: Path, content: bytes) -> None:
    if path.exists() and path.read_bytes() != content:
        raise UsageError(f"{path} is there already", hint="move it, or give another folder")


def _mark(folder: Path, form: str, names: Iterable[str]) -> None:
    head = {"convcheck-export": 1, "form": form, "files": sorted(names)}
    write_whole(folder / MARK, (json.dumps(head, indent=1) + "\n").encode(), folders=True)


def _remove(folder: Path, names: Iterable[str]) -> None:
    for name in names:
        path = folder / name
        path.unlink(missing_ok=True)
        for parent in (p for p in path.parents if p.is_relative_to(folder) and p != folder):
            if parent.is_dir() and not any(parent.iterdir()):
                parent.rmdir()
