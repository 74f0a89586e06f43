"""convcheck: conformance tests for numeric type conversion in machine-learning runtimes."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from convcheck.cli.api import open_log as open_log
    from convcheck.cli.api import run as run

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:  # the API is imported when used
    if name not in ("run", "open_log"):
        raise AttributeError(f"module 'convcheck' has no attribute {name!r}")
    return getattr(import_module("convcheck.cli.api"), name)
