"""Declare commands."""

import importlib
import re
from itertools import takewhile
from typing import Any

import click

from convcheck.cli.options import GLOBAL_OPTIONS, Call, Option
from convcheck.errors import UsageError

_NEGATIVE = re.compile(r"-(\.?[0-9].*|(inf|nan)(,.*)?)", re.IGNORECASE)
_MARK = "\0"  # cannot occur in program arguments
_GOT = "--got"


def declare(
    name: str,
    text: str,
    example: str,
    *options: Option,
    kind: "type[Command] | None" = None,
    calls: tuple[str, ...] = (),
) -> click.Command:
    """Return a command that passes its options to `main`, or each of `calls` (MODULE.FUNCTION)."""

    def run(**given: Any) -> Any:
        code = None
        for one in calls or (f"{name}.main",):
            module, _, function = one.partition(".")
            code = getattr(importlib.import_module(f"convcheck.cli.{module}"), function)(**given)
        return code

    call: Call = run
    for option in reversed((*options, *GLOBAL_OPTIONS)):
        call = option(call)
    epilog = f"\b\nExample: {example}"
    made = click.command(name, cls=kind or Command, help=text, epilog=epilog)(call)
    for parameter in made.params:
        if isinstance(parameter, click.Option) and parameter.type is click.STRING:
            parameter.callback = parameter.callback or _not_empty
    return made


def _not_empty(context: click.Context, option: click.Parameter, given: Any) -> Any:
    if "" in (given if isinstance(given, tuple) else (given,)):
        raise UsageError(f"{option.opts[0]} is empty", hint="leave it out, or say what it is")
    return given


class Command(click.Command):
    """A command whose help has one row for all options with the same text."""

    def format_options(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, last those without a text."""
        rows: dict[str, list[str]] = {}
        for parameter in self.get_params(context):
            if isinstance(parameter, click.Option) and (row := parameter.get_help_record(context)):
                rows.setdefault(parameter.help or "", []).append(row[0])
        others = rows.pop("", [])
        with formatter.section("Options"):
            formatter.write_dl([(", ".join(names), text) for text, names in rows.items()])
            formatter.write_text(", ".join(others))


class TakesValues(Command):
    """A command that takes negative numbers, and several values after `--got`."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        """Repeat --got for each of its values, and mark negative numbers."""
        if _GOT in args:
            at = args.index(_GOT)
            given = list(takewhile(_is_value, args[at + 1 :]))
            rest = args[at + 1 + len(given) :]
            each = [word for answer in given for word in (_GOT, answer)]
            args = [*args[:at], *rest, *(each or [_GOT])]
        at = args.index("--") if "--" in args else len(args)
        head = (_MARK + a if _NEGATIVE.fullmatch(a) else a for a in args[:at])
        return super().parse_args(context, [*head, *args[at:]])


def _is_value(word: str) -> bool:
    return not word.startswith("-") or _NEGATIVE.fullmatch(word) is not None


def unmarked(
    context: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> tuple[str, ...]:
    """Remove the marks of negative numbers."""
    return tuple(value.removeprefix(_MARK) for value in values)
