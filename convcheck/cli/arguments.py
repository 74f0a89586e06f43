"""Arguments that are values: a negative number is no option, and --got takes several."""

from __future__ import annotations

import re
from itertools import takewhile

import click

_NEGATIVE = re.compile(r"-(\.?[0-9].*|(inf|nan)(,.*)?)", re.IGNORECASE)
_MARK = "\0"  # no argument of a program has one
_GOT = "--got"


class TakesValues(click.Command):
    """A command that takes negative numbers as arguments, with or without `--` before them, and
    whose option `--got` takes all that follows, up to the next option.
    """

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        """Repeat the option for each of its values, and mark negative numbers."""
        if _GOT in args:
            at = args.index(_GOT)
            given = list(takewhile(_is_value, args[at + 1 :]))
            rest = args[at + 1 + len(given) :]
            each = [word for answer in given for word in (_GOT, answer)]
            args = [*args[:at], *rest, *(each or [_GOT])]
        at = args.index("--") if "--" in args else len(args)
        head = (_MARK + a if _is_negative(a) else a for a in args[:at])
        return super().parse_args(context, [*head, *args[at:]])


def _is_value(word: str) -> bool:
    return not word.startswith("-") or _is_negative(word)


def _is_negative(word: str) -> bool:
    """Return whether an argument is a negative number, and no option."""
    return _NEGATIVE.fullmatch(word) is not None


def unmarked(
    context: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> tuple[str, ...]:
    """Return arguments as they were given."""
    return tuple(value.removeprefix(_MARK) for value in values)
