"""Decide what a declined or refused case means.

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
from convcheck.vectors.model import CallSet, Vectors


def is_refusal(vectors: Vectors, declined: Declined) -> bool:
    """Return whether declining a case counts as a refusal."""
    if declined.missing or not len(vectors):
        return False
    return is_due(vectors) or vectors.case.refusal or not vectors.case.outputs


def is_due(vectors: Vectors) -> bool:
    """Return whether the first reading refuses every input."""
    if isinstance(vectors, CallSet):
        return all(each.readings[0].pattern == REFUSED for each in vectors.expected)
    return bool((vectors.expected.readings[0].patterns == REFUSED).all())


def may_refuse(case: Case, reading: Reading) -> NDArray[np.bool_]:
    """Return a mask of elements that may be refused, shape (n,)."""
    if case.refusal:
        return np.ones(reading.patterns.shape, bool)
    return np.asarray((reading.patterns == REFUSED) | (reading.patterns == UNDEFINED))


def all_refused(vectors: Vectors, answers: Answers, message: str) -> Answers:
    """Return the answers to a rejected model: every element, or the first call, is refused."""
    state = np.full(len(answers.state), WAS_REFUSED, np.uint8)
    if isinstance(vectors, CallSet):
        state[1:] = NOT_ASKED
    return replace(answers, state=state, messages={0: message}, declined=None)
