"""Select the answers that causes have to explain."""

from __future__ import annotations

from functools import reduce

import numpy as np
from numpy.typing import NDArray

from convcheck.judge.answers import ANSWERED, CRASHED, NOT_ASKED, REFUSED, Answers, Elsewhere
from convcheck.judge.matching import Mask, matching
from convcheck.judge.refusals import is_accepted
from convcheck.numerics.codes import Bits
from convcheck.records import replace
from convcheck.semantics.expected import UNDEFINED
from convcheck.vectors.model import VectorSet

LANES = 64  # elements of a vector register at most
_NOT_WHOLE = ("alone", "odd tail", "short")  # placements with elements outside whole vectors


def with_elsewhere(vectors: VectorSet, answers: Answers) -> tuple[VectorSet, Answers, bool]:
    """Append right answers of other placements to vectors and answers.

    A NaN has several right answers, and a cause must give them all. The third result is whether
    some of them are wrong in bulk: then the fault is in whole vectors only.
    """
    whole, others = False, list[Elsewhere]()
    for other in answers.elsewhere:
        wrong = ~_right(vectors, other.index, answers.got[other.index])
        if other.placement in _NOT_WHOLE and _right(vectors, other.index, other.got).all():
            whole |= bool(wrong.any())
            other = replace(other, index=other.index[~wrong], got=other.got[~wrong])
        others.append(other)
    answers = replace(answers, elsewhere=tuple(others))
    kept = [other for other in others if _right(vectors, other.index, other.got).all()]
    if not kept:
        return vectors, answers, whole
    index = np.concatenate([np.arange(len(answers.got)), *(other.index for other in kept)])
    taken = tuple(bits[index] for bits in vectors.inputs)
    got = np.concatenate([answers.got, *(other.got for other in kept)])
    left = tuple(other for other in answers.elsewhere if other not in kept)
    state = np.concatenate([answers.state, np.full(len(got) - len(answers.got), ANSWERED)])
    more = replace(answers, got=got, state=state.astype(np.uint8), elsewhere=left)
    return replace(vectors, inputs=taken, expected=vectors.expected.take(index)), more, whole


def _right(vectors: VectorSet, index: NDArray[np.intp], got: Bits) -> Mask:
    case, bits = vectors.case, vectors.inputs[0][index]
    ends = case.outputs[0].format, case.inputs[0].format
    due = vectors.expected.take(index).readings
    return max((matching(each, got, *ends, bits) for each in due), key=np.count_nonzero)


def without_tail(index: NDArray[np.intp], right: Mask) -> NDArray[np.intp]:
    """Return elements without right answers at the end, which may be outside whole vectors."""
    return index[~(right & (np.arange(len(index)) >= len(index) - LANES))]


def judged_ones(vectors: VectorSet, answers: Answers) -> NDArray[np.intp] | None:
    """Return the indices of defined answers, None if no conversion can be the cause."""
    readings = vectors.expected.readings
    free = reduce(np.logical_or, (r.patterns == UNDEFINED for r in readings))
    free |= is_accepted(vectors.case) & (answers.state == REFUSED)
    index = np.flatnonzero(~free & (answers.state < NOT_ASKED))
    elsewhere = any(np.isin(other.index, index).any() for other in answers.elsewhere)
    crashed = bool((answers.state[index] == CRASHED).any())
    return None if answers.declined or answers.faults or elsewhere or crashed else index
