"""Show progress: a bar on a terminal, else lines on stderr."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

import click

from convcheck.streams import say
from convcheck.wording import plural

if TYPE_CHECKING:
    from rich.console import Console

FIRST, EVERY = 10.0, 30.0  # seconds until the first line in a log, and between lines
_HIDDEN = "convcheck.no_progress"
T = TypeVar("T")
#: Called after each item, with the values tested and the cases failing so far.
Advance = Callable[..., None]


def _hide(context: click.Context, parameter: click.Parameter, hidden: bool) -> None:
    context.meta[_HIDDEN] = hidden or context.meta.get(_HIDDEN, False)


progress_option = click.option(
    "--no-progress",
    is_flag=True,
    expose_value=False,
    callback=_hide,
)


@dataclass
class Work:
    """The total work, and its progress."""

    #: The backend or activity.
    what: str
    total: int
    #: The name of an item, in the singular.
    noun: str
    #: Whether values are streamed at a rate of interest.
    streamed: bool = False
    #: In seconds of the monotonic clock.
    begun: float = field(default_factory=time.monotonic)
    done: int = 0
    #: Streamed values.
    asked: int = 0
    failing: int = 0

    def line(self, now: float) -> str:
        """Return progress in words: ort: 120 of 1,300 cases after 40 s, about 6 min left."""
        seconds = now - self.begun
        said = f"{self.what}: {self.done:,} of {plural(self.total, self.noun)}"
        said += f" after {duration(seconds)}"
        said += f", {self.failing:,} failing" if self.failing else ""
        if not self.done:
            return said
        return f"{said}, about {duration(seconds * (self.total / self.done - 1))} left"


def duration(seconds: float) -> str:
    """Return a duration in words: 40 s, 12 min, 3 h 20 min."""
    minutes = round(seconds / 60)
    if seconds < 100:
        return f"{seconds:.0f} s"
    hours = f"{minutes // 60:,} h " if minutes >= 60 else ""
    return f"{hours}{minutes % 60} min"


def announce(work: Work, ended: threading.Event, now: Callable[[], float] = time.monotonic) -> None:
    """Print progress lines on stderr until the work has `ended`."""
    pause = FIRST
    while not ended.wait(pause):
        say(work.line(now()), err=True)
        pause = EVERY


@contextmanager
def progress(
    total: int, what: str, noun: str = "case", streamed: bool = False
) -> Iterator[Advance]:
    """Show progress towards `total` on stderr, unless --no-progress is given."""
    from rich.console import Console

    work, console = Work(what, total, noun, streamed), Console(stderr=True)
    context = click.get_current_context(silent=True)
    shown = not (context and context.meta.get(_HIDDEN))
    with _bar(work, console) if shown and console.is_terminal else _log(work, shown) as update:

        def advance(count: int = 0, failing: int = 0) -> None:
            work.done, work.asked, work.failing = work.done + 1, work.asked + count, failing
            update()

        yield advance


def tracked(
    items: Iterable[T], what: str, noun: str = "case", total: int | None = None
) -> Iterator[T]:
    """Yield items and show progress towards `total`, by default the number of items."""
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
def _bar(work: Work, console: Console) -> Iterator[Callable[[], None]]:
    """Show a bar. With streamed values, it shows the rate and the remaining time."""
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
