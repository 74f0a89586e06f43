"""Which answers to a case its causes are held against."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from convcheck.judge.answers import ANSWERED, CRASHED, NOT_ASKED, REFUSED, Answers, Elsewhere
from convcheck.judge.matching import matching
from convcheck.judge.refusals import is_accepted
from convcheck.semantics.expected import UNDEFINED
from convcheck.vectors.model import VectorSet


def with_elsewhere(vectors: VectorSet, answers: Answers) -> tuple[VectorSet, Answers]:
    """Return vectors and answers with those of other placements behind them, as far as these are
    right: two answers are right of a NaN, and a cause has to give both.
    """
    kept = [other for other in answers.elsewhere if _is_right(vectors, other)]
    if not kept:
        return vectors, answers
    index = np.concatenate([np.arange(len(answers.got)), *(other.index for other in kept)])
    taken = tuple(bits[index] for bits in vectors.inputs)
    got = np.concatenate([answers.got, *(other.got for other in kept)])
    left = tuple(other for other in answers.elsewhere if other not in kept)
    state = np.concatenate([answers.state, np.full(len(got) - len(answers.got), ANSWERED)])
    more = replace(answers, got=got, state=state.astype(np.uint8), elsewhere=left)
    return replace(vectors, inputs=taken, expected=vectors.expected.take(index)), more


def _is_right(vectors: VectorSet, other: Elsewhere) -> bool:
    """Return whether another placement answered something else that is right, under one reading."""
    case, bits = vectors.case, vectors.inputs[0][other.index]
    ends = case.outputs[0].format, case.inputs[0].format
    due = vectors.expected.take(other.index).readings
    return any(bool(matching(each, other.got, *ends, bits).all()) for each in due)


def judged_ones(vectors: VectorSet, answers: Answers) -> NDArray[np.intp] | None:
    """Return the elements whose answers a rule decides; None where it is no conversion's doing."""
    readings = vectors.expected.readings
    free = reduce(np.logical_or, (r.patterns == UNDEFINED for r in readings))
    free |= is_accepted(vectors.case) & (answers.state == REFUSED)
    index = np.flatnonzero(~free & (answers.state < NOT_ASKED))
    elsewhere = any(np.isin(other.index, index).any() for other in answers.elsewhere)
    crashed = bool((answers.state[index] == CRASHED).any())
    return None if answers.declined or answers.faults or elsewhere or crashed else index
