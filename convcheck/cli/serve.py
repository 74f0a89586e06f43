"""`convcheck serve`: any backend behind the process protocol."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from convcheck.cli.options import catalog, complete_backends
from convcheck.cli.options import specs_option as specs
from convcheck.errors import ConvcheckError, UnavailableError, UsageError

if TYPE_CHECKING:
    from convcheck.backends.protocol import Backend
    from convcheck.rules.load import Catalog

EXAMPLE = """\b
Examples:
  convcheck run --backend 'process:convcheck serve ort' onnx.Cast-21
  convcheck run --backend 'process:ssh board convcheck serve mypackage.mymodule:MyBackend'
  convcheck run --backend 'process:docker run -i --rm image convcheck serve ort'
  convcheck serve --standalone > server.py
  convcheck run --backend 'process:ssh board python3 server.py ort'
"""


@click.command("serve", epilog=EXAMPLE)
@click.argument("backend", required=False, shell_complete=complete_backends)
@click.option(
    "--standalone",
    is_flag=True,
    help="Print a server in one file, for an environment that has a runtime and numpy only.",
)
@specs
def command(backend: str | None, standalone: bool, specs: tuple[str, ...]) -> int:
    """Serve any BACKEND over the process protocol, on stdin and stdout.

    This is the other end of `--backend process:COMMAND`, for a runtime in another environment,
    container or machine. It ends when its input ends. What the runtime prints goes to stderr.

    With --standalone, print a program that needs no convcheck, but Python from 3.8 on, numpy and
    the runtime, which it is given as its argument: `python3 server.py ort`. Where that environment
    is on this machine, `--backend env:PATH/TO/PYTHON:ort` is the same.

    Exit codes: 0 the input ended, 2 a bad request, 4 the backend could not be started.
    """
    if standalone:
        return _print_standalone(backend)
    if backend is None:
        raise UsageError("which backend?", hint="convcheck serve ort, or --standalone for a file")
    return _serve(backend, specs)


def _print_standalone(backend: str | None) -> int:
    from convcheck.backends.process.environment import SERVER
    from convcheck.files import write_text

    if backend is not None:
        hint = f"convcheck serve --standalone > server.py, then python3 server.py {backend}"
        raise UsageError("--standalone takes no BACKEND: the file has them all", hint=hint)
    write_text(SERVER.read_text(encoding="utf-8"), "-")
    return 0


def _serve(backend: str, specs: tuple[str, ...]) -> int:
    from convcheck.backends.process.serve import serve

    answers = os.dup(1)
    os.dup2(2, 1)  # what a runtime prints is no answer
    loaded = catalog(specs)
    opened = _opened(backend, loaded)
    with open(0, "rb", buffering=1 << 20, closefd=False) as requests:
        serve(opened, loaded, requests, answers)
    return 0


def _opened(address: str, loaded: Catalog) -> Backend:
    """Open a backend. Raises UnavailableError where it cannot start, whatever it raised."""
    from convcheck.backends.protocol import last_words, open_backend

    try:
        return open_backend(address, loaded)
    except ConvcheckError:
        raise
    except (Exception, SystemExit) as error:
        message = f"backend {address!r} could not be started: {last_words(error)}"
        raise UnavailableError(message) from error
