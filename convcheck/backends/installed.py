"""What is on this machine: runtimes, found without importing them, and the user's cache; and the
names of a runtime's variants.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from convcheck.errors import UnavailableError, UsageError, install_hint


def release_of(extra: str, *, module: str = "", package: str = "") -> str:
    """Return a runtime's package and its release; the three names are alike unless given.

    Raises UnavailableError where it is not installed, and says which extra of convcheck has it.
    """
    if find_spec(module or extra) is None:
        said = f"No module named {module or extra!r}"
        raise UnavailableError(said, hint=install_hint(extra))
    return f"{package or extra} {version(package or extra)}"


def variant_name(runtime: str, variant: str, variants: Iterable[str]) -> str:
    """Return the name of a backend in a variant, '' for the usual one. Raises UsageError for one
    that is none of `variants`.
    """
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
