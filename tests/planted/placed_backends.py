"""Identities that are wrong in one placement only, to be cut down to the smallest call."""

from __future__ import annotations

from collections.abc import Sequence

from convcheck.backends.protocol import Answer, Declined, Outputs, Refused
from convcheck.backends.reference import Reference
from convcheck.numerics.format import Bits
from convcheck.rules.model import Case


class Placed:
    """Flips the lowest bit of the last element where `wrong` says so."""

    name = "placed"
    version = "1"

    def wrong(self, shape: tuple[int, ...]) -> bool:
        return False

    def support(self, case: Case) -> Declined | None:
        return None

    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        codes = inputs[0].copy()
        if self.wrong(codes.shape):
            codes.reshape(-1)[-1:] ^= 1
        return Outputs((codes,), ("int8",))


class Scalars(Placed):
    def wrong(self, shape: tuple[int, ...]) -> bool:
        return shape == ()


class OddTail(Placed):
    """A tail of one after vectors of eight: 9, 17, 25 elements."""

    def wrong(self, shape: tuple[int, ...]) -> bool:
        return len(shape) == 1 and shape[0] > 8 and shape[0] % 8 == 1


class Short(Placed):
    def wrong(self, shape: tuple[int, ...]) -> bool:
        return len(shape) == 1 and 1 < shape[0] < 5


class FourD(Placed):
    def wrong(self, shape: tuple[int, ...]) -> bool:
        return len(shape) == 4 and shape[1] > 1


class RefusesEmpty(Placed):
    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        return super().answer(case, inputs) if inputs[0].size else Refused("no elements")


class Mixed(Placed):
    """Flips the lowest bit of the codes below 8: where both are a reading, each alone is right."""

    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        codes = inputs[0].copy()
        codes[codes < 8] ^= 1
        return Outputs((codes,), ("int8",))


class Halves(Reference):
    """Of a call, spoils the first output where a tensor has at least four elements."""

    name = "halves"

    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        answer = super().answer(case, inputs)
        if isinstance(answer, Outputs) and inputs[0].size >= 4:
            codes = answer.arrays[0].copy()
            codes.reshape(-1)[-1:] ^= 1
            return Outputs((codes, *answer.arrays[1:]), answer.types)
        return answer
