"""What a format can hold that has one expected value an element, and knows no patterns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from convcheck.numerics.codes import Bits
from convcheck.numerics.format import Float, Format
from convcheck.semantics.expected import ANY_NAN, EXACT
from convcheck.semantics.expected_calls import ExpectedCall
from convcheck.vectors.model import VectorSet


def settled(vectors: VectorSet) -> NDArray[np.bool_]:
    """Return which elements have one expectation under all readings: a code, or any NaN."""
    readings = vectors.expected.readings
    found = np.isin(readings[0].patterns, (EXACT, ANY_NAN))
    for reading in readings[1:]:
        found &= reading.patterns == readings[0].patterns
        same = np.asarray(reading.codes == readings[0].codes, bool)
        found &= same | (reading.patterns == ANY_NAN)
    return np.asarray(found)


def due(fmt: Format, codes: Bits, patterns: NDArray[np.uint8]) -> Bits:
    """Return the codes, with a NaN where any will do."""
    filled = codes.copy()
    if isinstance(fmt, Float):
        filled[patterns == ANY_NAN] = fmt.nan_code
    return filled


def outputs_of(expected: ExpectedCall) -> Sequence[Bits] | None:
    """Return the outputs of a call where they are settled, in their shapes; None where not."""
    first, *others = expected.readings
    if others or first.pattern != EXACT:
        return None
    if not all(np.isin(d.patterns, (EXACT, ANY_NAN)).all() for d in first.outputs):
        return None
    return [due(d.dtype.format, d.codes, d.patterns).reshape(d.shape) for d in first.outputs]
