"""The one family of errors. Each knows its place and its hint; the command line prints both."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Place:
    """Where something was written: a file as people name it, and a line counted from 1."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.line else self.file


class ConvcheckError(Exception):
    """Bad input from outside: usage, a spec, a vector file, a list.

    Ends the program with ``exit_code``, one message, and nothing half-written.
    """

    exit_code = 2

    def __init__(self, message: str, *, place: Place | None = None, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.place = place
        self.hint = hint

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (type(self), self.message, self.place, self.hint))

    def __str__(self) -> str:
        where = f"{self.place}: " if self.place else ""
        return f"{where}{self.message}" + (f"\n  hint: {self.hint}" if self.hint else "")


def _rebuild(
    kind: type[ConvcheckError], message: str, place: Place | None, hint: str
) -> ConvcheckError:
    return kind(message, place=place, hint=hint)


class SpecError(ConvcheckError):
    """A spec file that cannot be read, or says something that the vocabulary does not know."""


class SpecFaultsError(SpecError):
    """All that is wrong with some spec files, each with its place."""

    def __init__(self, errors: Iterable[SpecError]) -> None:
        self.errors = tuple(errors)
        super().__init__("\n".join(map(str, self.errors)))

    def __reduce__(self) -> tuple[object, ...]:
        return SpecFaultsError, (self.errors,)


class VectorError(ConvcheckError):
    """A vector file that is truncated, edited, or from a newer convcheck."""


class UsageError(ConvcheckError):
    """A command line that names something that does not exist."""


class UnavailableError(ConvcheckError):
    """The backend could not be started: not installed, or it failed to load."""

    exit_code = 4


def in_a_line(error: BaseException) -> str:
    """Return an error of convcheck's own: what was raised, and in which line of the code."""
    import traceback
    from pathlib import Path

    said = traceback.format_exception_only(error)[-1].strip()
    [*_, frame] = traceback.extract_tb(error.__traceback__) or [None]
    return f"{said} ({Path(frame.filename).name}:{frame.lineno})" if frame else said


class SystemLimitError(ConvcheckError):
    """The system refuses what was asked of it: a full device, too many open files."""

    exit_code = 74  # as sysexits.h has it for input and output


def install_hint(module: str) -> str:
    """Return how to get a module that is missing: by convcheck's extra of that name, else itself.

    convcheck is not on PyPI, so that its extras are installed from a checkout.
    """
    from importlib.metadata import metadata

    extras = metadata("convcheck").get_all("Provides-Extra") or []
    if module in extras:
        return f"in a checkout of convcheck: pip install '.[{module}]'"
    return f"pip install {module}"
