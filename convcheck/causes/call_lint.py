"""Whether a wrong implementation of whole calls can be seen: it answers some call wrongly."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import gcd

import numpy as np

from convcheck.backends.protocol import Outputs
from convcheck.judge.answers import ANSWERED, CRASHED, CallAnswers
from convcheck.judge.answers import REFUSED as WAS_REFUSED
from convcheck.judge.calls import judged_call
from convcheck.judge.tally import RIGHT
from convcheck.rules.cases import cases, count_cases
from convcheck.rules.causes import Cause
from convcheck.rules.load import Catalog
from convcheck.rules.model import Case, Spec
from convcheck.semantics.body import wrong_calls
from convcheck.semantics.expected import REFUSED, UNDEFINED
from convcheck.semantics.expected_calls import DEADLY, CallReading, WrongCall
from convcheck.vectors.body import calls_of
from convcheck.vectors.calls import expecting
from convcheck.vectors.model import CallSet

_CALLS = 32  # of a case, at least if it has so many


def unseen_in_calls(catalog: Catalog, causes: Sequence[Cause]) -> list[Cause]:
    """Return the causes of whole calls that no call of any case shows."""
    left = list(causes)
    for spec in sorted(catalog.specs.values(), key=count_cases):
        mine = [cause for cause in left if spec.body.whole_calls and _is_of(cause, spec)]
        for case in _scattered(list(cases(spec))) if mine else ():
            seen = _seen(_some_calls(spec, case), spec, mine)
            mine = [cause for cause in mine if cause not in seen]
            left = [cause for cause in left if cause not in seen]
            if not mine:
                break
    return left


def _is_of(cause: Cause, spec: Spec) -> bool:
    """Return whether a spec has the body that a cause edits, and the attributes that it sets."""
    known = {attribute.name for attribute in spec.attributes}
    body = cause.call.body if cause.call else spec.body.name
    return body == spec.body.name and known.issuperset(name for name, _ in cause.under)


def _scattered(listed: Sequence[Case]) -> Iterator[Case]:
    """Yield cases in an order in which neighbours are far apart: they show the same causes."""
    step = next(n for n in range(len(listed) * 5 // 8 or 1, 0, -1) if gcd(n, len(listed)) == 1)
    yield from (listed[i * step % len(listed)] for i in range(len(listed)))


def _some_calls(spec: Spec, case: Case) -> CallSet:
    """Return some calls of a case, spread over all of them."""
    asked, coverage = calls_of(spec, case, "edge", 0)
    step = max(1, len(asked) // _CALLS)
    return expecting(spec, case, asked[::step], coverage)


def _seen(calls: CallSet, spec: Spec, causes: Sequence[Cause]) -> list[Cause]:
    """Return the causes that answer a call wrongly of which a rule says something."""
    edits = wrong_calls(spec, calls.case, calls.calls)
    made = ((cause, next(iter(edits((cause,))), None)) for cause in causes)
    return [cause for cause, candidate in made if candidate and _shows(calls, candidate)]


def _shows(calls: CallSet, candidate: WrongCall) -> bool:
    return any(_is_wrong(calls, i, candidate.answer(i)) for i in range(len(calls)))


def _is_wrong(calls: CallSet, i: int, given: CallReading | None) -> bool:
    if given is None or _leaves_open(given):
        return False
    one = replace(calls, calls=calls.calls[i : i + 1], expected=calls.expected[i : i + 1])
    answers = CallAnswers((_outputs(given),), np.array([_state(given)], np.uint8), {})
    return judged_call(one, answers, 0).sort not in (RIGHT, "undefined")


def _outputs(given: CallReading | None) -> Outputs | None:
    if given is None or not given.outputs:
        return None
    arrays = tuple(output.codes.reshape(output.shape) for output in given.outputs)
    return Outputs(arrays, tuple(output.dtype.name for output in given.outputs))


def _state(given: CallReading | None) -> int:
    if given is DEADLY:
        return CRASHED
    return WAS_REFUSED if given is not None and given.pattern == REFUSED else ANSWERED


def _leaves_open(given: CallReading) -> bool:
    return any((output.patterns == UNDEFINED).any() for output in given.outputs)
