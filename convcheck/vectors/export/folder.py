"""A folder that an export fills, file by file, each whole or not at all.

`convcheck-export.json` in it says what was written. Only a folder that is new, empty, or has that
file is written to, and only files that it lists are ever removed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from convcheck.errors import UsageError
from convcheck.files import MOST_OF_REPORT, read_text, write_whole

MARK = "convcheck-export.json"


def check(folder: Path, form: str) -> frozenset[str]:
    """Return the names of the files that an earlier export left in a folder.

    Raises UsageError where it has anything else in it, or is no folder.
    """
    if not folder.exists():
        return frozenset()
    if not folder.is_dir():
        raise UsageError(f"{folder} is not a folder", hint="--out DIR")
    if not (folder / MARK).is_file():
        if any(folder.iterdir()):
            raise UsageError(
                f"{folder} is not empty, and holds no earlier export",
                hint="give a new or an empty folder",
            )
        return frozenset()
    return _listed(folder, form)


def _listed(folder: Path, form: str) -> frozenset[str]:
    try:
        said = json.loads(read_text(folder / MARK, MOST_OF_REPORT))
        earlier, names = str(said["form"]), frozenset(map(str, said["files"]))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        raise UsageError(
            f"{folder / MARK} is damaged", hint="remove the folder, or give another"
        ) from None
    if earlier != form:
        raise UsageError(
            f"{folder} holds an export in the form {earlier}, not {form}",
            hint="give another folder, or remove that one",
        )
    inside = folder.resolve()
    return frozenset(n for n in names if (folder / n).resolve().is_relative_to(inside))


def write_export(files: Iterable[tuple[str, bytes]], folder: Path, form: str) -> None:
    """Write files, given as (name with slashes, content), and remove those no longer given.

    Raises UsageError where one cannot be written, and where `check` does.
    """
    before, given = check(folder, form), set[str]()
    _mark(folder, form, before)
    try:
        for name, content in files:
            given.add(name)
            write_whole(folder / name, content, folders=True)
        _remove(folder, before - given)
        before = frozenset()
    finally:
        _mark(folder, form, before | given)


def _mark(folder: Path, form: str, names: Iterable[str]) -> None:
    head = {"convcheck-export": 1, "form": form, "files": sorted(names)}
    write_whole(folder / MARK, (json.dumps(head, indent=1) + "\n").encode(), folders=True)


def _remove(folder: Path, names: Iterable[str]) -> None:
    for name in names:
        path = folder / name
        path.unlink(missing_ok=True)
        parents = [p for p in path.parents if p.is_relative_to(folder) and p != folder]
        for parent in parents:
            if parent.is_dir() and not any(parent.iterdir()):
                parent.rmdir()
