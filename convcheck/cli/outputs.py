"""Check output paths before a run, and write to them after it."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Mapping
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

from convcheck.errors import UsageError
from convcheck.files import write_all
from convcheck.streams import put_out

if TYPE_CHECKING:
    from convcheck.report.blocks import Block


def check_outputs(
    outputs: Mapping[str, str | None], inputs: Mapping[str, str | None] | None = None
) -> None:
    """Raise UsageError for unwritable outputs, equal outputs, and outputs that overwrite inputs.

    Both arguments map options to paths, None if not given. Links are resolved.
    """
    written = {name: path for name, path in outputs.items() if path is not None}
    for path in written.values():
        _check_writable(path)
    for (one, path), (other, also) in combinations(written.items(), 2):
        if _is_one(path, also):
            hint = "name a file for each"
            raise UsageError(f"{one} and {other} go to one file, {also}", hint=hint)
    for what, read in (inputs or {}).items():
        for name, path in written.items():
            if read is not None and path != "-" and _is_one(path, read):
                said = f"{name} would overwrite {what}, {read}"
                raise UsageError(said, hint="name another file")


def _check_writable(path: str) -> None:
    if path == "-":
        return
    if os.path.isdir(path):
        raise UsageError(f"cannot write {path}: it is a folder", hint="name a file")
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        pass  # created later in its folder, which is checked below
    except OSError as error:  # circular links, a name that is too long
        raise UsageError(f"cannot write {path}: {error.strerror}", hint="name a file") from None
    folder = Path(path).absolute().parent
    if not (folder.is_dir() and os.access(folder, os.W_OK)):
        raise UsageError(f"cannot write {path}", hint=f"is {folder} a folder you may write to?")


def _is_one(one: str, other: str) -> bool:
    """Return whether two paths are the same file. Devices may be written twice."""
    if "-" in (one, other):
        return one == other
    try:
        return os.path.samefile(one, other) and not stat.S_ISCHR(os.stat(one).st_mode)
    except OSError:  # one does not exist yet
        return os.path.realpath(one) == os.path.realpath(other)


def show(
    page: Iterable[Block] | Callable[[bool], Iterable[Block]],
    *texts: tuple[str | None, Callable[[], str]],
    commands: Callable[[], str] = str,
) -> None:
    """Write texts to files, and print a page, on stderr if stdout gets a text.

    A callable page is given whether to show everything, as outside terminals. `commands` for a CI
    system are printed last.
    """
    from rich.console import Console

    from convcheck.report.draw.console import is_terminal, put

    written = [(path, text) for path, text in texts if path]
    console = Console(stderr=any(path == "-" for path, _ in written))

    def shown() -> None:
        put(page(not is_terminal(console)) if callable(page) else page, console)
        if said := commands():
            put_out(said, console.file)

    write_all(written, shown)
