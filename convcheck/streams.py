"""Standard output and standard error. All that is printed goes through here, and is inert.

Names of files, types and backends, and what runtimes say, come from outside. A terminal obeys
escape sequences in them, and a CI system reads commands from the log of a job: GitHub Actions
`::error::` at the start of a line and `##[error]` anywhere in one, Azure Pipelines `##vso[`.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
from typing import IO

from convcheck.errors import SystemLimitError

# control characters but the end of a line, and those that turn the direction of what is shown
OBEYED = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
_COMMAND = re.compile(r"^[^\S\n]*:(?=:)|#(?=#(?:vso)?\[)", re.MULTILINE)


class ClosedError(Exception):
    """Nobody reads stdout any more. An exception of our own, since click makes of it a failure."""


def visible(text: str) -> str:
    """Return a text in which what a terminal would obey is spelled out: \\x1b."""
    return OBEYED.sub(_spelled, text)


def no_commands(text: str) -> str:
    """Return a text in which a blank breaks what a CI system would take for a command."""
    return _COMMAND.sub(r"\g<0> ", text)


def say(text: str, *, err: bool = False) -> None:
    """Print lines, in which nothing is obeyed, on stdout or stderr."""
    put_out(no_commands(visible(text)) + "\n", sys.stderr if err else sys.stdout, needed=not err)


def put_out(text: str, stream: IO[str] | None, *, needed: bool = True) -> None:
    """Write a text as it is: one that a console has drawn, or a command that is meant.

    What is not `needed` is lost where nobody hears it. Else raises ClosedError where nobody reads
    any more, and SystemLimitError where the stream cannot be written to.
    """
    if stream is None:  # whoever started this closed it
        return
    try:
        stream.write(text)
        stream.flush()
    except OSError as error:
        silence(stream)
        if needed:
            raise lost_stdout(error) from error


def lost_stdout(error: OSError) -> Exception:
    """Return what it means that stdout cannot be written to."""
    if isinstance(error, BrokenPipeError):
        return ClosedError()
    hint = "is the device full, or is there a limit on the size of files?"
    return SystemLimitError(f"cannot write to stdout: {error.strerror or error}", hint=hint)


def silence(stream: IO[str]) -> None:
    """Let what is left to flush go where it does no harm."""
    with contextlib.suppress(OSError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def _spelled(found: re.Match[str]) -> str:
    if found[0] == "\t":
        return " "
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
