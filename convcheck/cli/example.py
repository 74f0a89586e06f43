"""`convcheck backend example`: a program to start from, that convcheck can ask."""

from __future__ import annotations

from convcheck.files import write_text
from convcheck.rules.load import data_dir

FILES = {"c": "cast.c", "c-header": "convcheck.h", "python": "cast.py"}


def main(which: str) -> int:
    """Print a program that speaks the process protocol, to put your kernels in."""
    write_text((data_dir("examples") / FILES[which]).read_text(encoding="utf-8"), "-")
    return 0
