"""A backend that reports state inherited from the parent process."""

from __future__ import annotations

import atexit
import os
import sys
from pathlib import Path

from tests.planted.bad_backends import Good

TOLD = "CONVCHECK_TEST_TOLD"


def _tell(line: str) -> None:
    with Path(os.environ[TOLD]).open("a") as lines:
        lines.write(f"{line}\n")


class Telling(Good):
    def __init__(self) -> None:
        """Write the state now, and a note at process exit."""
        _tell(f"{'convcheck.cli.run' in sys.modules} {sys.argv} {os.getpgrp() == os.getpid()}")
        atexit.register(_tell, "ends")


class LeavesByItself(Telling):
    def misbehave(self, array: object) -> None:
        os._exit(3)
