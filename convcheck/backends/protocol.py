"""What a backend is, what it answers, and how a name becomes one."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Protocol

from convcheck.errors import UnavailableError, UsageError
from convcheck.numerics.format import Bits
from convcheck.spec.model import Case


@dataclass(frozen=True)
class Outputs:
    """An answer: per output the codes (or texts) in the shape that came back, and the type.

    The codes are raw bit patterns in the format's storage type, sub-byte types one element an
    entry in the low bits. Types are convcheck's names.
    """

    arrays: tuple[Bits, ...]
    types: tuple[str, ...]


@dataclass(frozen=True)
class Refused:
    """The runtime raised on a value where an answer was asked, in its own words."""

    message: str


@dataclass(frozen=True)
class Declined:
    """The question could not be put: no kernel, load or build error, in the runtime's own words.

    `missing` tells a kernel that does not exist from a model that the runtime turned down: where
    a refusal is expected, only the latter is one.
    """

    message: str
    missing: bool = False


Answer = Outputs | Refused | Declined


class Backend(Protocol):
    """A runtime that converts. One instance lives in one worker process."""

    name: str
    version: str

    def support(self, case: Case) -> Declined | None:
        """Say why this adapter cannot ask the case; None where it can. Cheap: no model is built."""
        ...

    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        """Put a case's inputs, in the shapes given, to the runtime.

        Called several times in a row for one case, with other inputs and shapes: an adapter keeps
        what it built for the last case.
        """
        ...


GROUP = "convcheck.backends"


def backend_names() -> list[str]:
    """Name the installed backends, this package's and other packages', in alphabetical order."""
    return sorted(entry_points(group=GROUP).names)


def open_backend(address: str) -> Backend:
    """Make a backend of an address: NAME, NAME:VARIANT or package.module:Class.

    Raises UsageError for an unknown name and UnavailableError for a runtime that is not there.
    """
    name, _, variant = address.partition(":")
    points = {p.name: p for p in entry_points(group=GROUP)}
    try:
        if name in points:
            factory = points[name].load()
            backend: Backend = factory(variant) if variant else factory()
            return backend
        if "." in name and variant:
            return _from_module(name, variant)
    except ImportError as error:
        raise UnavailableError(
            f"backend {address!r} is not available: {error}",
            hint="install what it needs; `convcheck list backends` says what",
        ) from error
    raise UsageError(
        f"unknown backend {address!r}",
        hint=f"one of {', '.join(sorted(points))}, NAME:VARIANT, or package.module:Class",
    )


def _from_module(module: str, attribute: str) -> Backend:
    if os.getcwd() not in sys.path:  # a backend under development lies in the working folder
        sys.path.insert(0, os.getcwd())
    factory = getattr(importlib.import_module(module), attribute, None)
    if factory is None:
        raise UsageError(f"{module} has no {attribute}", hint="write package.module:Class")
    backend: Backend = factory()
    return backend
