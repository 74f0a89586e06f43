"""The errors of convcheck, with place and hint."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Place:
    """A file, as users name it, and a line counted from 1."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.line else self.file


class ConvcheckError(Exception):
    """Bad input. Ends the program with ``exit_code`` and one message."""

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
    """A spec file cannot be read, or is wrong."""


class SpecFaultsError(SpecError):
    """All errors of some spec files."""

    def __init__(self, errors: Iterable[SpecError]) -> None:
        self.errors = tuple(errors)
        super().__init__("\n".join(map(str, self.errors)))

    def __reduce__(self) -> tuple[object, ...]:
        return SpecFaultsError, (self.errors,)


class VectorError(ConvcheckError):
    """A vector file is truncated, edited, or from a newer convcheck."""


class UsageError(ConvcheckError):
    """A command line is wrong."""


class UnavailableError(ConvcheckError):
    """The backend could not be started."""

    exit_code = 4


def in_a_line(error: BaseException) -> str:
    """Return an internal error and its line of code, on one line."""
    import traceback
    from pathlib import Path

    said = traceback.format_exception_only(error)[-1].strip()
    [*_, frame] = traceback.extract_tb(error.__traceback__) or [None]
    return f"{said} ({Path(frame.filename).name}:{frame.lineno})" if frame else said


class SystemLimitError(ConvcheckError):
    """A limit of the system was reached, such as a full device."""

    exit_code = 74  # EX_IOERR


def install_hint(module: str) -> str:
    """Return how to install a missing module, by convcheck's extra of that name if it exists.

    convcheck is not on PyPI.
    """
    from importlib.metadata import metadata

    extras = metadata("convcheck").get_all("Provides-Extra") or []
    if module in extras:
        return f"in a checkout of convcheck: pip install '.[{module}]'"
    return f"pip install {module}"
