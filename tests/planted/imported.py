"""Backends that are unusable after each case and log their imports."""

import os
from pathlib import Path

from tests.planted.bad_backends import Good

NOTED = "CONVCHECK_TEST_IMPORTED"  # a file with a line for each import of this module

if file := os.environ.get(NOTED):
    with Path(file).open("a") as lines:
        lines.write(f"{os.getpid()}\n")


class Spoiled(Good):
    """Restarted for each case. Only the first worker has to import this module."""

    spoiled = True
    imports: tuple[str, ...] = (__name__,)


class Missing(Spoiled):
    imports = ("no_module_of_this_name",)


class Deadly(Spoiled):
    imports = ("tests.planted.deadly",)
