"""Find installed runtimes without importing them; variant names; the user's cache."""

from __future__ import annotations

import os
from collections.abc import Iterable
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from convcheck.errors import UnavailableError, UsageError, install_hint


def release_of(extra: str, *, module: str = "", package: str = "") -> str:
    """Return a runtime's package and release. The names equal `extra` unless given.

    Raises UnavailableError if it is not installed, with the extra of convcheck that has it.
    """
    if find_spec(module or extra) is None:
        said = f"No module named {module or extra!r}"
        raise UnavailableError(said, hint=install_hint(extra))
    return f"{package or extra} {version(package or extra)}"


def variant_name(runtime: str, variant: str, variants: Iterable[str]) -> str:
    """Return the name of a backend's variant, '' for the default. Raises UsageError if unknown."""
    names = {known: f"{runtime}:{known}" if known else runtime for known in variants}
    if variant not in names:
        hint = f"one of {', '.join(names.values())}"
        raise UsageError(f"{runtime} has no variant {variant!r}", hint=hint)
    return names[variant]


def cache_folder(name: str) -> Path:
    """Return a folder in the user's cache (XDG Base Directory Specification 0.8)."""
    given = os.environ.get("XDG_CACHE_HOME", "")
    base = Path(given) if os.path.isabs(given) else Path.home() / ".cache"
    return base / "convcheck" / name
