"""What is wrong with a cause: it can never be seen, since no input of any case shows it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from convcheck.causes.catalogue import causes_of
from convcheck.errors import SpecError
from convcheck.judge.matching import matching
from convcheck.numerics.format import Bits
from convcheck.rules.cases import cases
from convcheck.rules.causes import Cause
from convcheck.rules.load import Catalog
from convcheck.rules.model import Case, Spec
from convcheck.semantics.evaluate import evaluate, points_of
from convcheck.semantics.expected import REFUSED, UNDEFINED, Expected
from convcheck.semantics.wrong import compile_wrong, readings_at
from convcheck.vectors.generate import inputs_of

_INPUTS = 256  # of a case, spread over all of them


def unseen(catalog: Catalog) -> Iterator[SpecError]:
    """Yield an error for each cause that equals the rules wherever they decide.

    Raises SpecError for causes that cannot be read.
    """
    left = list(causes_of(catalog))
    for spec, case in _candidates(catalog):
        if not left:
            return
        left = [cause for cause in left if not cause.applies_to(case)] + _blind(spec, case, left)
    for cause in left:
        hint = "let it differ from the rules where they decide, or leave it out"
        yield SpecError(f"no input shows the cause {cause.name!r}", place=cause.place, hint=hint)


def _candidates(catalog: Catalog) -> Iterator[tuple[Spec, Case]]:
    """Yield the cases of every element-wise operator, those of its latest version first."""
    for spec in reversed(list(catalog.specs.values())):
        if not spec.body.whole_calls:
            yield from ((spec, case) for case in cases(spec))


def _blind(spec: Spec, case: Case, causes: Sequence[Cause]) -> list[Cause]:
    """Return the causes that a case does not show, of those that may be its cause."""
    applying = [cause for cause in causes if cause.applies_to(case)]
    if not applying:
        return []
    bits = _spread(inputs_of(case, "edge")[0])
    expected = evaluate(spec, case, bits)
    return [cause for cause in applying if not _shows(spec, case, cause, bits, expected)]


def _spread(bits: Bits) -> Bits:
    return bits[np.unique(np.linspace(0, len(bits) - 1, _INPUTS).astype(np.intp))]


def _shows(spec: Spec, case: Case, cause: Cause, bits: Bits, expected: Expected) -> bool:
    """Return whether some input that a rule decides has another answer under a cause."""
    program = compile_wrong(spec, case, (cause,))
    if program is None:
        return False
    wrong = readings_at(program, points_of(case, bits))[0]
    source, target = case.inputs[0].format, case.outputs[0].format
    refused = wrong.patterns == REFUSED
    shown = wrong.patterns != UNDEFINED
    for due in expected.readings:
        right = matching(due, wrong.codes, target, source, bits) & ~refused
        shown &= ~right & ~(refused & (due.patterns == REFUSED)) & (due.patterns != UNDEFINED)
    return bool(shown.any())
