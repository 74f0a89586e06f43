"""Options that backends declare."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, cast

from convcheck.backends.protocol import Backend


class Configurable(Protocol):
    """A backend with options. The first value of each is its default."""

    options: Mapping[str, tuple[str, ...]]

    def configured(self, choice: Mapping[str, str]) -> Backend:
        """Return the same backend with other values of some options."""
        ...


def options_of(backend: Backend) -> Mapping[str, tuple[str, ...]]:
    """Return a backend's options; empty if it declares none."""
    return cast(Mapping[str, tuple[str, ...]], getattr(backend, "options", {}))


def broken(backend: Backend) -> bool:
    """Return whether a watched backend has to be replaced: its answers no longer count."""
    return bool(getattr(backend, "broken", False))


def configured(backend: Backend, choice: Mapping[str, str]) -> Backend:
    """Return the backend with other values of some options."""
    return cast(Configurable, backend).configured(choice)
