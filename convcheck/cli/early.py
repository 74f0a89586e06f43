"""Start workers before heavy imports."""

from __future__ import annotations

import contextlib

import click

from convcheck.cli.options import RunOptions
from convcheck.pool.forkserver import start_server

ANSWERS = "answers:"  # prefix of backends that are files


def start_worker(
    backends: tuple[str, ...], options: RunOptions, is_open: bool, dry_run: bool, **_: object
) -> None:
    """Start the fork server and the first worker."""
    started = [] if dry_run or is_open else [b for b in backends if not b.startswith(ANSWERS)]
    if started and not options.executor:
        with contextlib.suppress(OSError):  # the first worker will report it
            start_server()
        from convcheck.pool.process import end_ahead, start_ahead

        start_ahead(started[0])
        click.get_current_context().call_on_close(end_ahead)
