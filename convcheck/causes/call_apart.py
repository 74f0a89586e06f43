"""Causes of whole calls that fit -> a few on which they differ, and some besides the vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import TypeGuard, cast

import numpy as np

from convcheck.numerics.codes import Codes
from convcheck.numerics.format import Numeric
from convcheck.rules.causes import Cause
from convcheck.rules.model import Case, Spec
from convcheck.semantics.body import wrong_calls
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

_EACH = 2  # calls that are named for two causes
_SEEDS = (0, 1)  # by which the calls are made that are looked at
_UNSEEN = 12  # calls of each sort that are asked besides the vectors
_STEP = 2  # codes from those of a vector to others near it: the next ones may be asked as well


def telling_calls(spec: Spec, case: Case, fits: Sequence[Sequence[Cause]]) -> list[Call]:
    """Return calls to which wrong implementations give different answers."""
    calls = [call for seed in _SEEDS for call in calls_of(spec, case, "edge", seed)[0]]
    edits = wrong_calls(spec, case, calls)
    made = [one for fit in fits for one in list(edits(tuple(fit)))[:1]]
    found: dict[int, None] = {}
    for one, other in combinations(made, 2):
        if one.key != other.key and not any(_differ(one, other, i) for i in found):
            found.update(dict.fromkeys(_differing(one, other, len(calls))))
    return [calls[i] for i in found]


def unseen_calls(spec: Spec, asked: CallSet) -> CallSet:
    """Return a few calls of a case that are none of those asked, and of which the rules say what
    becomes: with other data, near that of the vectors and between it. Where the data is one number,
    they are made by another seed.
    """
    seen = {_key(call) for call in asked.calls}
    some = [call for call in _spread(asked.calls, _UNSEEN) if len(np.unique(call[0])) > 1]
    other = [*(_near(asked.case, call) for call in some), *map(_amid, some)]
    every = other or calls_of(spec, asked.case, "edge", _SEEDS[1])[0]
    new = [call for call in every if _key(call) not in seen]
    made = expecting(spec, asked.case, _spread(new, 2 * _UNSEEN), asked.coverage)
    said = [i for i, due in enumerate(made.expected) if _is_decided(due)]
    return replace(
        made,
        calls=tuple(made.calls[i] for i in said),
        expected=tuple(made.expected[i] for i in said),
    )


def _spread(calls: Sequence[Call], most: int) -> list[Call]:
    """Return so many calls at most, spread over all of them."""
    places = np.unique(np.linspace(0, len(calls) - 1, min(most, len(calls))).astype(np.intp))
    return [calls[place] for place in places]


def _near(case: Case, call: Call) -> Call:
    """Return a call with other data, a few codes from that which there is, and else as it is."""
    data, others = cast(Codes, call[0]), call[1:]
    mask = data.dtype.type((1 << cast(Numeric, case.inputs[0].format).bits) - 1)
    return ((data + data.dtype.type(_STEP)) & mask, *others)


def _amid(call: Call) -> Call:
    """Return a call with other data, half-way between the codes that there are, and else as it
    is.
    """
    data, others = cast(Codes, call[0]), call[1:]
    codes = np.unique(data)
    following = codes[np.minimum(np.searchsorted(codes, data) + 1, len(codes) - 1)]
    return (data + (following - data) // codes.dtype.type(2), *others)


def _key(call: Call) -> object:
    return tuple((tensor.shape, tensor.tobytes()) for tensor in call)


def _is_decided(due: ExpectedCall) -> bool:
    return all(reading.pattern != UNDEFINED for reading in due.readings)


def _differing(one: WrongCall, other: WrongCall, count: int) -> list[int]:
    every = [i for i in range(count) if _differ(one, other, i)]
    places = np.linspace(0, len(every) - 1, min(_EACH, len(every))).astype(np.intp)
    return [every[place] for place in dict.fromkeys(places.tolist())]


def _differ(one: WrongCall, other: WrongCall, i: int) -> bool:
    """Return whether both say what a call gives, and no answer is both."""
    a, b = one.answer(i), other.answer(i)
    return _is_said(a) and _is_said(b) and _content(a) != _content(b)


def _is_said(given: CallReading | None) -> TypeGuard[CallReading]:
    if given is None or given.pattern == UNDEFINED:
        return False
    return not any((output.patterns == UNDEFINED).any() for output in given.outputs)


def _content(given: CallReading) -> object:
    """Return all of an answer that can be compared."""
    return given.pattern, tuple(map(_of_output, given.outputs))


def _of_output(output: ExpectedOutput) -> object:
    codes = np.where(output.patterns == EXACT, output.codes, 0)  # any NaN is any NaN
    return output.dtype.name, output.shape, codes.tobytes(), output.patterns.tobytes()
