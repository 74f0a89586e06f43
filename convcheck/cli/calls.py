"""Whole calls on a command line: a value or a list for each input, such as START STOP STEP."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from convcheck.cli.values import elements_in, read_values
from convcheck.errors import UsageError
from convcheck.numerics.codes import Bits
from convcheck.report.draw.explain_call import ExplainedCall
from convcheck.rules.model import Case, Spec
from convcheck.semantics.body.formula import TooLongError
from convcheck.semantics.expected import REFUSED
from convcheck.vectors.calls import expecting
from convcheck.vectors.model import CallSet
from convcheck.wording import plural


def given_call(spec: Spec, case: Case, values: tuple[str, ...]) -> ExplainedCall:
    """Return the call that values make. Raises UsageError where they are not those of the inputs,
    or make too long an answer.
    """
    shapes = _shapes(spec, case)
    words = zip(case.inputs, _one_each(case, tuple(shapes), values), strict=True)
    read = [read_values(dtype, elements_in(dtype, [word])) for dtype, word in words]
    calls = _expecting(spec, case, [codes for codes, _ in read], shapes)
    outputs = tuple(name for name, _ in spec.outputs)
    return ExplainedCall(calls, tuple(shapes), outputs, tuple(notes for _, notes in read))


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
    spec: Spec, case: Case, codes: list[Bits], shapes: Mapping[str, tuple[str, ...]]
) -> CallSet:
    """Make the call, one element an input where neither the layout nor a list gives a size.

    A layout that has to be refused is refused for its sizes: each letter gets one of its own.
    """
    letters = dict.fromkeys(d for dims in shapes.values() for d in dims if not d.isdigit())
    listed = _sizes(shapes, codes)
    for first in (1, 2):
        sizes = {letter: 1 if first == 1 else first + i for i, letter in enumerate(letters)}
        sizes |= listed
        made = [tuple(int(sizes.get(d, d)) for d in dims) for dims in shapes.values()]
        call = tuple(map(tensor_of, shapes, made, codes))
        try:
            calls = expecting(spec, case, [call], "sampled")
        except TooLongError as error:
            raise UsageError(str(error), hint="ask for fewer elements") from None
        if not case.outputs or calls.expected[0].readings[0].pattern != REFUSED:
            break
    return calls


def _sizes(shapes: Mapping[str, tuple[str, ...]], codes: list[Bits]) -> dict[str, int]:
    """Return the letters whose sizes lists tell, those of the fewest dimensions first."""
    sizes: dict[str, int] = {}
    for dims, some in sorted(zip(shapes.values(), codes, strict=True), key=lambda one: len(one[0])):
        letters = [d for d in dict.fromkeys(dims) if not d.isdigit() and d not in sizes]
        if len(some) > 1 and letters:
            sizes |= dict.fromkeys(letters, 1)
            sizes[letters[-1]] = len(some) // prod(int(sizes.get(d, d)) for d in dims)
    return sizes


def tensor_of(name: str, shape: tuple[int, ...], codes: Bits) -> Bits:
    """Return a tensor of one code or of as many as it has elements. Raises UsageError."""
    if len(codes) not in (1, prod(shape)):
        given = f"{name}: {plural(len(codes), 'value')} instead of {prod(shape)}"
        raise UsageError(given, hint="give one for all elements, or a list such as 1,2,3")
    return (codes.repeat(prod(shape)) if len(codes) == 1 else codes).reshape(shape)
