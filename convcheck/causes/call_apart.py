"""Find calls that discriminate between causes, and hold-out calls."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import TypeGuard, cast

import numpy as np

from convcheck.numerics.codes import Codes
from convcheck.numerics.format import Numeric
from convcheck.rules.causes import Cause
from convcheck.rules.model import Case, Spec
from convcheck.semantics.body import compile_calls, wrong_calls
from convcheck.semantics.expected import EXACT, UNDEFINED
from convcheck.semantics.expected_calls import (
    Call,
    CallReading,
    ExpectedCall,
    ExpectedOutput,
    WrongCall,
)
from convcheck.vectors.body import calls_of
from convcheck.vectors.calls import expecting
from convcheck.vectors.model import CallSet

_EACH = 2  # calls to tell two causes apart
_SEEDS = (0, 1)  # seeds of the calls to search
_UNSEEN = 10  # hold-out elements for each element of the vectors
_TURNS = 24  # variations of the vectors' data
_STEP = 2  # codes from a vector's data to a variation; adjacent codes may be vectors too
_PARTS = 13  # of the distance between codes; prime, so that no midpoint recurs


def telling_calls(spec: Spec, case: Case, fits: Sequence[Sequence[Cause]]) -> list[Call]:
    """Return calls for which wrong implementations give different answers."""
    calls = [call for seed in _SEEDS for call in calls_of(spec, case, "edge", seed)[0]]
    edits = wrong_calls(spec, case, calls)
    made = [one for fit in fits for one in list(edits(tuple(fit)))[:1]]
    found: dict[int, None] = {}
    for one, other in combinations(made, 2):
        if one.key != other.key and not any(_differ(one, other, i) for i in found):
            found.update(dict.fromkeys(_differing(one, other, len(calls))))
    return [calls[i] for i in found]


def unseen_calls(spec: Spec, asked: CallSet) -> CallSet:
    """Return defined hold-out calls, with data near and between those of the vectors.

    They have about ten times as many elements.
    """
    size = compile_calls(spec, asked.case).size
    sizes = list(map(size, asked.calls))
    left, longest = _UNSEEN * sum(sizes), 2 * max(sizes)
    seen, new = {_key(call) for call in asked.calls}, list[Call]()
    for call in _others(spec, asked):
        if left > 0 and _key(call) not in seen and (some := size(call)) <= max(longest, left):
            seen.add(_key(call))
            new.append(call)
            left -= max(some, 1)
    made = expecting(spec, asked.case, new, asked.coverage)
    said = [i for i, due in enumerate(made.expected) if _is_decided(due)]
    return replace(
        made,
        calls=tuple(made.calls[i] for i in said),
        expected=tuple(made.expected[i] for i in said),
    )


def _others(spec: Spec, asked: CallSet) -> Iterator[Call]:
    """Yield the calls with other data.

    If all data are single numbers, start with calls of another seed.
    """
    if all(len(np.unique(call[0])) == 1 for call in asked.calls):
        yield from calls_of(spec, asked.case, "boundary", _SEEDS[1])[0]
    for turn in range(1, _TURNS):
        yield from (_near(asked.case, call, turn * _STEP) for call in asked.calls)
        yield from (_amid(call, turn) for call in asked.calls)


def _near(case: Case, call: Call, step: int) -> Call:
    data, others = cast(Codes, call[0]), call[1:]
    bits = cast(Numeric, case.inputs[0].format).bits
    moved = (data.astype(np.uint64) + np.uint64(step)) & np.uint64((1 << bits) - 1)
    return (np.asarray(moved, data.dtype), *others)


def _amid(call: Call, turn: int) -> Call:
    data, others = cast(Codes, call[0]), call[1:]
    codes = np.unique(data)
    following = codes[np.minimum(np.searchsorted(codes, data) + 1, len(codes) - 1)]
    part = codes.dtype.type(turn % _PARTS)
    moved = data + (following - data) // codes.dtype.type(_PARTS) * part
    return (np.asarray(moved, data.dtype), *others)


def _key(call: Call) -> object:
    return tuple((tensor.shape, tensor.tobytes()) for tensor in call)


def _is_decided(due: ExpectedCall) -> bool:
    return all(reading.pattern != UNDEFINED for reading in due.readings)


def _differing(one: WrongCall, other: WrongCall, count: int) -> list[int]:
    every = [i for i in range(count) if _differ(one, other, i)]
    places = np.linspace(0, len(every) - 1, min(_EACH, len(every))).astype(np.intp)
    return [every[place] for place in dict.fromkeys(places.tolist())]


def _differ(one: WrongCall, other: WrongCall, i: int) -> bool:
    a, b = one.answer(i), other.answer(i)
    return _is_said(a) and _is_said(b) and _content(a) != _content(b)


def _is_said(given: CallReading | None) -> TypeGuard[CallReading]:
    if given is None or given.pattern == UNDEFINED:
        return False
    return not any((output.patterns == UNDEFINED).any() for output in given.outputs)


def _content(given: CallReading) -> object:
    return given.pattern, tuple(map(_of_output, given.outputs))


def _of_output(output: ExpectedOutput) -> object:
    codes = np.where(output.patterns == EXACT, output.codes, 0)  # NaNs are equal
    return output.dtype.name, output.shape, codes.tobytes(), output.patterns.tobytes()
