"""`convcheck backend serve`: any backend behind the process protocol."""

from __future__ import annotations

import os

from convcheck.backends.process.environment import SERVER
from convcheck.backends.process.serve import serve
from convcheck.backends.protocol import Backend, last_words, open_backend
from convcheck.cli.options import catalog
from convcheck.errors import ConvcheckError, UnavailableError, UsageError
from convcheck.files import write_text
from convcheck.rules.load import Catalog


def main(backend: str | None, standalone: bool) -> int:
    """Serve any BACKEND over the process protocol, on stdin and stdout."""
    if standalone:
        return _print_standalone(backend)
    if backend is None:
        raise UsageError(
            "which backend?", hint="convcheck backend serve ort, or --standalone for a file"
        )
    return _serve(backend)


def _print_standalone(backend: str | None) -> int:
    if backend is not None:
        hint = f"convcheck backend serve --standalone > server.py, then python3 server.py {backend}"
        raise UsageError("--standalone takes no BACKEND: the file has them all", hint=hint)
    write_text(SERVER.read_text(encoding="utf-8"), "-")
    return 0


def _serve(backend: str) -> int:
    answers = os.dup(1)
    os.dup2(2, 1)  # what a runtime prints is no answer
    loaded = catalog()
    opened = _opened(backend, loaded)
    with open(0, "rb", buffering=1 << 20, closefd=False) as requests:
        serve(opened, loaded, requests, answers)
    return 0


def _opened(address: str, loaded: Catalog) -> Backend:
    """Open a backend. Raises UnavailableError where it cannot start, whatever it raised."""
    try:
        return open_backend(address, loaded)
    except ConvcheckError:
        raise
    except (Exception, SystemExit) as error:
        message = f"backend {address!r} could not be started: {last_words(error)}"
        raise UnavailableError(message) from error
