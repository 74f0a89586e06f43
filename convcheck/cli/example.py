"""`convcheck example`: a program to start from, that convcheck can ask."""

from __future__ import annotations

import click

FILES = {"c": "cast.c", "c-header": "convcheck.h", "python": "cast.py"}
EXAMPLE = """\b
Examples:
  convcheck example c > cast.c
  convcheck example c-header > convcheck.h
  cc -O2 -o mine cast.c -lm
  convcheck run --backend process:./mine onnx.Cast-21
"""


@click.command("example", epilog=EXAMPLE)
@click.argument("which", type=click.Choice(list(FILES)))
def command(which: str) -> int:
    """Print a program that speaks the process protocol, to put your kernels in.

    `c` has four kernels, a function each, and includes what `c-header` prints: convcheck.h, one
    file for C99 and C++. `python` needs nothing but Python.
    """
    from convcheck.files import write_text
    from convcheck.rules.load import data_dir

    write_text((data_dir("examples") / FILES[which]).read_text(encoding="utf-8"), "-")
    return 0
