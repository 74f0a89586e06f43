"""Identities that are wrong in one placement only, to be cut down to the smallest call."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from dataclasses import replace

from convcheck.backends.protocol import Answer, Declined, Outputs, Refused
from convcheck.backends.reference import Reference
from convcheck.numerics.codes import Bits
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


class Transposed(Placed):
    """A kernel of rank 2 that goes through the elements by columns."""

    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        codes = inputs[0].copy()
        if codes.ndim == 2:
            codes = codes.reshape(codes.shape[::-1]).T.copy()
        return Outputs((codes,), ("int8",))


class Reversed(Placed):
    """Gives the elements of rank 3 back in a shape that is reversed."""

    rank = 3

    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        codes = inputs[0].copy()
        if codes.ndim == self.rank:
            codes = codes.reshape(codes.shape[::-1])
        return Outputs((codes,), ("int8",))


class Reversed4(Reversed):
    rank = 4


class Squeezed(Placed):
    """Drops dimensions of 1, of what has several elements."""

    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        codes = inputs[0].copy()
        return Outputs((codes.squeeze() if codes.size > 1 else codes,), ("int8",))


class PastLoop(Placed):
    """A loop over vectors that begins at 1,024 elements, and spoils what is behind those."""

    begin = 1024

    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        codes = inputs[0].copy()
        codes.reshape(-1)[self.begin :] ^= 1
        return Outputs((codes,), ("int8",))


class PastThread(PastLoop):
    """A second thread that begins at 65,536 elements."""

    begin = 65_536


class PastLoopDies(PastLoop):
    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        if inputs[0].size > self.begin:
            os.kill(os.getpid(), signal.SIGSEGV)
        return super().answer(case, inputs)


class PastThreadDies(PastLoopDies):
    begin = 65_536


class After100(Placed):
    """Gives up its kernel after a hundred calls of a case, for one that is wrong."""

    calls = 0

    def wrong(self, shape: tuple[int, ...]) -> bool:
        return self.calls > 100

    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        self.calls += 1
        return super().answer(case, inputs)


class RefusesLarge(Placed):
    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        large = inputs[0].size > 1024
        return Refused("too many elements") if large else super().answer(case, inputs)


class Old(PastLoop):
    """A runtime that has no version later than 19, and says so when it is asked."""

    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        later = case.version > 19
        return Declined("the opset is later") if later else super().answer(case, inputs)


class CoarseCache(Reference):
    """Keeps what it made for types, and takes it for the same types with other attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.made: dict[object, Case] = {}

    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        made = self.made.setdefault((case.spec, case.inputs, case.outputs), case)
        return super().answer(made, inputs)


class AttributeIgnored(Reference):
    """Takes the same attributes for all."""

    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        attributes = tuple((name, 1) for name, _ in case.attributes)
        return super().answer(replace(case, attributes=attributes), inputs)


class LatestDies(PastLoop):
    """Dies of every call of version 21."""

    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        if case.version == 21:
            os.kill(os.getpid(), signal.SIGSEGV)
        return super().answer(case, inputs)


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
