"""Backends that misbehave in whole calls: they count from 0, to as many as they are told.

Open one by 'tests.planted.bad_callers:Name'.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Sequence

import numpy as np

from convcheck.backends.protocol import Answer, Declined, Outputs, Oversized, Refused
from convcheck.numerics.codes import Bits
from convcheck.rules.model import Case

BAD = 7  # the length on which most of them misbehave


class Good:
    """Counts. The others are this, but for one thing."""

    name = "planted"
    version = "1"

    def support(self, case: Case) -> Declined | None:
        return None

    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        length = int(inputs[0][()])
        numbers = np.arange(length, dtype=np.uint8)
        return self.bad(length, numbers) if self.is_bad(length) else self.good(numbers)

    def is_bad(self, length: int) -> bool:
        return length == BAD

    def good(self, *numbers: Bits) -> Answer:
        return Outputs(numbers, ("int8",) * len(numbers))

    def bad(self, length: int, numbers: Bits) -> Answer:
        return self.good(numbers)


def die(number: int) -> Answer:
    os.kill(os.getpid(), number)
    time.sleep(60)
    raise AssertionError


# Deaths


class Segfault(Good):
    def bad(self, length: int, numbers: Bits) -> Answer:
        return die(signal.SIGSEGV)


class Abort(Good):
    def bad(self, length: int, numbers: Bits) -> Answer:
        print("terminate called after throwing an instance of 'int'", file=sys.stderr, flush=True)
        return die(signal.SIGABRT)


class Exits(Good):
    def bad(self, length: int, numbers: Bits) -> Answer:
        os._exit(3)


class DiesOnTwo(Segfault):
    def is_bad(self, length: int) -> bool:
        return length in (4, BAD)


class DiesAlways(Segfault):
    def is_bad(self, length: int) -> bool:
        return True


class DiesThenDeclines(Segfault):
    def is_bad(self, length: int) -> bool:
        return length == 0

    def good(self, *numbers: Bits) -> Answer:
        return Declined("no kernel", missing=True)


class AfterManyCalls(Segfault):
    """Stateful: dies in its tenth call, whatever it is."""

    calls = 0

    def is_bad(self, length: int) -> bool:
        self.calls += 1
        return self.calls == 10


class Hangs(Good):
    def bad(self, length: int, numbers: Bits) -> Answer:
        time.sleep(600)
        raise AssertionError


class HangsAlways(Hangs):
    def is_bad(self, length: int) -> bool:
        return True


class Raises(Good):
    def bad(self, length: int, numbers: Bits) -> Answer:
        raise ValueError("a fault of the adapter")


# Malformed answers


class Garbage(Good):
    def bad(self, length: int, numbers: Bits) -> Answer:
        return 42  # type: ignore[return-value]


class Lists(Good):
    def bad(self, length: int, numbers: Bits) -> Answer:
        return Outputs(([1, 2],), ("int8",))  # type: ignore[arg-type]


class Nothing(Good):
    def bad(self, length: int, numbers: Bits) -> Answer:
        return Outputs(None, ("int8",))  # type: ignore[arg-type]


class Floats(Good):
    def bad(self, length: int, numbers: Bits) -> Answer:
        return self.good(np.full(length, np.nan, np.float32))  # type: ignore[arg-type]


class Objects(Good):
    def bad(self, length: int, numbers: Bits) -> Answer:
        return self.good(np.array(["0"] * length, object))


class Wide(Good):
    def bad(self, length: int, numbers: Bits) -> Answer:
        return self.good(numbers.astype(np.uint32))


class AnotherType(Good):
    def bad(self, length: int, numbers: Bits) -> Answer:
        return Outputs((numbers,), ("int33",))


class TwoOutputs(Good):
    def bad(self, length: int, numbers: Bits) -> Answer:
        return self.good(numbers, numbers)


class NoOutputs(Good):
    def bad(self, length: int, numbers: Bits) -> Answer:
        return self.good()


class NoTypes(Good):
    def bad(self, length: int, numbers: Bits) -> Answer:
        return Outputs((numbers,), ())


class OneTooMany(Good):
    def bad(self, length: int, numbers: Bits) -> Answer:
        return self.good(np.arange(length + 1, dtype=np.uint8))


class OneTooFew(Good):
    def bad(self, length: int, numbers: Bits) -> Answer:
        return self.good(numbers[:-1])


class Empty(Good):
    def bad(self, length: int, numbers: Bits) -> Answer:
        return self.good(numbers[:0])


class Matrix(Good):
    def bad(self, length: int, numbers: Bits) -> Answer:
        return self.good(numbers.reshape(1, -1))


class LastWrong(Good):
    def bad(self, length: int, numbers: Bits) -> Answer:
        return self.good(np.where(numbers == length - 1, 99, numbers).astype(np.uint8))


class Huge(Good):
    def bad(self, length: int, numbers: Bits) -> Answer:
        return Oversized(((1 << 40,),), ("int8",))


class HugeAllTheSame(Good):
    """Fetches what it should not: of 2^40 elements, though they take no memory."""

    def bad(self, length: int, numbers: Bits) -> Answer:
        return self.good(np.broadcast_to(np.uint8(0), (1 << 40,)))


class Refuses(Good):
    def bad(self, length: int, numbers: Bits) -> Answer:
        return Refused("not seven")


class DeclinesLater(Good):
    def bad(self, length: int, numbers: Bits) -> Answer:
        return Declined("no seven")


class Scribbles(Good):
    """Writes into what it was given."""

    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        answer = super().answer(case, inputs)
        inputs[0][()] = 99
        return answer
