"""How a command is declared: what `--help` prints, its options, and the module that runs it."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import click

from convcheck.cli.options import GLOBAL_OPTIONS
from convcheck.errors import UsageError

Option = Callable[[Callable[..., Any]], Callable[..., Any]]


def declare(
    name: str,
    text: str,
    examples: str,
    *options: Option,
    kind: type[click.Command] = click.Command,
) -> click.Command:
    """Return a command. Its module is imported when it is called, and its `main` is then given the
    options by name.
    """

    def run(**given: Any) -> Any:
        return importlib.import_module(f"convcheck.cli.{name}").main(**given)

    call: Callable[..., Any] = run
    for option in reversed((*options, *GLOBAL_OPTIONS)):
        call = option(call)
    lines = "\n".join(f"  {line}" for line in examples.strip("\n").splitlines())
    epilog = f"\b\nExamples:\n{lines}\n"
    made = click.command(name, cls=kind, help=text, epilog=epilog)(call)
    for parameter in made.params:
        if isinstance(parameter, click.Option) and parameter.type is click.STRING:
            parameter.callback = parameter.callback or _not_empty
    return made


def _not_empty(context: click.Context, option: click.Parameter, given: Any) -> Any:
    """Return what an option was given. Raises UsageError for an empty text: a variable of a script
    that was not set.
    """
    if "" in (given if isinstance(given, tuple) else (given,)):
        raise UsageError(f"{option.opts[0]} is empty", hint="leave it out, or say what it is")
    return given
