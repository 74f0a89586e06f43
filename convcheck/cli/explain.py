"""`convcheck explain`: what the standard wants of one input, and why."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import click

from convcheck.cli.options import catalog, complete_specs, complete_types
from convcheck.cli.options import complete_backends as complete_backends
from convcheck.cli.options import specs_option as specs
from convcheck.errors import UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from convcheck.numerics.format import Bits
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
@click.option(
    "--from", "source", metavar="T", shell_complete=complete_types, help="From this type."
)
@click.option("--to", "target", metavar="T", shell_complete=complete_types, help="To this type.")
@click.option("--where", multiple=True, metavar="NAME=VALUE", help="With this attribute value.")
@click.option(
    "--backend", "backends", multiple=True, metavar="NAME", shell_complete=complete_backends,
    help="Ask this backend, too. May be repeated.",
)  # fmt: skip
@click.option(
    "--verbose", "-v", is_flag=True, help="Show the rows tried before the one that holds."
)
@specs
def command(
    name: str,
    value: str,
    source: str | None,
    target: str | None,
    where: tuple[str, ...],
    backends: tuple[str, ...],
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
    return max((_ask(it, address, console) for address in backends), default=0)


def _explained(loaded: Catalog, case: Case, word: str) -> Explained:
    from convcheck.report.explain import Explained
    from convcheck.semantics.program import compile_case
    from convcheck.semantics.trace import trace

    spec = loaded.specs[case.spec]
    code, exact = _read(case.inputs[0], word)
    found = trace(spec, compile_case(spec, case), case, _bits(case, code))
    return Explained(spec, case, word, code, exact, found)


def _read(source: DType, word: str) -> tuple[int | str, bool]:
    """Read VALUE. Raises UsageError for one that the source does not have."""
    from convcheck.numerics.format import Float, Text
    from convcheck.numerics.words import OutsideFormatError, code_of

    fmt = source.format
    if isinstance(fmt, Text):
        return word, True
    try:
        code, exact = code_of(fmt, word)
    except OutsideFormatError as error:
        raise UsageError(f"{source}: {error}", hint=_has(source)) from None
    if code == 0 and word.startswith("-") and isinstance(fmt, Float) and not fmt.negative_zero:
        raise UsageError(f"{source} has no -0: {word}", hint=_has(source))
    return code, exact


def _has(source: DType) -> str:
    """Say what numbers a type has, for a hint."""
    from convcheck.numerics.decimal import spell_fraction
    from convcheck.numerics.format import Float, Text

    fmt = source.format
    assert not isinstance(fmt, Text)  # noqa: S101
    low, high = (spell_fraction(bound, 9).lstrip("~") for bound in (fmt.min, fmt.max))
    more = ""
    if isinstance(fmt, Float):
        has = {"-0": fmt.negative_zero, "inf": fmt.infinity, "nan": fmt.nan != "none"}
        more = "".join(f", {word}" for word, there in has.items() if there)
    return f"{source} has {low} to {high}{more}, and bits 0x0 to {(1 << fmt.bits) - 1:#x}"


def _bits(case: Case, code: int | str) -> Bits:
    """Make an array of the one input."""
    import numpy as np

    bits = np.empty(1, case.inputs[0].format.storage)
    bits[0] = code
    return bits


def _ask(it: Explained, address: str, console: Console) -> int:
    """Put the input to a backend and show its answer; 1 where that fails."""
    from convcheck.report import explain
    from convcheck.report.page import put, width_of
    from convcheck.run.result import FAILURES
    from convcheck.run.single import ask
    from convcheck.semantics.evaluate import evaluate
    from convcheck.vectors.generate import form
    from convcheck.vectors.model import VectorSet

    bits = _bits(it.case, it.code)
    expected = evaluate(it.spec, it.case, bits)
    info, result = ask(address, VectorSet(it.case, (bits,), expected, "sampled", form(it.spec)))
    put(explain.answer(info, result, width_of(console)), console)
    return int(result.verdict in FAILURES)
