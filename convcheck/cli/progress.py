"""A live progress display on a terminal, none in a pipe."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from convcheck.run.result import CaseResult


@contextmanager
def progress(total: int, what: str) -> Iterator[Callable[[CaseResult], None]]:
    """Show how many of `total` cases are done, and how many of them failed, on stderr."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from convcheck.run.result import FAILURES

    columns = (
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(),
        TextColumn("{task.fields[failed]}"), TimeElapsedColumn(),
    )  # fmt: skip
    console = Console(stderr=True)
    failed = 0
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task(what, total=total, failed="")

        def advance(result: CaseResult) -> None:
            nonlocal failed
            failed += result.verdict in FAILURES
            bar.update(task, advance=1, failed=f"{failed} failing" if failed else "")

        yield advance
