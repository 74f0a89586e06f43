"""The command line, called in this process or in one of its own, and golden files."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from places import GOLDEN


def convcheck(
    *arguments: object, cwd: Path | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run the command line; warnings in it are errors."""
    command = [sys.executable, "-W", "error", "-m", "convcheck", *map(str, arguments)]
    surroundings = {**os.environ, "COLUMNS": "80", "NO_COLOR": "1", **environment}
    return subprocess.run(
        command, cwd=cwd, env=surroundings, capture_output=True, text=True, timeout=120, check=False
    )


def check_golden(name: str, text: str, width: int | None = 80) -> None:
    """Hold a text to its golden file, of lines up to `width` long unless that is None.

    CONVCHECK_UPDATE_GOLDEN=1 writes it anew.
    """
    path = GOLDEN / name
    if os.environ.get("CONVCHECK_UPDATE_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")
    assert width is None or max(map(len, text.splitlines())) <= width
