"""Identities that are wrong in one placement only, for reduction to the smallest call."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Sequence
from dataclasses import replace

from convcheck.backends.protocol import Answer, Declined, Outputs, Refused
from convcheck.backends.reference import Reference
from convcheck.numerics.codes import Bits
from convcheck.rules.model import Case


class Placed:
    """An identity. The others deviate from this once."""

    name = "placed"
    version = "1"

    def support(self, case: Case) -> Declined | None:
        return None

    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        return Outputs((self.changed(inputs[0].copy()),), ("int8",))

    def changed(self, codes: Bits) -> Bits:
        return codes


def changes(change: Callable[[Bits], Bits]) -> type[Placed]:
    class Changes(Placed):
        def changed(self, codes: Bits) -> Bits:
            return change(codes)

    return Changes


def wrong_where(wrong: Callable[[tuple[int, ...]], bool]) -> type[Placed]:
    return changes(lambda codes: flipped(codes, codes.size - 1) if wrong(codes.shape) else codes)


def flipped(codes: Bits, first: int) -> Bits:
    """Flip the lowest bits from an element on."""
    codes.reshape(-1)[max(first, 0) :] ^= 1
    return codes


def by_columns(codes: Bits) -> Bits:
    return codes.reshape(codes.shape[::-1]).T.copy() if codes.ndim == 2 else codes


def reversed_in(rank: int) -> Callable[[Bits], Bits]:
    return lambda codes: codes.reshape(codes.shape[::-1]) if codes.ndim == rank else codes


Scalars = wrong_where(lambda shape: shape == ())
# a tail of one after vectors of eight: 9, 17, 25 elements
OddTail = wrong_where(lambda shape: len(shape) == 1 and shape[0] > 8 and shape[0] % 8 == 1)
FourD = wrong_where(lambda shape: len(shape) == 4 and shape[1] > 1)
Transposed = changes(by_columns)
Reversed = changes(reversed_in(3))
Reversed4 = changes(reversed_in(4))
Squeezed = changes(lambda codes: codes.squeeze() if codes.size > 1 else codes)
# each alone is right, since both are a reading
Mixed = changes(lambda codes: codes ^ (codes < 8))


class PastLoop(Placed):
    """A vector loop from 1,024 elements on, which spoils the remainder."""

    begin = 1024

    def changed(self, codes: Bits) -> Bits:
        return flipped(codes, self.begin)


class PastThread(PastLoop):
    """A second thread that starts at 65,536 elements."""

    begin = 65_536


class PastLoopDies(PastLoop):
    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        if inputs[0].size > self.begin:
            os.kill(os.getpid(), signal.SIGSEGV)
        return super().answer(case, inputs)


class PastThreadDies(PastLoopDies):
    begin = 65_536


class After100(Placed):
    calls = 0

    def changed(self, codes: Bits) -> Bits:
        self.calls += 1
        return flipped(codes, codes.size - 1) if self.calls > 100 else codes


class RefusesLarge(Placed):
    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        large = inputs[0].size > 1024
        return Refused("too many elements") if large else super().answer(case, inputs)


class Old(PastLoop):
    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        later = case.version > 19
        return Declined("the opset is later") if later else super().answer(case, inputs)


class CoarseCache(Reference):
    """Caches by types, ignoring attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.made: dict[object, Case] = {}

    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        made = self.made.setdefault((case.spec, case.inputs, case.outputs), case)
        return super().answer(made, inputs)


class AttributeIgnored(Reference):
    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        attributes = tuple((name, 1) for name, _ in case.attributes)
        return super().answer(replace(case, attributes=attributes), inputs)


class LatestDies(PastLoop):
    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        if case.version == 21:
            os.kill(os.getpid(), signal.SIGSEGV)
        return super().answer(case, inputs)


class RefusesEmpty(Placed):
    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        return super().answer(case, inputs) if inputs[0].size else Refused("no elements")


class Halves(Reference):
    name = "halves"

    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        answer = super().answer(case, inputs)
        if isinstance(answer, Outputs) and inputs[0].size >= 4:
            codes = answer.arrays[0].copy()
            codes.reshape(-1)[-1:] ^= 1
            return Outputs((codes, *answer.arrays[1:]), answer.types)
        return answer
