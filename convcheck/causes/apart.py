"""Find inputs and calls that discriminate between causes, and hold-out ones.

Sources of up to 16 bits are searched in full, wider ones at the boundary tier, half-way between
edge inputs, and where subnormals carry.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache, reduce
from itertools import combinations
from typing import Any, TypeGuard, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from convcheck.judge.matching import Mask, matching
from convcheck.numerics.codec import decode, decode_magnitudes
from convcheck.numerics.format import Float, Format, Numeric, Text
from convcheck.numerics.number import FINITE, Bits, Codes, end_to_end, take
from convcheck.numerics.order import around, special_codes
from convcheck.rules.causes import Cause
from convcheck.rules.model import Case, Spec
from convcheck.semantics.answers_at import points_of
from convcheck.semantics.body import compile_calls, wrong_calls
from convcheck.semantics.compile import readings_at
from convcheck.semantics.evaluate import evaluate
from convcheck.semantics.expected import (
    EXACT,
    REFUSED,
    UNDEFINED,
    Call,
    CallReading,
    Reading,
    WrongCall,
)
from convcheck.semantics.program import Program
from convcheck.vectors.generate import calls_of, expecting
from convcheck.vectors.inputs import boundaries_of, numeric_inputs, text_inputs
from convcheck.vectors.model import CallSet

B = TypeVar("B", bound=NDArray[Any])
_WHOLE = 16  # bits of a source searched in full
_CHUNK = 1 << 14
_KEPT = 32
_EACH = 3
_SPELLED = 1 << 10  # inputs to search if each must be spelled
_ASKED = 1 << 10
_AROUND = 6  # codes at a boundary and next to it, in both signs
_OTHER_SEED = 1  # for texts that differ from the vectors
_ASKED_TEXTS = 1 << 7
_EACH_CALL = 2
_SEEDS = (0, 1)
_UNSEEN = 10  # hold-out elements for each of the vectors
_TURNS = 24
_STEP = 2  # between variations; adjacent codes may be vectors
_PARTS = 13  # of the distance between codes; prime: no midpoint recurs


def telling_inputs(spec: Spec, case: Case, programs: Sequence[Program]) -> Bits:
    """Return defined inputs that programs answer differently."""
    left = list(combinations(range(len(programs)), 2))
    found = [np.zeros(0, case.inputs[0].format.storage)]
    if case.outside or not left:
        return found[0]
    every = _every(case.inputs[0].format, case.outputs[0].format)
    for start in range(0, len(every), _CHUNK):
        codes = every[start : start + _CHUNK]
        points = points_of(case, codes)
        given = [readings_at(program, points)[0] for program in programs]
        differing = {pair: _differ(case, codes, *(given[n] for n in pair)) for pair in left}
        if not any(mask.any() for mask in differing.values()):
            continue
        decided = _decided(spec, case, codes)
        for pair, mask in differing.items():
            if len(telling := codes[mask & decided]):
                found.append(spread(telling, _EACH))
                left.remove(pair)
        if not left:
            break
    return np.unique(np.concatenate(found))


def unseen_inputs(
    spec: Spec, case: Case, program: Program, seen: Bits, types: Sequence[Format]
) -> Bits:
    """Return defined hold-out inputs: landmarks of all types, boundaries and between them."""
    if case.outside:
        return seen[:0]
    some = _spread_out(case.inputs[0].format, case.outputs[0].format, tuple(types))
    codes = some[~np.isin(some, seen)]
    if not len(codes):
        return codes
    given = readings_at(program, points_of(case, codes))[0]
    return codes[_decides(given) & _decided(spec, case, codes)]


@lru_cache(_KEPT)
def _spread_out(source: Format, target: Format, types: tuple[Format, ...]) -> Bits:
    if isinstance(source, Text):
        return spread(text_inputs(target, "edge", _OTHER_SEED)[0], _ASKED_TEXTS)
    if isinstance(target, Text):
        return spread(_every(source, target), _ASKED_TEXTS)
    if isinstance(target, Float) and source.bits > _WHOLE:
        finer, _, last = boundaries_of(target)
        step = last * _AROUND // _ASKED | 1  # odd: values and midpoints alternate
        magnitudes = np.array(range(0, last + 1, step), np.uint64)
        every: Bits = around(source, decode_magnitudes(finer, magnitudes))
    else:
        every = _every(source, target)
    some = spread(every, _ASKED)
    return np.unique(np.concatenate([some, _amid(source, target), _notable(source, types)]))


@lru_cache(_KEPT)
def _notable(source: Numeric, types: tuple[Format, ...]) -> Codes:
    numbers = []
    for fmt in types:
        if isinstance(fmt, Float):
            finer, past, _ = boundaries_of(fmt)
            numbers.append(decode_magnitudes(finer, np.array([1, past - 1, past], np.uint64)))
        if not isinstance(fmt, Text):
            special = decode(fmt, special_codes(fmt))
            numbers.append(take(special, np.flatnonzero(special.kind == FINITE)))
    return around(source, end_to_end(numbers))


def spread(bits: B, most: int) -> B:
    """Return at most `most` inputs, evenly spread."""
    if len(bits) <= most:
        return bits
    return cast(B, bits[np.linspace(0, len(bits) - 1, most).astype(np.intp)])


@lru_cache(_KEPT)
def _every(source: Format, target: Format) -> Bits:
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
    """Return codes next to subnormals that would carry with a normal number's precision."""
    wide = replace(target, exponent=11, bias=1023)
    lowest = max(target.lowest_exponent + wide.bias, 1)
    exponents = np.arange(lowest, wide.bias - target.bias + 2, dtype=np.uint64)
    finer, *_ = boundaries_of(wide)
    magnitudes = (exponents << np.uint64(finer.mantissa)) - np.uint64(1)
    return around(source, decode_magnitudes(finer, magnitudes))


@lru_cache(_KEPT)
def _amid(source: Numeric, target: Format) -> Codes:
    """Return codes half-way between adjacent edge inputs of a wide source."""
    if source.bits <= _WHOLE:
        return np.zeros(0, source.storage)
    codes = np.unique(numeric_inputs(source, target, "edge", 0)[0])
    return np.setdiff1d(codes[:-1] + np.diff(codes) // codes.dtype.type(2), codes)


def _decided(spec: Spec, case: Case, codes: Bits) -> Mask:
    readings = evaluate(spec, case, codes).readings
    return reduce(np.logical_and, map(_decides, readings))


def _decides(reading: Reading) -> Mask:
    return np.asarray((reading.patterns != UNDEFINED) & (reading.patterns != REFUSED))


def _differ(case: Case, codes: Bits, one: Reading, other: Reading) -> Mask:
    """Mask defined elements without a common right answer."""
    target = case.outputs[0].format
    if isinstance(target, Text):  # several texts may have one meaning
        source = case.inputs[0].format
        alike = matching(one, other.codes, target, source, codes)
        differ = ~(alike | matching(other, one.codes, target, source, codes))
    else:
        differ = (one.patterns != other.patterns) | np.asarray(one.codes != other.codes)
    return np.asarray(differ & _decides(one) & _decides(other))


def telling_calls(spec: Spec, case: Case, fits: Sequence[Sequence[Cause]]) -> list[Call]:
    """Return calls that wrong implementations answer differently."""
    calls = [call for seed in _SEEDS for call in calls_of(spec, case, "edge", seed)[0]]
    edits = wrong_calls(spec, case, calls)
    made = [one for fit in fits for one in list(edits(tuple(fit)))[:1]]
    found: dict[int, None] = {}
    for one, other in combinations(made, 2):
        if one.key != other.key and not any(_answered_otherwise(one, other, i) for i in found):
            every = [i for i in range(len(calls)) if _answered_otherwise(one, other, i)]
            found.update(dict.fromkeys(spread(np.array(every, np.intp), _EACH_CALL).tolist()))
    return [calls[i] for i in found]


def unseen_calls(spec: Spec, asked: CallSet) -> CallSet:
    """Return defined hold-out calls, with data near and between those of vectors."""
    size = compile_calls(spec, asked.case).size
    sizes = list(map(size, asked.calls))
    left, longest = _UNSEEN * sum(sizes), 2 * max(sizes)
    seen, new = {bytes_of(call) for call in asked.calls}, list[Call]()
    for call in _others(spec, asked):
        if left > 0 and bytes_of(call) not in seen and (some := size(call)) <= max(longest, left):
            seen.add(bytes_of(call))
            new.append(call)
            left -= max(some, 1)
    made = expecting(spec, asked.case, new, asked.coverage)
    undefined = [any(r.pattern == UNDEFINED for r in due.readings) for due in made.expected]
    return made.take(np.flatnonzero(~np.array(undefined, bool)).tolist())


def _others(spec: Spec, asked: CallSet) -> Iterator[Call]:
    if all(len(np.unique(call[0])) == 1 for call in asked.calls):
        yield from calls_of(spec, asked.case, "boundary", _SEEDS[1])[0]
    bits = cast(Numeric, asked.case.inputs[0].format).bits
    for turn in range(1, _TURNS):
        for call in asked.calls:
            data = cast(Codes, call[0])
            near = data.astype(np.uint64) + np.uint64(turn * _STEP)
            yield np.asarray(near & np.uint64((1 << bits) - 1), data.dtype), *call[1:]
        for call in asked.calls:  # part of the way to the call's next code
            data = cast(Codes, call[0])
            codes, kind = np.unique(data), data.dtype.type
            following = codes[np.minimum(np.searchsorted(codes, data) + 1, len(codes) - 1)]
            moved = data + (following - data) // kind(_PARTS) * kind(turn % _PARTS)
            yield np.asarray(moved, data.dtype), *call[1:]


def bytes_of(call: Call) -> object:
    """Return a key of a call: shapes and contents."""
    return tuple((tensor.shape, tensor.tobytes()) for tensor in call)


def _answered_otherwise(one: WrongCall, other: WrongCall, i: int) -> bool:
    a, b = one.answer(i), other.answer(i)
    return _is_said(a) and _is_said(b) and _content(a) != _content(b)


def _is_said(given: CallReading | None) -> TypeGuard[CallReading]:
    if given is None or given.pattern == UNDEFINED:
        return False
    return not any((output.patterns == UNDEFINED).any() for output in given.outputs)


def _content(given: CallReading) -> object:
    found = []
    for one in given.outputs:
        codes = np.where(one.patterns == EXACT, one.codes, 0)  # NaNs are equal
        found.append((one.dtype.name, one.shape, codes.tobytes(), one.patterns.tobytes()))
    return given.pattern, tuple(found)
