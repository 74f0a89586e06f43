"""Backends that are unusable after each case, and what they have imported for the next worker."""

from __future__ import annotations

import os
from pathlib import Path

from tests.planted.bad_backends import Good

NOTED = "CONVCHECK_TEST_IMPORTED"  # a file in which each import of this module is a line

if file := os.environ.get(NOTED):
    with Path(file).open("a") as lines:
        lines.write(f"{os.getpid()}\n")


class Spoiled(Good):
    """Started anew for each case; this module is imported already, but for the first worker."""

    spoiled = True
    imports: tuple[str, ...] = (__name__,)


class Missing(Spoiled):
    imports = ("no_module_of_this_name",)


class Deadly(Spoiled):
    imports = ("tests.planted.deadly",)
