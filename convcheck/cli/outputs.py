"""Outputs of commands."""

import os
import stat
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from convcheck.errors import UsageError
from convcheck.files import write_all
from convcheck.streams import plural, put_out, say

if TYPE_CHECKING:
    from rich.console import Console

    from convcheck.report.blocks import Block


GITHUB = "github"  # annotations on stdout, with no file


class Output(NamedTuple):
    """A file to write; - is stdout."""

    form: str
    path: str
    word: str  # as given on the command line


def out_option(*forms: str, text: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return the option -o. FILE's ending or `form:` before it selects the format.

    The first form is that of stdout.
    """

    def read(
        context: click.Context, option: click.Parameter, words: tuple[str, ...]
    ) -> tuple[Output, ...]:
        return tuple(_output(word, forms) for word in dict.fromkeys(words))

    names = ("-o", "--out", "outputs")
    return click.option(*names, metavar="FILE", multiple=True, callback=read, help=text)


def _output(word: str, forms: Sequence[str]) -> Output:
    if not word:
        raise UsageError("-o is empty", hint="leave it out, or name a file")
    if word == "-":
        return Output(forms[0], word, word)
    if word == f"{GITHUB}:" and GITHUB in forms:
        return Output(GITHUB, "", word)
    form, _, path = word.partition(":")
    if not (path and _known(form, forms)):
        form, path = Path(word).suffix.removeprefix("."), word
    found = _known(form, forms)
    if found is None or found == GITHUB:
        files = " or ".join(f"FILE.{one}" for one in forms if one != GITHUB)
        hint = f"{files}, or {forms[0]}:FILE with another ending"
        raise UsageError(f"-o {word} does not name a format and a file", hint=hint)
    return Output(found, path, word)


def _known(form: str, forms: Sequence[str]) -> str | None:
    if form in forms:
        return form
    return "jsonl" if form == "json" and "jsonl" in forms else None


def path_of(outputs: Iterable[Output], form: str) -> str | None:
    """Return the first file of a format."""
    return next((one.path for one in outputs if one.form == form), None)


def named(outputs: Iterable[Output]) -> dict[str, str]:
    """Return the files by option."""
    return {f"-o {one.word}": one.path for one in outputs if one.form != GITHUB}


def check_outputs(
    outputs: Mapping[str, str | None], inputs: Mapping[str, str | None] | None = None
) -> None:
    """Raise UsageError for outputs that are unwritable, equal, or overwrite inputs.

    Both arguments map options to paths.
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
    if "-" in (one, other):
        return one == other
    try:
        return os.path.samefile(one, other) and not stat.S_ISCHR(os.stat(one).st_mode)
    except OSError:  # one does not exist yet
        return os.path.realpath(one) == os.path.realpath(other)


def show(
    page: "Iterable[Block] | Callable[[bool], Iterable[Block]]",
    *texts: tuple[str | None, Callable[[], str]],
    commands: Callable[[], str] = str,
) -> None:
    """Write texts to files, and print a page, on stderr if stdout gets a text.

    A callable page is given whether to show everything.
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


FIRST, EVERY = 10.0, 30.0  # seconds until the first line in a log, and between lines
_HIDDEN = "convcheck.no_progress"
T = TypeVar("T")
#: Called after each item, with the values tested and the cases failing so far.
Advance = Callable[..., None]


def _hide(context: click.Context, parameter: click.Parameter, hidden: bool) -> None:
    context.meta[_HIDDEN] = hidden or context.meta.get(_HIDDEN, False)


progress_option = click.option("--no-progress", is_flag=True, expose_value=False, callback=_hide)


@dataclass
class Work:
    """Total work and progress."""

    what: str  # the backend or activity
    total: int
    noun: str
    streamed: bool = False  # whether values are streamed at a rate of interest
    begun: float = field(default_factory=time.monotonic)  # in seconds of the monotonic clock
    done: int = 0
    asked: int = 0  # streamed values
    failing: int = 0

    def line(self, now: float) -> str:
        """Return a line: ort: 120 of 1,300 cases after 40 s, about 6 min left."""
        seconds = now - self.begun
        said = f"{self.what}: {self.done:,} of {plural(self.total, self.noun)}"
        said += f" after {duration(seconds)}"
        said += f", {self.failing:,} failing" if self.failing else ""
        if not self.done:
            return said
        return f"{said}, about {duration(seconds * (self.total / self.done - 1))} left"


def duration(seconds: float) -> str:
    """Spell a duration: 40 s, 12 min, 3 h 20 min."""
    minutes = round(seconds / 60)
    if seconds < 100:
        return f"{seconds:.0f} s"
    hours = f"{minutes // 60:,} h " if minutes >= 60 else ""
    return f"{hours}{minutes % 60} min"


def announce(work: Work, ended: threading.Event, now: Callable[[], float] = time.monotonic) -> None:
    """Print progress lines on stderr until `ended`."""
    pause = FIRST
    while not ended.wait(pause):
        say(work.line(now()), err=True)
        pause = EVERY


@contextmanager
def progress(
    total: int, what: str, noun: str = "case", streamed: bool = False
) -> Iterator[Advance]:
    """Show a command's progress on stderr, unless --no-progress is given."""
    from rich.console import Console

    work, console = Work(what, total, noun, streamed), Console(stderr=True)
    context = click.get_current_context(silent=True)
    shown = context is not None and not context.meta.get(_HIDDEN)
    with _bar(work, console) if shown and console.is_terminal else _log(work, shown) as update:

        def advance(count: int = 0, failing: int = 0) -> None:
            work.done, work.asked, work.failing = work.done + 1, work.asked + count, failing
            update()

        yield advance


def tracked(
    items: Iterable[T], what: str, noun: str = "case", total: int | None = None
) -> Iterator[T]:
    """Yield items and show progress."""
    if total is None:
        items = list(items)
        total = len(items)
    with progress(total, what, noun) as advance:
        for item in items:
            yield item
            advance()


@contextmanager
def _log(work: Work, shown: bool) -> Iterator[Callable[[], None]]:
    ended = threading.Event()
    teller = threading.Thread(target=announce, args=(work, ended), daemon=True)
    if shown:
        teller.start()
    try:
        yield lambda: None
    finally:
        ended.set()
        if shown:
            teller.join()


@contextmanager
def _bar(work: Work, console: "Console") -> Iterator[Callable[[], None]]:
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    share = [TaskProgressColumn()] if work.streamed else [MofNCompleteColumn()]
    left = TimeRemainingColumn(elapsed_when_finished=True)
    clock = [left] if work.streamed else [TimeElapsedColumn()]
    columns = (
        TextColumn("{task.description}", markup=False), BarColumn(), *share,
        TextColumn("{task.fields[rate]}"), TextColumn("{task.fields[failed]}"), *clock,
    )  # fmt: skip
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(work.what, total=work.total, failed="", rate="")

        def update() -> None:
            seconds = time.monotonic() - work.begun
            rate = f"{work.asked / seconds / 1e6:,.0f} M values/s" if work.asked and seconds else ""
            failed = f"{work.failing} failing" if work.failing else ""
            bar.update(task, completed=work.done, rate=rate, failed=failed)

        yield update
