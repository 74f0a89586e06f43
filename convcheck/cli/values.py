"""Values on a command line: numbers, which may be negative, and the codes that they are."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import click

from convcheck.errors import UsageError

if TYPE_CHECKING:
    from convcheck.numerics.codes import Bits
    from convcheck.rules.model import DType

_NEGATIVE = re.compile(r"-(\.?[0-9].*|(inf|nan)(,.*)?)", re.IGNORECASE)
_MARK = "\0"  # no argument of a program has one


def is_negative_number(word: str) -> bool:
    """Return whether an argument is a negative number, and no option."""
    return _NEGATIVE.fullmatch(word) is not None


class TakesNumbers(click.Command):
    """A command that takes a negative number as an argument, with or without `--` before it."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        """Mark negative numbers, so that they are no options, and stay where they are."""
        at = args.index("--") if "--" in args else len(args)
        head = (_MARK + a if is_negative_number(a) else a for a in args[:at])
        return super().parse_args(context, [*head, *args[at:]])


def unmarked(
    context: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> tuple[str, ...]:
    """Return arguments as they were given."""
    return tuple(value.removeprefix(_MARK) for value in values)


def code_of_word(source: DType, word: str) -> tuple[int | str, bool]:
    """Return the code of a value of a type, and whether the type has just this value. Raises
    UsageError for one that it does not have.
    """
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


def elements_in(dtype: DType, words: Iterable[str]) -> list[str]:
    """Return the values in words, each of which may be a list: 1,2 or [1, 2]. A text is one."""
    from convcheck.numerics.format import Text

    if isinstance(dtype.format, Text):
        return list(words)
    return [each.strip() for word in words for each in word.strip("[]").split(",")]


def read_values(dtype: DType, words: Iterable[str]) -> tuple[Bits, list[str]]:
    """Return the codes of values, and a note for each that the type does not have. Raises
    UsageError as `code_of_word` does.
    """
    from convcheck.report.draw.explain import nearest

    words = list(words)
    read = [code_of_word(dtype, word) for word in words]
    pairs = zip(words, read, strict=True)
    notes = [nearest(dtype, word, code) for word, (code, exact) in pairs if not exact]
    return bits_of(dtype, [code for code, _ in read]), notes


def _has(source: DType) -> str:
    """Say what numbers a type has, for a hint."""
    from convcheck.numerics.decimal import spell_fraction
    from convcheck.numerics.format import Float, Text

    fmt = source.format
    assert not isinstance(fmt, Text)  # noqa: S101
    digits = 9 if isinstance(fmt, Float) else 20
    low, high = (spell_fraction(bound, digits).lstrip("~") for bound in (fmt.min, fmt.max))
    more = ""
    if isinstance(fmt, Float):
        has = {"-0": fmt.negative_zero, "inf": fmt.infinity, "nan": fmt.nan != "none"}
        more = "".join(f", {word}" for word, there in has.items() if there)
    return f"{source} has {low} to {high}{more}, and bits 0x0 to {(1 << fmt.bits) - 1:#x}"


def bits_of(dtype: DType, codes: Sequence[int | str]) -> Bits:
    """Return an array of codes, shape (n,)."""
    import numpy as np

    bits = np.empty(len(codes), dtype.format.storage)
    bits[:] = codes
    return bits
