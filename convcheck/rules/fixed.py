"""Cases of whole calls in which all inputs but the first have one value: conversions of the first.

Such a case is asked element by element, like a cast, and all codes of its source can be asked. A
backend is asked `Case.call`, with the values for the other inputs.
"""

from __future__ import annotations

from typing import cast

import numpy as np

from convcheck.numerics.codes import Bits
from convcheck.numerics.format import Numeric
from convcheck.numerics.words import code_of
from convcheck.rules.model import Case, Layout


def fixes_all(layout: Layout) -> bool:
    """Return whether a layout has a vector, and one element of each other input."""
    (_, first), *others = layout.shapes
    return bool(others) and len(first) == 1 and not any(dims for _, dims in others)


def fixed_tensors(case: Case) -> list[Bits]:
    """Return what a backend gets for the inputs that are fixed: tensors of one code, of rank 0.
    Those of a chain are parts of its graph.
    """
    both = () if not case.fixed or case.is_pair else zip(case.inputs[1:], case.fixed, strict=True)
    return [
        np.array(code_of(cast(Numeric, dtype.format), word)[0], dtype.format.storage)
        for dtype, (_, word) in both
    ]
