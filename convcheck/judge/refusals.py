"""What declining or refusing to answer means: the one place that decides it.

A backend *declines* a case that it cannot be asked, and *refuses* inputs that it was asked. To
decline is a refusal, too, where a refusal is due, or accepted, or an answer like others.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from convcheck.backends.protocol import Declined
from convcheck.judge.answers import NOT_ASKED, Answers, CallAnswers
from convcheck.judge.answers import REFUSED as WAS_REFUSED
from convcheck.records import replace
from convcheck.rules.model import Case
from convcheck.semantics.expected import REFUSED, UNDEFINED, Reading
from convcheck.semantics.expected_calls import CallReading
from convcheck.vectors.model import CallSet, Vectors

A = TypeVar("A", Answers, CallAnswers)


def cannot_be_put(declined: Declined) -> bool:
    """Return whether a case was declined since the question cannot be put: nothing can be due."""
    return declined.missing


def is_refusal(vectors: Vectors, declined: Declined) -> bool:
    """Return whether declining a case is a refusal of its model, not a question that could not be
    put. Where the type of the output is what is asked, to turn the types down is an answer.
    """
    if cannot_be_put(declined) or not len(vectors):
        return False
    return is_due(vectors) or is_accepted(vectors.case) or not vectors.case.outputs


def is_accepted(case: Case) -> bool:
    """Return whether a refusal of a case's inputs is accepted, whatever is due. It is recorded as
    undefined.
    """
    return case.refusal


def is_due(vectors: Vectors) -> bool:
    """Return whether every input is to be refused, by the first reading of its rule."""
    if isinstance(vectors, CallSet):
        return all(wants_refusal(each.readings[0]) for each in vectors.expected)
    return bool((vectors.expected.readings[0].patterns == REFUSED).all())


def wants_refusal(reading: CallReading) -> bool:
    """Return whether a reading of a call's rule wants it to be refused."""
    return reading.pattern == REFUSED


def may_refuse(case: Case, reading: Reading) -> NDArray[np.bool_]:
    """Tell of which elements a refusal is no failure: those that are to be refused, of which
    nothing is defined, or of whose case a refusal is accepted. Of shape (n,).
    """
    if is_accepted(case):
        return np.ones(reading.patterns.shape, bool)
    return np.asarray((reading.patterns == REFUSED) | (reading.patterns == UNDEFINED))


def all_refused(answers: A, message: str) -> A:
    """Return answers to a model that was turned down whatever the values: every element is refused,
    or the first call.
    """
    state = np.full(len(answers.state), WAS_REFUSED, np.uint8)
    if isinstance(answers, CallAnswers):
        state[1:] = NOT_ASKED
    return replace(answers, state=state, messages={0: message}, declined=None)
