"""Cases of whole calls with one value of each input but the first: conversions of the first.

They are tested element by element, with all codes of the source. A backend gets `Case.call` and the
values of the other inputs.
"""

from __future__ import annotations

from typing import cast

import numpy as np

from convcheck.numerics.format import Numeric
from convcheck.numerics.number import Bits
from convcheck.numerics.words import code_of
from convcheck.rules.model import Case, Layout


def fixes_all(layout: Layout) -> bool:
    """Return whether a layout has a vector and a scalar for each other input."""
    (_, first), *others = layout.shapes
    return bool(others) and len(first) == 1 and not any(dims for _, dims in others)


def fixed_tensors(case: Case) -> list[Bits]:
    """Return the fixed inputs for a backend, tensors of rank 0.

    Empty for a node and its inverse, whose graph contains them.
    """
    both = () if not case.fixed or case.is_pair else zip(case.inputs[1:], case.fixed, strict=True)
    return [
        np.array(code_of(cast(Numeric, dtype.format), word)[0], dtype.format.storage)
        for dtype, (_, word) in both
    ]
