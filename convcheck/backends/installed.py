"""What is on this machine: runtimes, found without importing them, and the user's cache."""

from __future__ import annotations

import os
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from convcheck.errors import UnavailableError, install_hint


def release_of(extra: str, *, module: str = "", package: str = "") -> str:
    """Return a runtime's package and its release; the three names are alike unless given.

    Raises UnavailableError where it is not installed, and says which extra of convcheck has it.
    """
    if find_spec(module or extra) is None:
        said = f"No module named {module or extra!r}"
        raise UnavailableError(said, hint=install_hint(extra))
    return f"{package or extra} {version(package or extra)}"


def cache_folder(name: str) -> Path:
    """Return a folder in the user's cache (XDG Base Directory Specification 0.8)."""
    given = os.environ.get("XDG_CACHE_HOME", "")
    base = Path(given) if os.path.isabs(given) else Path.home() / ".cache"
    return base / "convcheck" / name
