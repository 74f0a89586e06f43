"""A live progress display on a terminal, none in a pipe."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol


class Advance(Protocol):
    """Is told that one more is done."""

    def __call__(self, count: int = 0, failing: int = 0) -> None:
        """Say how many values were asked, and how many cases are failing now."""
        ...


@contextmanager
def progress(total: int, what: str, values: int = 0, hidden: bool = False) -> Iterator[Advance]:
    """Show on stderr how much of `total` is done, unless `hidden`; told of each as it is done.

    Where there are `values` to stream, with the rate, and the time that is left.
    """
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    share = [TaskProgressColumn()] if values else [MofNCompleteColumn()]
    clock = [TimeRemainingColumn(elapsed_when_finished=True)] if values else [TimeElapsedColumn()]
    columns = (
        TextColumn("{task.description}", markup=False), BarColumn(), *share,
        TextColumn("{task.fields[rate]}"), TextColumn("{task.fields[failed]}"), *clock,
    )  # fmt: skip
    console = Console(stderr=True)
    begun, asked = time.monotonic(), 0
    with Progress(
        *columns, console=console, transient=True, disable=hidden or not console.is_terminal
    ) as bar:
        task = bar.add_task(what, total=total, failed="", rate="")

        def advance(count: int = 0, failing: int = 0) -> None:
            nonlocal asked
            asked += count
            seconds = time.monotonic() - begun
            rate = f"{asked / seconds / 1e6:,.0f} M values/s" if asked and seconds else ""
            bar.update(task, advance=1, rate=rate, failed=f"{failing} failing" if failing else "")

        yield advance
