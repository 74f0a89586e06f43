"""Which calls of a formula are worth asking: those that its spec lists, and some made of it.

A made call has random arguments (seeded) and, for its limit, an element of the formula itself:
then a whole number of steps ends exactly there, and a unit in the last place to either side makes
one element more or less.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from random import Random
from typing import cast

import numpy as np

from convcheck.numerics.decimal import spell_special, value_of
from convcheck.numerics.format import Float, Format, Numeric
from convcheck.numerics.scalar import BeyondError
from convcheck.numerics.words import OutsideFormatError, code_of
from convcheck.rules.body.formula import INDEX, Formula
from convcheck.rules.expression import compute
from convcheck.rules.model import Case, Spec
from convcheck.semantics.body.formula import compile_formula
from convcheck.semantics.expected_calls import Call
from convcheck.semantics.typed_arithmetic import NEAREST, grid_of, operations
from convcheck.vectors.model import Coverage, Tier

LONGEST = 300  # elements of a sequence that is asked
_MADE: dict[Tier, int] = {"edge": 6, "boundary": 100, "exhaustive": 100}
_STEPS = (1, 2, 3, 5, 7, 11)  # how many whole steps a made call has
Codes = tuple[int, ...]
Shape = tuple[int, ...]


def formula_calls(spec: Spec, case: Case, tier: Tier, seed: int) -> tuple[list[Call], Coverage]:
    """Return the calls of a case, each one scalar per input: codes of shape (), but for lists that
    have a shape of their own.

    Argument lists that the inputs' types cannot hold are left out, and so are sequences of more
    than LONGEST elements.
    """
    formula = spec.body_as(Formula)
    formats = tuple(cast(Numeric, dtype.format) for dtype in case.inputs)
    found = dict.fromkeys(
        [
            *_listed(formula, case, formats),
            *((codes, ()) for codes in _made(formula, case, formats, seed, _MADE[tier])),
        ]
    )
    compiled = compile_formula(spec, case)
    calls = (_call(formats, *call) for call in found)
    return [call for call in calls if compiled.size(call) <= LONGEST], "edge"


def _call(formats: Sequence[Numeric], codes: Codes, shape: Shape) -> Call:
    return tuple(np.full(shape, c, fmt.storage) for fmt, c in zip(formats, codes, strict=True))


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
    """Return the codes of arguments, rounded to their types, where these have such numbers."""
    for row in rows:
        try:
            yield tuple(code_of(fmt, word)[0] for fmt, word in zip(formats, row, strict=True))
        except OutsideFormatError:
            continue


def _around(fmt: Numeric, codes: Codes, at: int) -> Iterator[Codes]:
    """Return a call, and the same with one argument a unit in the last place off."""
    yield codes
    for beside in _beside(fmt, codes[at]):
        yield (*codes[:at], beside, *codes[at + 1 :])


def _beside(fmt: Numeric, code: int) -> Iterator[int]:
    """Return the codes of the next values below and above a finite one."""
    value = value_of(fmt, code)
    if not isinstance(fmt, Float):
        yield from (int(v) & fmt.mask for v in (value - 1, value + 1) if fmt.min <= v <= fmt.max)
        return
    magnitude = code & fmt.magnitude_mask
    sign = code & fmt.sign_bit
    if magnitude == 0:
        yield from (fmt.sign_bit | 1, 1)
        return
    yield from (sign | m for m in (magnitude - 1, magnitude + 1) if 0 < m <= fmt.max_magnitude)


def _made(
    formula: Formula, case: Case, formats: Sequence[Numeric], seed: int, count: int
) -> Iterator[Codes]:
    at = formula.arguments.index(formula.asked.limit)
    for number in range(count):
        random = Random(f"{case.id} {seed} {number}")  # noqa: S311  not for secrets
        words = [_word(fmt, case.outputs[0].format, random) for fmt in formats]
        for codes in _readable(formats, [words]):
            limit = _limit(formula, formats, codes, _STEPS[number % len(_STEPS)])
            if limit is not None:
                yield from _around(formats[at], (*codes[:at], limit, *codes[at + 1 :]), at)


def _word(fmt: Numeric, output: Format, random: Random) -> str:
    """Write a number that the format may have to round; of at least 1 for an integer output."""
    sign = random.choice((-1, 1) if fmt.signed else (1,))
    if not isinstance(fmt, Float):
        return str(sign * random.randint(1, 99))
    places = random.randint(0, 2)
    least = 1 if isinstance(output, Float) else 10**places
    return f"{sign * random.randint(least, least * 99)}e-{places}"


def _limit(formula: Formula, formats: Sequence[Numeric], codes: Codes, steps: int) -> int | None:
    """Return the code nearest to the element after a number of steps, None where there is none."""
    values = [value_of(fmt, code) for fmt, code in zip(formats, codes, strict=True)]
    arguments = {**dict(zip(formula.arguments, values, strict=True)), INDEX: Fraction(steps)}
    fmt = formats[formula.arguments.index(formula.asked.limit)]
    try:
        code = grid_of(fmt, NEAREST).code(compute(formula.element, arguments, operations(None)))
    except BeyondError:
        return None
    return None if spell_special(fmt, code) else code
