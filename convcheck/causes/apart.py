"""Causes that fit -> a few inputs on which they differ, and some more, to be put to the backend.

What the first do not tell apart, no input of the boundary tier tells apart, nor a code half-way
between two of the edge tier, nor one that carries to a power of two below the normal numbers, nor
any code of a source of up to 16 bits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache, reduce
from itertools import combinations
from typing import cast

import numpy as np

from convcheck.judge.matching import Mask, matching
from convcheck.numerics.codec import decode, decode_magnitudes
from convcheck.numerics.codes import Bits, Codes
from convcheck.numerics.format import Float, Format, Numeric, Text
from convcheck.numerics.neighbours import around, special_codes
from convcheck.numerics.number import FINITE, end_to_end, take
from convcheck.rules.model import Case, Spec
from convcheck.semantics.answers_at import points_of
from convcheck.semantics.evaluate import evaluate
from convcheck.semantics.expected import REFUSED, UNDEFINED, Reading
from convcheck.semantics.program import Program
from convcheck.semantics.wrong import readings_at
from convcheck.vectors.binades import boundaries_of
from convcheck.vectors.inputs import numeric_inputs
from convcheck.vectors.texts import text_inputs

_WHOLE = 16  # bits of a source of which every code is looked at
_CHUNK = 1 << 14  # inputs that are looked at together
_KEPT = 32  # pairs of types of which these are kept
_EACH = 3  # inputs that are asked for two causes
_SPELLED = 1 << 10  # inputs that are looked at where each has to be spelled
_ASKED = 1 << 10  # inputs at boundaries that are asked although no causes are told apart by them
_AROUND = 6  # codes at a boundary and next to it, of both signs
_OTHER_SEED = 1  # of texts at other places than the vectors
_ASKED_TEXTS = 1 << 7  # the same on the way from or to a text


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


def unseen_inputs(
    spec: Spec, case: Case, program: Program, seen: Bits, types: Sequence[Format]
) -> Bits:
    """Return inputs that are none of the `seen` ones, and of which a rule and a wrong conversion
    both say what becomes: at notable numbers of all types, at boundaries and between these.
    """
    if case.outside:
        return seen[:0]
    some = _spread_out(case.inputs[0].format, case.outputs[0].format, tuple(types))
    codes = some[~np.isin(some, seen)]
    if not len(codes):
        return codes
    given = readings_at(program, points_of(case, codes))[0]
    return codes[_decides(given) & _decided(spec, case, codes)]


def _chunks(case: Case) -> Iterator[Bits]:
    """Yield the inputs that are looked at."""
    every = _every(case.inputs[0].format, case.outputs[0].format)
    starts = () if case.outside else range(0, len(every), _CHUNK)
    yield from (every[i : i + _CHUNK] for i in starts)


@lru_cache(_KEPT)
def _spread_out(source: Format, target: Format, types: tuple[Format, ...]) -> Bits:
    """Return what is asked besides the vectors: boundaries, or a part of what is looked at; codes
    that lie between those of the edge tier; and notable numbers of some types.
    """
    if isinstance(source, Text):
        return spread(text_inputs(target, "edge", _OTHER_SEED)[0], _ASKED_TEXTS)
    if isinstance(target, Text):
        return spread(_every(source, target), _ASKED_TEXTS)
    wide = isinstance(target, Float) and source.bits > _WHOLE
    every = _every(source, target) if not wide else _boundaries(source, cast(Float, target))
    some = spread(every, _ASKED)
    return np.unique(np.concatenate([some, _amid(source, target), _notable(source, types)]))


@lru_cache(_KEPT)
def _notable(source: Numeric, types: tuple[Format, ...]) -> Codes:
    """Return codes at notable numbers of some types, and next to these: at the ends of their range
    and next to zero, with the midpoints there.
    """
    numbers = []
    for fmt in types:
        if isinstance(fmt, Float):
            finer, past, _ = boundaries_of(fmt)
            numbers.append(decode_magnitudes(finer, np.array([1, past - 1, past], np.uint64)))
        if not isinstance(fmt, Text):
            special = decode(fmt, special_codes(fmt))
            numbers.append(take(special, np.flatnonzero(special.kind == FINITE)))
    return around(source, end_to_end(numbers))


def _boundaries(source: Numeric, target: Float) -> Codes:
    """Return codes at some rounding boundaries in all binades, and next to these."""
    finer, _, last = boundaries_of(target)
    step = last * _AROUND // _ASKED | 1  # odd: by turns a value and a midpoint between two
    magnitudes = np.array(range(0, last + 1, step), np.uint64)
    return around(source, decode_magnitudes(finer, magnitudes))


def spread(bits: Bits, most: int) -> Bits:
    """Return so many inputs at most, spread over all of them."""
    if len(bits) <= most:
        return bits
    return bits[np.linspace(0, len(bits) - 1, most).astype(np.intp)]


@lru_cache(_KEPT)
def _every(source: Format, target: Format) -> Bits:
    """Return the inputs that are looked at: all codes of a narrow source, else the inputs of the
    boundary tier, what lies between those of the edge tier, and what carries to a power of two.
    """
    if isinstance(source, Text):
        return text_inputs(target, "boundary", 0)[0]
    if isinstance(target, Text):
        return spread(numeric_inputs(source, target, "boundary", 0)[0], _SPELLED)
    if isinstance(source, Numeric) and source.bits <= _WHOLE:
        return np.arange(1 << source.bits, dtype=source.storage)
    whole = numeric_inputs(source, target, "boundary", 0)[0]
    carrying = [_carrying(source, target)] if isinstance(target, Float) else []
    return np.concatenate([whole, _amid(source, target), *carrying])


def _carrying(source: Numeric, target: Float) -> Codes:
    """Return codes next to the numbers below the least normal one that would carry to a power of
    two if they had as many bits as a normal number.
    """
    wide = replace(target, exponent=11, bias=1023)
    lowest = max(target.lowest_exponent + wide.bias, 1)
    exponents = np.arange(lowest, wide.bias - target.bias + 2, dtype=np.uint64)
    finer, *_ = boundaries_of(wide)
    magnitudes = (exponents << np.uint64(finer.mantissa)) - np.uint64(1)
    return around(source, decode_magnitudes(finer, magnitudes))


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
