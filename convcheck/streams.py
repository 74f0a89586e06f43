"""Print to stdout and stderr, without control sequences.

Outside text may have escape sequences, and CI systems read commands from a log: GitHub Actions
`::error::` at the start of a line and `##[error]` anywhere in one, Azure Pipelines `##vso[`.
"""

import contextlib
import os
import re
import sys
from collections.abc import Iterable
from typing import IO

from convcheck.errors import SystemLimitError

# control characters except newline, and those that change the text direction
OBEYED = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
_COMMAND = re.compile(r"^[^\S\n]*:(?=:)|#(?=#(?:vso)?\[)", re.MULTILINE)


class ClosedError(Exception):
    """Stdout was closed by its reader. Not an OSError, which click would report."""


def visible(text: str) -> str:
    r"""Return a text with control characters spelled out: \x1b."""
    return OBEYED.sub(_spelled, text)


def no_commands(text: str) -> str:
    """Return a text with a blank inside anything like a CI command."""
    return _COMMAND.sub(r"\g<0> ", text)


def say(text: str, *, err: bool = False) -> None:
    """Print a text to stdout or stderr, without control sequences."""
    put_out(no_commands(visible(text)) + "\n", sys.stderr if err else sys.stdout, needed=not err)


def put_out(text: str, stream: IO[str] | None, *, needed: bool = True) -> None:
    """Write a text as it is.

    If it is `needed`, raises ClosedError if the stream is closed, SystemLimitError if it cannot be
    written to.
    """
    if stream is None:  # closed by the parent process
        return
    try:
        stream.write(text)
        stream.flush()
    except OSError as error:
        silence(stream)
        if needed:
            raise lost_stdout(error) from error


def lost_stdout(error: OSError) -> Exception:
    """Return the exception for an error on writing to stdout."""
    if isinstance(error, BrokenPipeError):
        return ClosedError()
    hint = "is the device full, or is there a limit on the size of files?"
    return SystemLimitError(f"cannot write to stdout: {error.strerror or error}", hint=hint)


def silence(stream: IO[str]) -> None:
    """Redirect a stream to the null device, so that a later flush is harmless."""
    with contextlib.suppress(OSError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def _spelled(found: re.Match[str]) -> str:
    if found[0] == "\t":
        return " "
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


GLUE = "\N{NO-BREAK SPACE}"  # a blank without a line break
_MOST = 3  # suggestions
_VERY_NEAR, _NEAR = 0.8, 0.6  # difflib ratios
# names that other tools use -> ours
_ELSEWHERE = {
    "onnxruntime": "ort", "pytorch": "torch",
    "fp64": "float64", "f64": "float64", "double": "float64",
    "fp32": "float32", "f32": "float32", "float": "float32", "single": "float32",
    "fp16": "float16", "f16": "float16", "half": "float16", "bf16": "bfloat16",
    "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64",
    "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64",
}  # fmt: skip


def number(count: int) -> str:
    """Group a count's digits: 1,204,331."""
    return f"{count:,}"


def plural(count: int, noun: str, several: str = "") -> str:
    """Return a count with its noun: 1 case, 1,204 cases, 2 entries (with `several`)."""
    return f"{number(count)} {noun if count == 1 else several or noun + 's'}"


def meant(word: str, known: Iterable[str], otherwise: str = "") -> str:
    """Return a hint for an unknown word: known words with a similar spelling or beginning.

    Without a match, returns `otherwise`, or else all known words.
    """
    names = list(dict.fromkeys(known))
    if (ours := _ELSEWHERE.get(word.casefold())) in names:
        return f"did you mean {ours}?"
    if close := _close(word, names):
        return f"did you mean {' or '.join(close)}?"
    return otherwise or f"known: {', '.join(names) or 'none'}"


def _close(word: str, names: list[str]) -> list[str]:
    from difflib import get_close_matches

    folded = {name.casefold(): name for name in reversed(names)}
    said = word.casefold()
    if said in folded:
        return [folded[said]]
    longer = [name for name in names if said and name.casefold().startswith(said)]
    near = get_close_matches(said, folded, _MOST, _VERY_NEAR)
    near = near or get_close_matches(said, folded, _MOST, _NEAR)
    inside = [name for name in names if len(said) > 2 and said in name.casefold()]
    return (longer or [folded[low] for low in near] or inside)[:_MOST]
