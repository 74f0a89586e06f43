"""Choose the calls of a formula: listed and random ones, whose limit is near an element."""

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from random import Random
from typing import cast

import numpy as np

from convcheck.numerics.format import Float, Format, Numeric
from convcheck.numerics.modes import NEAREST, BeyondError, grid_of
from convcheck.numerics.words import OutsideFormatError, code_of, spell_special, value_of
from convcheck.rules.body.formula import INDEX, Formula
from convcheck.rules.expression import compute
from convcheck.rules.model import Case, Spec
from convcheck.semantics.body.formula import compile_formula
from convcheck.semantics.body.sequence import EXACTLY
from convcheck.semantics.expected import Call
from convcheck.vectors.model import Coverage, Tier

LONGEST = 300  # of a sequence
_MADE: dict[Tier, int] = {"edge": 6, "boundary": 100, "exhaustive": 100}
_STEPS = (1, 2, 3, 5, 7, 11)  # of a random call
_LEAST_GAP = 256  # below it groups do not fit
_PRECISIONS = (53, 24, 11)  # of floats that integers may wrongly go through
Codes = tuple[int, ...]
Shape = tuple[int, ...]


def formula_calls(spec: Spec, case: Case, tier: Tier, seed: int) -> tuple[list[Call], Coverage]:
    """Return a case's calls of up to LONGEST elements."""
    formula = spec.body_as(Formula)
    formats = tuple(cast(Numeric, dtype.format) for dtype in case.inputs)
    made = [*_long(formula, case, formats), *_made(formula, case, formats, seed, _MADE[tier])]
    scalars = ((codes, ()) for codes in made)
    found = dict.fromkeys([*_listed(formula, case, formats), *scalars])
    compiled = compile_formula(spec, case)
    calls = (
        tuple(np.full(shape, code, fmt.storage) for fmt, code in zip(formats, codes, strict=True))
        for codes, shape in found
    )
    return [call for call in calls if compiled.size(call) <= LONGEST], "edge"


def _listed(
    formula: Formula, case: Case, formats: Sequence[Numeric]
) -> Iterator[tuple[Codes, Shape]]:
    asked = formula.asked
    at = formula.arguments.index(asked.limit)
    for entry in asked.lists:
        if entry.when.holds(case.inputs, case.outputs[0]):
            made = [*_readable(formats, entry.listed)]
            for codes in _readable(formats, entry.around):
                made += _around(formats[at], codes, at)
            yield from ((codes, entry.shape) for codes in made)


def _readable(formats: Sequence[Numeric], rows: Iterable[Sequence[str]]) -> Iterator[Codes]:
    for row in rows:
        try:
            yield tuple(code_of(fmt, word)[0] for fmt, word in zip(formats, row, strict=True))
        except OutsideFormatError:
            continue


def _around(fmt: Numeric, codes: Codes, at: int) -> Iterator[Codes]:
    yield codes
    if not isinstance(fmt, Float):
        value = value_of(fmt, codes[at])
        beside = [int(v) & fmt.mask for v in (value - 1, value + 1) if fmt.min <= v <= fmt.max]
    elif magnitude := codes[at] & fmt.magnitude_mask:
        sign, near = codes[at] & fmt.sign_bit, (magnitude - 1, magnitude + 1)
        beside = [sign | m for m in near if 0 < m <= fmt.max_magnitude]
    else:
        beside = [fmt.sign_bit | 1, 1]
    for code in beside:
        yield (*codes[:at], code, *codes[at + 1 :])


def _made(
    formula: Formula, case: Case, formats: Sequence[Numeric], seed: int, count: int
) -> Iterator[Codes]:
    at = formula.arguments.index(formula.asked.limit)
    for number in range(count):
        random = Random(f"{case.id} {seed} {number}")  # noqa: S311  not for secrets
        words = [_word(fmt, case.outputs[0].format, random) for fmt in formats]
        for codes in _ending(formula, formats, words, _STEPS[number % len(_STEPS)]):
            yield from _around(formats[at], codes, at)


def _long(formula: Formula, case: Case, formats: Sequence[Numeric]) -> Iterator[Codes]:
    output = case.outputs[0]
    fmt = cast(Numeric, output.format)
    # where the type, or the widest float without it, skips odd numbers, 0 for never
    gap = next((2**p for p in _PRECISIONS if 2 ** (p + 1) <= fmt.max), 0)
    gap = 2 << fmt.mantissa if isinstance(fmt, Float) else gap
    if formula.interval is None or gap < _LEAST_GAP or {*case.inputs} != {output}:
        return
    for start, step, steps in _across(gap):
        words = [str(start)] * len(formats)
        words[formula.arguments.index(formula.interval.step)] = str(step)
        yield from _ending(formula, formats, words, steps)


def _across(gap: int) -> Iterator[tuple[int, Decimal, int]]:
    """Yield start, step and length of sequences across `gap`, the last one to a small number."""
    yield from ((gap + k, Decimal(1), n) for k, n in ((-15, 33), (-7, 34), (-63, 130)))
    yield from ((s * (gap + k), Decimal(-3), 40) for s, k in ((1, 73), (-1, -47)))
    yield gap + 72, Decimal("-2.1875"), 40
    yield gap, Decimal(3 - gap) / 32, 32


def _word(fmt: Numeric, output: Format, random: Random) -> str:
    sign = random.choice((-1, 1) if fmt.signed else (1,))
    if not isinstance(fmt, Float):
        return str(sign * random.randint(1, 99))
    places = random.randint(0, 2)
    least = 1 if isinstance(output, Float) else 10**places
    return f"{sign * random.randint(least, least * 99)}e-{places}"


def _ending(
    formula: Formula, formats: Sequence[Numeric], words: Sequence[str], steps: int
) -> Iterator[Codes]:
    at = formula.arguments.index(formula.asked.limit)
    for codes in _readable(formats, [words]):
        values = [value_of(fmt, code) for fmt, code in zip(formats, codes, strict=True)]
        arguments = {**dict(zip(formula.arguments, values, strict=True)), INDEX: Fraction(steps)}
        try:
            limit = compute(formula.element, arguments, EXACTLY)
            code = grid_of(formats[at], NEAREST).code(limit)
        except BeyondError:
            return
        if not spell_special(formats[at], code):
            yield (*codes[:at], code, *codes[at + 1 :])
