"""A live progress display on a terminal, none in a pipe."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress(total: int, what: str, hidden: bool = False) -> Iterator[Callable[[bool], None]]:
    """Show on stderr how much of `total` is done, unless `hidden`; told of each if it failed."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(),
        TextColumn("{task.fields[failed]}"), TimeElapsedColumn(),
    )  # fmt: skip
    console = Console(stderr=True)
    failed = 0
    with Progress(
        *columns, console=console, transient=True, disable=hidden or not console.is_terminal
    ) as bar:
        task = bar.add_task(what, total=total, failed="")

        def advance(bad: bool) -> None:
            nonlocal failed
            failed += bad
            bar.update(task, advance=1, failed=f"{failed} failing" if failed else "")

        yield advance
