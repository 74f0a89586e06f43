"""Backends with varying answers to the same inputs, and a steady one."""

import os
import signal
import time
from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from convcheck.backends.protocol import Answer, Outputs, Oversized, Refused


class Steady:
    name, version = "steady", "1"
    options: Mapping[str, tuple[str, ...]] = {
        "threads": ("1", "2", "4"),
        "optimisation": ("off", "all"),
    }
    # what some count or keep of earlier calls
    calls, before, state = 0, 0, 1

    def __init__(self, choice=None):
        self.choice = {name: values[0] for name, values in self.options.items()}
        self.choice.update(choice or {})

    def configured(self, choice):
        return type(self)({**self.choice, **choice})

    def support(self, case):
        return None

    def answer(self, case, inputs):
        codes = inputs[0].copy()
        self.spoil(codes.reshape(-1), inputs[0])
        return Outputs((codes,), (case.outputs[0].name,))

    def spoil(self, codes, given):
        """Change the answer, of shape (n,), in place."""


def spoiling(spoil, of=Steady):
    class Spoiling(of):
        def spoil(self, codes, given):
            spoil(self, codes, given)

    return Spoiling


def change(codes, where, to=None):
    """Put a code there, or flip the lowest bits."""
    codes[where] = codes[where] ^ 1 if to is None else to


def is_slice(given, of_more):
    return given.base is not None and given.base.size == given.size + of_more


# wrong in a single last element after pairs
OddTail = spoiling(lambda _, codes, given: change(codes, slice(len(codes) // 2 * 2, None)))
ByOptimisation = spoiling(
    lambda me, codes, given: me.choice["optimisation"] == "all" and change(codes, codes == 5, 4)
)
ByAlignment = spoiling(lambda _, codes, given: is_slice(given, 3) and change(codes, codes == 7, 6))


class UndefinedByPlace(Steady):
    """Returns codes from 100 on in vectors of eight, and 0 in the tail."""

    def spoil(self, codes, given):
        tail = codes[len(codes) // 8 * 8 :]
        tail[tail >= 100] = 0


class ByThreads(Steady):
    """Wrong at the start of the second thread's part of a large tensor."""

    def spoil(self, codes, given):
        threads = int(self.choice["threads"])
        if threads > 1 and len(codes) > 1 << 16:
            codes[len(codes) // threads] ^= 1


class ByLuck(Steady):
    def spoil(self, codes, given):
        if (codes == 9).any():
            self.calls += 1
            if self.calls % 2:
                codes[codes == 9] = 8


class ByChance(Steady):
    """Wrong in one element of one call in 16, at random."""

    def spoil(self, codes, given):
        self.state = self.state * 48271 % 2147483647
        if self.state % 16 == 0 and len(codes):
            codes[self.state % len(codes)] ^= 1


class LuckInPieces(Steady):
    """Wrong in the first element of its first call of 33."""

    def spoil(self, codes, given):
        if len(codes) == 33 and not self.calls:
            codes[0] ^= 1
            self.calls = 1


class RefusesPieces(Steady):
    def answer(self, case, inputs):
        if inputs[0].size == 33:
            return Refused("thirty-three of them")
        return super().answer(case, inputs)


class Slow(Steady):
    longest = 0

    def spoil(self, codes, given):
        type(self).longest = max(self.longest, len(codes))
        time.sleep(len(codes) * 1e-4)


class Spoils(Steady):
    """Asks for replacement, and is wrong from its fourth call on."""

    @property
    def broken(self):
        return self.calls > 3

    def spoil(self, codes, given):
        self.calls += 1
        if self.calls > 4:
            codes ^= 1


# Whole calls: they count from 0, as bad_callers do


def length(inputs):
    return int(inputs[0].reshape(-1)[0])


class SteadyCaller(Steady):
    def answer(self, case, inputs):
        numbers = np.arange(length(inputs), dtype=np.uint8)
        self.spoil(numbers, inputs[0])
        return Outputs((numbers,), ("int8",))


class Leftover(SteadyCaller):
    """The third element is left over from the last, longer call."""

    def spoil(self, codes, given):
        if 3 < len(codes) < self.before:
            codes[2] = self.before
        self.before = len(codes)


class KeepsTheLast(SteadyCaller):
    last: Answer | None = None

    def answer(self, case, inputs):
        answer = super().answer(case, inputs)
        if length(inputs) == 5 and self.last is not None:
            return self.last
        self.last = answer
        return answer


# wrong in the last element of the longest calls with four threads
CallsByThreads = spoiling(
    lambda me, codes, given: me.choice["threads"] == "4" and len(codes) > 9 and change(codes, -1),
    SteadyCaller,
)
CallsByAlignment = spoiling(
    lambda _, codes, given: is_slice(given, 1) and change(codes, slice(-1, None)), SteadyCaller
)


class RefusesOptimised(SteadyCaller):
    def answer(self, case, inputs):
        if self.choice["optimisation"] == "all" and length(inputs) == 4:
            return Refused("not four")
        return super().answer(case, inputs)


class FirstOfAll(SteadyCaller):
    def spoil(self, codes, given):
        if not self.calls:
            codes[-1:] ^= 1
        self.calls = 1


class CallsByLuck(SteadyCaller):
    def spoil(self, codes, given):
        self.calls += len(codes) > 5
        if self.calls % 2 and len(codes) > 5:
            codes[-1] ^= 1


class CallsByChance(SteadyCaller):
    def spoil(self, codes, given):
        self.state = self.state * 48271 % 2147483647
        if self.state % 3 == 0 and len(codes):
            codes[-1] ^= self.state % 7 + 1


class RefusesAgain(SteadyCaller):
    again: Answer = Refused("once is enough")

    def answer(self, case, inputs):
        self.calls += length(inputs) == 3
        if self.calls > 1 and length(inputs) == 3:
            return self.again
        return super().answer(case, inputs)


class HugeAgain(RefusesAgain):
    again = Oversized(((1 << 40,),), ("int8",))


class RefusesAlways(SteadyCaller):
    """Refuses a length of 3, returns too much for 4 and no codes for 5; counts how often."""

    asked: ClassVar[list[int]] = []

    def answer(self, case, inputs):
        self.asked.append(length(inputs))
        odd = {
            3: Refused("not three"), 4: HugeAgain.again,
            5: Outputs((np.array([1], np.int8),), ("int8",)),
        }  # fmt: skip
        return odd.get(length(inputs)) or super().answer(case, inputs)


class SpoilsCalls(SteadyCaller, Spoils):
    """As Spoils."""


class DiesAgain(SteadyCaller):
    """Crashes on some lengths after a longer one."""

    deadly: tuple[int, ...] = (7,)

    def spoil(self, codes, given):
        if len(codes) in self.deadly and self.before > len(codes):
            os.kill(os.getpid(), signal.SIGSEGV)
            time.sleep(60)
        self.before = len(codes)


class DiesOfTwoAgain(DiesAgain):
    deadly = (3, 7)


class DiesOptimised(CallsByThreads):
    def spoil(self, codes, given):
        if self.choice["optimisation"] == "all" and len(codes) == 6:
            os.kill(os.getpid(), signal.SIGSEGV)
            time.sleep(60)
        super().spoil(codes, given)
