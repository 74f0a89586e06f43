"""`convcheck explain`: what the standard wants of one input, and why."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import click

from convcheck.cli.options import (
    backend_option,
    catalog,
    complete_specs,
    complete_types,
)
from convcheck.cli.options import specs_option as specs
from convcheck.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.text import Text

    from convcheck.report.explain import Explained
    from convcheck.spec.load import Catalog
    from convcheck.spec.model import Case, DType

_NEGATIVE = re.compile(r"-(\.?[0-9].*|inf|nan)", re.IGNORECASE)
EXAMPLE = """\b
Examples:
  convcheck explain onnx.Cast-21 --from float32 --to float8e4m3fn --where saturate=0 464.25
  convcheck explain onnx.Cast-21/float32-to-bfloat16 0x3f808001 --backend ort
  convcheck explain onnx.Cast-21/float32-to-int8 -0x1.9p6
  convcheck explain onnx.Cast-9/string-to-float16 1e400
"""


class _Command(click.Command):
    """A command that takes a negative number as an argument, with or without `--` before it."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        """Move negative numbers behind `--`, where they are no options."""
        at = args.index("--") if "--" in args else len(args)
        head, tail = args[:at], args[at + 1 :]
        numbers = [a for a in head if _NEGATIVE.fullmatch(a)]
        front = [a for a in head if not _NEGATIVE.fullmatch(a)]
        return super().parse_args(context, [*front, "--", *numbers, *tail])


@click.command("explain", cls=_Command, epilog=EXAMPLE)
@click.argument("name", metavar="SPEC|CASE", shell_complete=complete_specs)
@click.argument("value", metavar="VALUE")
@click.option("--from", "source", metavar="T", shell_complete=complete_types, help="From this type.")
@click.option("--to", "target", metavar="T", shell_complete=complete_types, help="To this type.")
@click.option("--where", multiple=True, metavar="NAME=VALUE", help="With this attribute value.")
@backend_option
@click.option("--verbose", "-v", is_flag=True, help="Show the rows tried before the one that holds.")
@specs
def command(
    name: str,
    value: str,
    source: str | None,
    target: str | None,
    where: tuple[str, ...],
    backend: str | None,
    verbose: bool,
    specs: tuple[str, ...],
) -> int:
    """Say what the standard wants of one input, and why; with --backend, what that answers.

    VALUE is a decimal, 0x… bits, a hex float (0x1.8p3), inf, nan, true or false; for a string
    source, the text itself. A decimal between two values of the source is rounded, and said so.
    Attributes that are not named have their defaults. Exit codes: 0, or 1 where the backend's
    answer fails; 2 bad input; 4 the backend could not be started.
    """
    from rich.console import Console

    from convcheck.report import explain
    from convcheck.report.page import put, width_of
    from convcheck.spec.find import find_case

    loaded = catalog(specs)
    it = _explained(loaded, find_case(loaded, name, source, target, where), value)
    console = Console()
    put(explain.show(it, width_of(console), verbose), console)
    return _answered(it, backend, console) if backend else 0
