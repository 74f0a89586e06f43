"""Which runtimes are installed: found without importing any of them."""

from __future__ import annotations

from importlib.metadata import version
from importlib.util import find_spec

from convcheck.errors import UnavailableError, install_hint


def release_of(extra: str, *, module: str = "", package: str = "") -> str:
    """Return a runtime's package and its release; the three names are alike unless given.

    Raises UnavailableError where it is not installed, and says which extra of convcheck has it.
    """
    if find_spec(module or extra) is None:
        said = f"No module named {module or extra!r}"
        raise UnavailableError(said, hint=install_hint(extra))
    return f"{package or extra} {version(package or extra)}"
