"""Causes that fit -> a few inputs on which they differ, and some more, to be put to the backend.

What the first do not tell apart, no input of the boundary tier tells apart, nor a code half-way
between two of the edge tier, nor any code of a source of up to 16 bits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache, reduce
from itertools import combinations
from typing import cast

import numpy as np

from convcheck.judge.matching import Mask, matching
from convcheck.numerics.codes import Bits, Codes
from convcheck.numerics.format import Format, Numeric, Text
from convcheck.rules.model import Case, Spec
from convcheck.semantics.answers_at import deciding
from convcheck.semantics.evaluate import evaluate, points_of
from convcheck.semantics.expected import REFUSED, UNDEFINED, Reading
from convcheck.semantics.program import Program
from convcheck.semantics.wrong import readings_at
from convcheck.vectors.inputs import numeric_inputs
from convcheck.vectors.texts import text_inputs

_WHOLE = 16  # bits of a source of which every code is looked at
_CHUNK = 1 << 14  # inputs that are looked at together
_KEPT = 8  # pairs of types of which these are kept
_EACH = 3  # inputs that are asked for two causes
_SPELLED = 1 << 10  # inputs that are looked at where each has to be spelled
_LOOKED = 1 << 9  # inputs at boundaries, of which some are asked that no vector is
_UNSEEN = 8  # asked of what one row decides: so many converted wrongly, so many that are not


def telling_inputs(spec: Spec, case: Case, programs: Sequence[Program]) -> Bits:
    """Return inputs that a rule decides and to which wrong conversions give different answers."""
    left, found = list(combinations(range(len(programs)), 2)), []
    for codes in _chunks(case) if left else ():
        points = points_of(case, codes)
        given = [readings_at(program, points)[0] for program in programs]
        differing = {pair: _differ(case, codes, *(given[n] for n in pair)) for pair in left}
        if not any(mask.any() for mask in differing.values()):
            continue
        decided = _decided(spec, case, codes)
        for pair, mask in differing.items():
            if len(telling := codes[mask & decided]):
                found.append(telling[np.linspace(0, len(telling) - 1, _EACH).astype(np.intp)])
                left.remove(pair)
        if not left:
            break
    blank = np.zeros(0, case.inputs[0].format.storage)
    return np.unique(np.concatenate([blank, *found]))


def unseen_inputs(spec: Spec, case: Case, program: Program, seen: Bits) -> Bits:
    """Return a few inputs that are none of the `seen` ones, and of which a rule and a wrong
    conversion both say what becomes: of what each row of this decides some that are converted
    wrongly, and some that are not.
    """
    every = np.concatenate([seen[:0], *_chunks(case)])
    some = np.unique(np.concatenate([spread(every, _LOOKED), _amid_of(case, seen)]))
    codes = some[~np.isin(some, seen)]
    if not len(codes):
        return codes
    points = points_of(case, codes)
    given, row = readings_at(program, points)[0], deciding(program, points)
    due = evaluate(spec, case, codes).readings
    said = _decides(given) & np.logical_and.reduce([_decides(each) for each in due])
    wrong = np.logical_and.reduce([_differ(case, codes, given, each) for each in due])
    sorts = 2 * row[said] + wrong[said]
    parts = [spread(codes[said][sorts == each], _UNSEEN) for each in np.unique(sorts)]
    return cast(Bits, np.concatenate([codes[:0], *parts]))


def _chunks(case: Case) -> Iterator[Bits]:
    """Yield the inputs that are looked at."""
    source, target = case.inputs[0].format, case.outputs[0].format
    if case.outside:
        return
    if isinstance(source, Text):
        every: Bits = text_inputs(target, "boundary", 0)[0]
    elif isinstance(target, Text):
        every = spread(numeric_inputs(source, target, "boundary", 0)[0], _SPELLED)
    else:
        every = np.concatenate([_every(source, target), _amid(source, target)])
    yield from (every[i : i + _CHUNK] for i in range(0, len(every), _CHUNK))


def _amid_of(case: Case, none: Bits) -> Bits:
    """Return the codes of a case half-way between two of the edge tier; on the way from or to a
    text none.
    """
    source, target = case.inputs[0].format, case.outputs[0].format
    of_texts = isinstance(source, Text) or isinstance(target, Text)
    return none[:0] if case.outside or of_texts else _amid(source, target)


def spread(bits: Bits, most: int) -> Bits:
    """Return so many inputs at most, spread over all of them."""
    if len(bits) <= most:
        return bits
    return bits[np.linspace(0, len(bits) - 1, most).astype(np.intp)]


@lru_cache(_KEPT)
def _every(source: Numeric, target: Numeric) -> Codes:
    """Return all codes of a narrow source, else the inputs of the boundary tier."""
    if source.bits > _WHOLE:
        return numeric_inputs(source, target, "boundary", 0)[0]
    return np.arange(1 << source.bits, dtype=source.storage)


@lru_cache(_KEPT)
def _amid(source: Numeric, target: Format) -> Codes:
    """Return, of a wide source, the codes half-way between neighbours of the edge tier: vectors are
    at boundaries and next to them, and a cause may be wrong of what lies between.
    """
    if source.bits <= _WHOLE:
        return np.zeros(0, source.storage)
    codes = np.unique(numeric_inputs(source, target, "edge", 0)[0])
    return np.setdiff1d(codes[:-1] + np.diff(codes) // codes.dtype.type(2), codes)


def _decided(spec: Spec, case: Case, codes: Bits) -> Mask:
    """Return which inputs a rule decides."""
    readings = evaluate(spec, case, codes).readings
    return reduce(np.logical_and, map(_decides, readings))


def _decides(reading: Reading) -> Mask:
    """Return where one answer, or one of a few, is right."""
    return np.asarray((reading.patterns != UNDEFINED) & (reading.patterns != REFUSED))


def _differ(case: Case, codes: Bits, one: Reading, other: Reading) -> Mask:
    """Return where both are decided, and no answer is right for both."""
    target = case.outputs[0].format
    if isinstance(target, Text):  # of which several have one meaning
        source = case.inputs[0].format
        alike = matching(one, other.codes, target, source, codes)
        differ = ~(alike | matching(other, one.codes, target, source, codes))
    else:
        differ = (one.patterns != other.patterns) | np.asarray(one.codes != other.codes)
    return np.asarray(differ & _decides(one) & _decides(other))
