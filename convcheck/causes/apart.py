"""Causes that fit alike -> a few inputs on which they differ, to be put to the backend.

What these do not tell apart, no input of the boundary tier tells apart, nor any code of a source of
up to 16 bits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache, reduce
from itertools import combinations

import numpy as np

from convcheck.judge.matching import Mask
from convcheck.numerics.format import Codes, Numeric, Text
from convcheck.rules.model import Case, Spec
from convcheck.semantics.evaluate import evaluate, points_of
from convcheck.semantics.expected import REFUSED, UNDEFINED, Reading
from convcheck.semantics.program import Program
from convcheck.semantics.wrong import readings_at
from convcheck.vectors.inputs import numeric_inputs

_WHOLE = 16  # bits of a source of which every code is looked at
_CHUNK = 1 << 14  # inputs that are looked at together
_KEPT = 8  # pairs of types of which these are kept
_EACH = 3  # inputs that are asked for two causes


def telling_inputs(spec: Spec, case: Case, programs: Sequence[Program]) -> Codes:
    """Return inputs that a rule decides and to which wrong conversions give different answers."""
    left, found = list(combinations(range(len(programs)), 2)), []
    for codes in _chunks(case) if left else ():
        points = points_of(case, codes)
        given = [readings_at(program, points)[0] for program in programs]
        decided = _decided(spec, case, codes)
        for pair in tuple(left):
            differing = _differ(*(given[each] for each in pair))
            if len(telling := codes[differing & decided]):
                found.append(telling[np.linspace(0, len(telling) - 1, _EACH).astype(np.intp)])
                left.remove(pair)
        if not left:
            break
    blank = np.zeros(0, case.inputs[0].format.storage)
    return np.unique(np.concatenate([blank, *found]))


def _chunks(case: Case) -> Iterator[Codes]:
    """Yield the inputs that are looked at; none of texts."""
    source, target = case.inputs[0].format, case.outputs[0].format
    if case.outside or isinstance(source, Text) or isinstance(target, Text):
        return
    every = _every(source, target)
    yield from (every[i : i + _CHUNK] for i in range(0, len(every), _CHUNK))


@lru_cache(_KEPT)
def _every(source: Numeric, target: Numeric) -> Codes:
    """Return all codes of a narrow source, else the inputs of the boundary tier."""
    if source.bits > _WHOLE:
        return numeric_inputs(source, target, "boundary", 0)[0]
    return np.arange(1 << source.bits, dtype=source.storage)


def _decided(spec: Spec, case: Case, codes: Codes) -> Mask:
    """Return which inputs a rule decides."""
    readings = evaluate(spec, case, codes).readings
    return reduce(np.logical_and, map(_decides, readings))


def _decides(reading: Reading) -> Mask:
    """Return where one answer, or one of a few, is right."""
    return np.asarray((reading.patterns != UNDEFINED) & (reading.patterns != REFUSED))


def _differ(one: Reading, other: Reading) -> Mask:
    """Return where both are decided, and no answer is right for both."""
    differ = (one.patterns != other.patterns) | np.asarray(one.codes != other.codes)
    return np.asarray(differ & _decides(one) & _decides(other))
