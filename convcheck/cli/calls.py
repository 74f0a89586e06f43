"""Whole calls on a command line: a value for each input, such as START STOP STEP."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from convcheck.cli.values import code_of_word
from convcheck.errors import UsageError
from convcheck.wording import plural

if TYPE_CHECKING:
    from convcheck.numerics.codes import Bits
    from convcheck.rules.model import Case, DType, Spec
    from convcheck.vectors.model import CallSet


@dataclass(frozen=True)
class GivenCall:
    """A call that was given by a value for each input, which is that of all its elements."""

    #: The call, and what is expected of it.
    calls: CallSet
    #: The names of the inputs.
    names: tuple[str, ...]
    #: The values as they were given.
    words: tuple[str, ...]
    #: Whether the types have them.
    exact: tuple[bool, ...]


def given_call(spec: Spec, case: Case, values: tuple[str, ...]) -> GivenCall:
    """Return the call that values make. Raises UsageError where they are not those of the inputs,
    or make too long an answer.
    """
    shapes = _shapes(spec, case)
    words = _one_each(case, tuple(shapes), values)
    read = [code_of_word(dtype, word) for dtype, word in zip(case.inputs, words, strict=True)]
    calls = _expecting(spec, case, [code for code, _ in read], tuple(shapes.values()))
    return GivenCall(calls, tuple(shapes), words, tuple(exactly for _, exactly in read))


def _shapes(spec: Spec, case: Case) -> dict[str, tuple[str, ...]]:
    """Return the dimensions of each input in the question, numbers or letters."""
    found = next(one for one in spec.layouts if case.layout in ("", one.name))
    return dict(found.shapes)


def _one_each(case: Case, names: tuple[str, ...], values: tuple[str, ...]) -> tuple[str, ...]:
    """Return a word an input. Where the question is the type, the values may be left out."""
    if not values and not case.outputs:
        return ("0",) * len(names)
    if len(values) != len(names):
        given = plural(len(values), "VALUE") if values else "no VALUE"
        hint = f"convcheck explain {case.id} {' '.join(name.upper() for name in names)}"
        raise UsageError(f"{given} instead of {len(names)}: {', '.join(names)}", hint=hint)
    return values


def _expecting(
    spec: Spec, case: Case, codes: list[int | str], shapes: tuple[tuple[str, ...], ...]
) -> CallSet:
    """Make the call, one element an input where the layout leaves that open.

    A layout that has to be refused is refused for its sizes: each letter gets one of its own.
    """
    from convcheck.semantics.body.formula import TooLongError
    from convcheck.semantics.expected import REFUSED
    from convcheck.vectors.calls import expecting

    letters = dict.fromkeys(d for dims in shapes for d in dims if not d.isdigit())
    for first in (1, 2):
        sizes = {letter: 1 if first == 1 else first + i for i, letter in enumerate(letters)}
        made = tuple(tuple(int(sizes.get(d, d)) for d in dims) for dims in shapes)
        call = tuple(map(_tensor, case.inputs, made, codes))
        try:
            calls = expecting(spec, case, [call], "sampled")
        except TooLongError as error:
            raise UsageError(str(error), hint="ask for fewer elements") from None
        if not case.outputs or calls.expected[0].readings[0].pattern != REFUSED:
            break
    return calls


def _tensor(dtype: DType, shape: tuple[int, ...], code: int | str) -> Bits:
    import numpy as np

    return np.full(shape, code, dtype.format.storage)
