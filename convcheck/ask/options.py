"""Backends that declare options, and can be had with other values of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, cast

from convcheck.backends.protocol import Backend


class Configurable(Protocol):
    """A backend with options: the values that each takes, first the one that it has by itself."""

    options: Mapping[str, tuple[str, ...]]

    def configured(self, choice: Mapping[str, str]) -> Backend:
        """Return the same backend with other values of some options."""
        ...


def options_of(backend: Backend) -> Mapping[str, tuple[str, ...]]:
    """Return a backend's options; none of one that declares none."""
    return cast(Mapping[str, tuple[str, ...]], getattr(backend, "options", {}))


def broken(backend: Backend) -> bool:
    """Return whether a watched backend asks to be replaced: what it answers now counts no more."""
    return bool(getattr(backend, "broken", False))


def configured(backend: Backend, choice: Mapping[str, str]) -> Backend:
    """Return a backend that has options with other values of some."""
    return cast(Configurable, backend).configured(choice)
