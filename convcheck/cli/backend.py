"""`convcheck backend`: serve a backend, probe a program, or print an example."""

from __future__ import annotations

import os
import shlex

from convcheck.backends.process.environment import SERVER
from convcheck.backends.process.probe import Probe, questions
from convcheck.backends.process.serve import serve
from convcheck.backends.protocol import last_words, open_backend
from convcheck.cli.options import catalog
from convcheck.cli.outputs import progress
from convcheck.errors import ConvcheckError, UnavailableError, UsageError
from convcheck.files import write_text
from convcheck.plan.select import select
from convcheck.plan.selection import Selection
from convcheck.report.blocks import BLANK, Block, Text
from convcheck.report.draw import probe as page
from convcheck.report.draw.console import put
from convcheck.rules.load import data_dir

FAILED = 1
SCHEME = "process:"
EXAMPLES = {"c": "cast.c", "c-header": "convcheck.h", "python": "cast.py"}


def example(which: str) -> int:
    """Print a program that speaks the process protocol, to put your kernels in."""
    write_text((data_dir("examples") / EXAMPLES[which]).read_text(encoding="utf-8"), "-")
    return 0


def serve_backend(backend: str | None, standalone: bool) -> int:
    """Serve a backend over the process protocol, on stdin and stdout.

    Raises UnavailableError if it cannot start.
    """
    if standalone and backend is not None:
        hint = f"convcheck backend serve --standalone > server.py, then python3 server.py {backend}"
        raise UsageError("--standalone takes no BACKEND: the file has them all", hint=hint)
    if standalone:
        write_text(SERVER.read_text(encoding="utf-8"), "-")
        return 0
    if backend is None:
        hint = "convcheck backend serve ort, or --standalone for a file"
        raise UsageError("which backend?", hint=hint)
    answers = os.dup(1)
    os.dup2(2, 1)  # send the runtime's prints to stderr
    loaded = catalog()
    try:
        opened = open_backend(backend, loaded)
    except ConvcheckError:
        raise
    except (Exception, SystemExit) as error:
        message = f"backend {backend!r} could not be started: {last_words(error)}"
        raise UnavailableError(message) from error
    with open(0, "rb", buffering=1 << 20, closefd=False) as requests:
        serve(opened, loaded, requests, answers)
    return 0


def probe(selection: Selection, address: str) -> int:
    """Check, step by step, that a program speaks the process protocol."""
    command = address.removeprefix(SCHEME)
    if command == address or not command.strip():
        hint = "--backend 'process:./mine --flag'; other backends need no probe"
        raise UsageError(f"{address!r} is not a program", hint=hint)
    loaded = catalog()
    asked = questions(select(loaded, selection))
    probe = Probe(command, loaded, asked)
    put([Text(address, "bold"), BLANK])
    wrong = ""  # the failed step
    with progress(len(asked), "probing", "question") as advance:
        probe.advance = advance
        for step in probe.steps():
            put(page.step(step))
            wrong = step.name if step.wrong else ""
    put(page.printed(probe.printed) if wrong else _supported(probe))
    if wrong == "starts":
        return UnavailableError.exit_code
    return FAILED if wrong else 0


def _supported(probe: Probe) -> list[Block]:
    first = probe.supported[-1].spec
    todo = f"convcheck run --backend {shlex.quote(SCHEME + probe.command)} {first}"
    return [
        *page.supported(probe.supported, probe.catalog.types),
        BLANK,
        Text("it speaks the protocol; to see whether it is right:"),
        Text(todo, indent=2, whole=True),
    ]
