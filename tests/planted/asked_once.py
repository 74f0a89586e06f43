"""A runtime that is asked each element of a case once: what it answered, it answers again.

Each call costs pypto ten milliseconds, and a case is asked in twenty: in other placements, what was
asked in bulk. Who looks into what it answers to elements needs the first answers only.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from convcheck.backends.protocol import Answer, Outputs
from convcheck.backends.pypto.backend import Pypto
from convcheck.numerics.format import Bits
from convcheck.rules.model import Case


class PyptoOnce(Pypto):
    """pypto, with a memory for one case."""

    def __init__(self) -> None:
        super().__init__()
        self._case: Case | None = None
        self._said: dict[int, int] = {}

    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        """Answer from memory where there is every element of a call."""
        if self._case != case:
            self._case, self._said = case, {}
        asked = inputs[0].reshape(-1).tolist()
        if self._said.keys() >= set(asked):
            codes = np.array([self._said[code] for code in asked], case.outputs[0].format.storage)
            return Outputs((codes.reshape(inputs[0].shape),), (case.outputs[0].name,))
        answer = super().answer(case, inputs)
        if isinstance(answer, Outputs) and answer.arrays[0].shape == inputs[0].shape:
            self._said |= zip(asked, answer.arrays[0].reshape(-1).tolist(), strict=True)
        return answer
