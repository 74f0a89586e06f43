"""A right backend with one element too many in sequences."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from convcheck.backends.protocol import Answer, Outputs
from convcheck.backends.reference import Reference
from convcheck.numerics.codes import Bits
from convcheck.rules.model import Case


class OneMore(Reference):
    """The reference, repeating the last element of 1-D outputs."""

    name = "one-more"

    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        right = super().answer(case, inputs)
        if not isinstance(right, Outputs):
            return right
        longer = (np.append(a, a[-1:]) if a.ndim == 1 else a for a in right.arrays)
        return Outputs(tuple(longer), right.types)
