"""Backends that are right, but raise in one call."""

from __future__ import annotations

from collections.abc import Sequence

from convcheck.backends.protocol import Answer, Outputs
from convcheck.backends.reference import Reference
from convcheck.numerics.codes import Bits
from convcheck.rules.model import Case


class DeltaZero(Reference):
    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        if inputs[2].size and not inputs[2].any():
            raise ZeroDivisionError
        return super().answer(case, inputs)


class DeltaTwo(Reference):
    """Raises in a call of Range with delta 2. With delta 3, its elements are wrong."""

    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        if (inputs[2] == 2).all():
            raise OverflowError
        answer = super().answer(case, inputs)
        if isinstance(answer, Outputs) and (inputs[2] == 3).all():
            return Outputs((answer.arrays[0] ^ 1,), answer.types)
        return answer


class One(Reference):
    """Raises in a call that has the number 1. Turns 2 into 3."""

    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        if (inputs[0] == 1).any():
            raise OverflowError
        answer = super().answer(case, inputs)
        if isinstance(answer, Outputs):
            return Outputs((answer.arrays[0] | (inputs[0] == 2),), answer.types)
        return answer
