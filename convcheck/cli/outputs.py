"""Check output paths before a run, and write to them after it."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from convcheck.errors import UsageError
from convcheck.files import write_all
from convcheck.streams import put_out

if TYPE_CHECKING:
    from convcheck.report.blocks import Block

GITHUB = "github"  # annotations on stdout, with no file


class Output(NamedTuple):
    """A file to write. The path - is stdout."""

    form: str
    path: str
    #: As given on the command line.
    word: str


def out_option(*forms: str, text: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return the option -o. The ending of a file, or `form:` before it, selects the format.

    The first form is that of stdout.
    """

    def read(
        context: click.Context, option: click.Parameter, words: tuple[str, ...]
    ) -> tuple[Output, ...]:
        return tuple(_output(word, forms) for word in dict.fromkeys(words))

    names = ("-o", "--out", "outputs")
    return click.option(*names, metavar="FILE", multiple=True, callback=read, help=text)


def _output(word: str, forms: Sequence[str]) -> Output:
    """Read FILE or FORM:FILE. Raises UsageError."""
    if not word:
        raise UsageError("-o is empty", hint="leave it out, or name a file")
    if word == "-":
        return Output(forms[0], word, word)
    form, colon, path = word.partition(":")
    if not (colon and _known(form, forms)):
        form, path = Path(word).suffix.removeprefix("."), word
    found = _known(form, forms)
    if (
        found is None
        or (found == GITHUB) != (word == f"{GITHUB}:")
        or not (path or found == GITHUB)
    ):
        named = [f"FILE.{one}" for one in forms if one != GITHUB]
        hint = f"{' or '.join(named)}, or {forms[0]}:FILE with another ending"
        raise UsageError(f"-o {word} does not name a format and a file", hint=hint)
    return Output(found, path, word)


def _known(form: str, forms: Sequence[str]) -> str | None:
    """Return a format by its name; `json` also names a log."""
    if form == "json" and "jsonl" in forms:
        return "jsonl"
    return form if form in forms else None


def path_of(outputs: Iterable[Output], form: str) -> str | None:
    """Return the first file of a format, None if there is none."""
    return next((one.path for one in outputs if one.form == form), None)


def named(outputs: Iterable[Output]) -> dict[str, str]:
    """Return the files by option, for messages."""
    return {f"-o {one.word}": one.path for one in outputs if one.form != GITHUB}


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
