"""Misbehaving backends that count to a given length, by 'tests.planted.bad_callers:Name'."""

import os
import time

import numpy as np
from planted.bad_backends import abort, segfault

from convcheck.backends.protocol import Declined, Outputs, Oversized, Refused

BAD = 7  # the length on which most of them misbehave


class Good:
    """Counts. The others deviate from this once."""

    name = "planted"
    version = "1"

    def support(self, case):
        return None

    def answer(self, case, inputs):
        length = int(inputs[0][()])
        numbers = np.arange(length, dtype=np.uint8)
        return self.bad(numbers) if self.is_bad(length) else self.good(numbers)

    def is_bad(self, length):
        return length == BAD

    def good(self, numbers):
        return given(numbers)

    def bad(self, numbers):
        return self.good(numbers)


def given(*arrays):
    return Outputs(arrays, ("int8",) * len(arrays))


def on(bad, is_bad=lambda length: length == BAD):
    class Bad(Good):
        def is_bad(self, length):
            return is_bad(length)

        def bad(self, numbers):
            return bad(numbers)

    return Bad


# Crashes

Segfault = on(lambda numbers: segfault())
Abort = on(lambda numbers: abort())
Exits = on(lambda numbers: os._exit(3))
DiesOnTwo = on(lambda numbers: segfault(), lambda length: length in (4, BAD))
DiesAlways = on(lambda numbers: segfault(), lambda length: True)
Hangs = on(lambda numbers: time.sleep(600))
HangsAlways = on(lambda numbers: time.sleep(600), lambda length: True)


class DiesThenDeclines(on(lambda numbers: segfault(), lambda length: length == 0)):
    def good(self, numbers):
        return Declined("no kernel", missing=True)


class AfterManyCalls(Segfault):
    calls = 0

    def is_bad(self, length):
        self.calls += 1
        return self.calls == 10


class Raises(Good):
    def bad(self, numbers):
        raise ValueError("a fault of the adapter")


# Malformed answers

Garbage = on(lambda numbers: 42)
Lists = on(lambda numbers: given([1, 2]))
Nothing = on(lambda numbers: Outputs(None, ("int8",)))
Floats = on(lambda numbers: given(np.full(len(numbers), np.nan, np.float32)))
Objects = on(lambda numbers: given(np.array(["0"] * len(numbers), object)))
Wide = on(lambda numbers: given(numbers.astype(np.uint32)))
AnotherType = on(lambda numbers: Outputs((numbers,), ("int33",)))
TwoOutputs = on(lambda numbers: given(numbers, numbers))
NoOutputs = on(lambda numbers: given())
NoTypes = on(lambda numbers: Outputs((numbers,), ()))
OneTooMany = on(lambda numbers: given(np.arange(len(numbers) + 1, dtype=np.uint8)))
OneTooFew = on(lambda numbers: given(numbers[:-1]))
Empty = on(lambda numbers: given(numbers[:0]))
Matrix = on(lambda numbers: given(numbers.reshape(1, -1)))
LastWrong = on(lambda n: given(np.where(n == len(n) - 1, 99, n).astype(np.uint8)))
Huge = on(lambda numbers: Oversized(((1 << 40,),), ("int8",)))
# fetched though it should not: it takes no memory
HugeAllTheSame = on(lambda numbers: given(np.broadcast_to(np.uint8(0), (1 << 40,))))
Refuses = on(lambda numbers: Refused("not seven"))
DeclinesLater = on(lambda numbers: Declined("no seven"))


class Scribbles(Good):
    def answer(self, case, inputs):
        answer = super().answer(case, inputs)
        inputs[0][()] = 99
        return answer
