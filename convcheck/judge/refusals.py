"""Decide what it means if a backend declines or refuses.

A backend *declines* a case that cannot be sent to it and *refuses* inputs that were sent. Declining
counts as a refusal if a refusal is expected or accepted, or if the output type is the answer.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from convcheck.backends.protocol import Declined
from convcheck.judge.answers import NOT_ASKED, Answers
from convcheck.judge.answers import REFUSED as WAS_REFUSED
from convcheck.records import replace
from convcheck.rules.model import Case
from convcheck.semantics.expected import REFUSED, UNDEFINED, Reading
from convcheck.semantics.expected_calls import CallReading
from convcheck.vectors.model import CallSet, Vectors


def cannot_be_put(declined: Declined) -> bool:
    """Return whether the backend cannot express the case, so nothing can be expected of it."""
    return declined.missing


def is_refusal(vectors: Vectors, declined: Declined) -> bool:
    """Return whether declining a case counts as refusing its model.

    If the output type is the answer, declining the input types is an answer.
    """
    if cannot_be_put(declined) or not len(vectors):
        return False
    return is_due(vectors) or is_accepted(vectors.case) or not vectors.case.outputs


def is_accepted(case: Case) -> bool:
    """Return whether a case accepts refusals of any input. They are recorded as undefined."""
    return case.refusal


def is_due(vectors: Vectors) -> bool:
    """Return whether every input is expected to be refused, by the first reading of its rule."""
    if isinstance(vectors, CallSet):
        return all(wants_refusal(each.readings[0]) for each in vectors.expected)
    return bool((vectors.expected.readings[0].patterns == REFUSED).all())


def wants_refusal(reading: CallReading) -> bool:
    """Return whether a reading expects a refusal."""
    return reading.pattern == REFUSED


def may_refuse(case: Case, reading: Reading) -> NDArray[np.bool_]:
    """Return a mask of elements whose refusal is not a failure, shape (n,)."""
    if is_accepted(case):
        return np.ones(reading.patterns.shape, bool)
    return np.asarray((reading.patterns == REFUSED) | (reading.patterns == UNDEFINED))


def all_refused(vectors: Vectors, answers: Answers, message: str) -> Answers:
    """Return the answers to a rejected model: every element is refused, or the first call."""
    state = np.full(len(answers.state), WAS_REFUSED, np.uint8)
    if isinstance(vectors, CallSet):
        state[1:] = NOT_ASKED
    return replace(answers, state=state, messages={0: message}, declined=None)
