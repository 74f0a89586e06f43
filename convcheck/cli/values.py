"""Parse values and calls."""

from collections.abc import Iterable, Mapping, Sequence
from math import prod

import numpy as np

from convcheck.errors import UsageError
from convcheck.numerics.format import Float, Text
from convcheck.numerics.number import Bits
from convcheck.numerics.words import OutsideFormatError, code_of, spell_fraction
from convcheck.report.draw.explain import nearest
from convcheck.rules.model import Case, DType, Spec
from convcheck.semantics.body.formula import TooLongError
from convcheck.semantics.evaluate import evaluate
from convcheck.semantics.expected import REFUSED
from convcheck.streams import plural
from convcheck.vectors.generate import expecting, form_decision
from convcheck.vectors.model import CallSet, VectorSet


def _code_of_word(source: DType, word: str) -> tuple[int | str, bool]:
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
    """Split lists such as 1,2 or [1, 2], but not texts."""
    if isinstance(dtype.format, Text):
        return list(words)
    return [each.strip() for word in words for each in word.strip("[]").split(",")]


def read_values(dtype: DType, words: Iterable[str]) -> tuple[Bits, list[str]]:
    """Return codes, and notes on inexact values. Raises UsageError."""
    words = list(words)
    read = [_code_of_word(dtype, word) for word in words]
    pairs = zip(words, read, strict=True)
    notes = [nearest(dtype, word, code) for word, (code, exact) in pairs if not exact]
    bits = np.empty(len(words), dtype.format.storage)
    bits[:] = [code for code, _ in read]
    return bits, notes


def _has(source: DType) -> str:
    fmt = source.format
    assert not isinstance(fmt, Text)  # noqa: S101
    digits = 9 if isinstance(fmt, Float) else 20
    low, high = (spell_fraction(bound, digits).lstrip("~") for bound in (fmt.min, fmt.max))
    more = ""
    if isinstance(fmt, Float):
        has = {"-0": fmt.negative_zero, "inf": fmt.infinity, "nan": fmt.nan != "none"}
        more = "".join(f", {word}" for word, there in has.items() if there)
    return f"{source} has {low} to {high}{more}, and bits 0x0 to {(1 << fmt.bits) - 1:#x}"


def vectors_of(spec: Spec, case: Case, values: Sequence[str]) -> tuple[VectorSet, list[str]]:
    """Return vectors of inputs, and notes on inexact ones."""
    bits, notes = read_values(case.inputs[0], values)
    expected = evaluate(spec, case, bits)
    return VectorSet(case, (bits,), expected, "sampled", form_decision(spec)), notes


def given_call(
    spec: Spec, case: Case, values: tuple[str, ...]
) -> tuple[CallSet, dict[str, list[str]]]:
    """Return a call, and for each input notes on inexact values.

    Raises UsageError if values do not fit, or the answer is too long.
    """
    layout = next(one for one in spec.layouts if case.layout in ("", one.name))
    shapes = dict(layout.shapes)  # the dimensions of each input, numbers or letters
    words = zip(case.inputs, _one_each(case, tuple(shapes), values), strict=True)
    read = [read_values(dtype, elements_in(dtype, [word])) for dtype, word in words]
    calls = _expecting(spec, case, [codes for codes, _ in read], shapes)
    return calls, {name: notes for name, (_, notes) in zip(shapes, read, strict=True)}


def _one_each(case: Case, names: tuple[str, ...], values: tuple[str, ...]) -> tuple[str, ...]:
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
    """Return the call. Undetermined sizes are 1; if that is refused, all sizes differ."""
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
    sizes: dict[str, int] = {}
    for dims, some in sorted(zip(shapes.values(), codes, strict=True), key=lambda one: len(one[0])):
        letters = [d for d in dict.fromkeys(dims) if not d.isdigit() and d not in sizes]
        if len(some) > 1 and letters:
            sizes |= dict.fromkeys(letters, 1)
            sizes[letters[-1]] = len(some) // prod(int(sizes.get(d, d)) for d in dims)
    return sizes


def tensor_of(name: str, shape: tuple[int, ...], codes: Bits) -> Bits:
    """Return a tensor of one repeated code, or of all codes. Raises UsageError."""
    if len(codes) not in (1, prod(shape)):
        given = f"{name}: {plural(len(codes), 'value')} instead of {prod(shape)}"
        raise UsageError(given, hint="give one for all elements, or a list such as 1,2,3")
    return (codes.repeat(prod(shape)) if len(codes) == 1 else codes).reshape(shape)
