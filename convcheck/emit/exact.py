"""Make data sets with one expected value per element."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from convcheck.ask.elements import inputs_at
from convcheck.numerics.codes import Bits
from convcheck.semantics.expected import ANY_NAN, EXACT, Expected
from convcheck.semantics.expected_calls import ExpectedCall, ExpectedOutput
from convcheck.vectors.model import CallSet, Vectors

DataSet = tuple[Sequence[Bits], Sequence[Bits]]  # (inputs, outputs) of a call


def data_sets(vectors: Vectors) -> tuple[list[DataSet], int]:
    """Return data sets of all vectors with one expected value, and the number of these vectors."""
    if isinstance(vectors, CallSet):
        both = zip(vectors.calls, map(_outputs, vectors.expected), strict=True)
        sets: list[DataSet] = [(call, outputs) for call, outputs in both if outputs]
        return sets, len(sets)
    index = np.flatnonzero(_settled(vectors.expected))
    if not len(index):
        return [], 0
    first = vectors.expected.take(index).readings[0]
    due = ExpectedOutput(vectors.case.outputs[0], index.shape, first.codes, first.patterns)
    return [(inputs_at(vectors, index), [due.answer])], len(index)


def _settled(expected: Expected) -> NDArray[np.bool_]:
    """Return the mask of elements with one code, or any NaN, under all readings."""
    first, *others = expected.readings
    found = np.isin(first.patterns, (EXACT, ANY_NAN))
    for reading in others:
        same = np.asarray(reading.codes == first.codes, bool) | (reading.patterns == ANY_NAN)
        found &= (reading.patterns == first.patterns) & same
    return np.asarray(found)


def _outputs(expected: ExpectedCall) -> Sequence[Bits]:
    first, *others = expected.readings
    settled = all(np.isin(due.patterns, (EXACT, ANY_NAN)).all() for due in first.outputs)
    return [due.answer for due in first.outputs] if settled and not others else []
