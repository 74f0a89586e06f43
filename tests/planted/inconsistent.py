"""Backends that answer the same inputs now this, now that, and one that does not."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from convcheck.backends.protocol import Answer, Declined, Outputs, Oversized, Refused
from convcheck.numerics.codes import Bits
from convcheck.rules.model import Case


class Steady:
    """Gives back what it gets: always the same for the same."""

    name, version = "steady", "1"
    options: Mapping[str, tuple[str, ...]] = {
        "threads": ("1", "2", "4"),
        "optimisation": ("off", "all"),
    }

    def __init__(self, choice: Mapping[str, str] | None = None) -> None:
        self.choice = {name: values[0] for name, values in self.options.items()}
        self.choice.update(choice or {})

    def configured(self, choice: Mapping[str, str]) -> Steady:
        return type(self)({**self.choice, **choice})

    def support(self, case: Case) -> Declined | None:
        return None

    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        codes = inputs[0].copy()
        self.spoil(codes.reshape(-1), inputs[0])
        return Outputs((codes,), (case.outputs[0].name,))

    def spoil(self, codes: Bits, given: Bits) -> None:
        """Change the answer, of shape (n,), in place."""


class OddTail(Steady):
    """Wrong in the last element after pairs, where one is left over."""

    def spoil(self, codes: Bits, given: Bits) -> None:
        if len(codes) % 2:
            codes[-1] ^= 1


class UndefinedByPlace(Steady):
    """Gives codes from 100 on as they are in vectors of eight, and as 0 in the tail after them."""

    def spoil(self, codes: Bits, given: Bits) -> None:
        tail = codes[len(codes) // 8 * 8 :]
        tail[tail >= 100] = 0


class ByThreads(Steady):
    """Wrong where the second thread of several begins, in a large tensor."""

    def spoil(self, codes: Bits, given: Bits) -> None:
        threads = int(self.choice["threads"])
        if threads > 1 and len(codes) > 1 << 16:
            codes[len(codes) // threads] ^= 1


class ByOptimisation(Steady):
    def spoil(self, codes: Bits, given: Bits) -> None:
        if self.choice["optimisation"] == "all":
            codes[codes == 5] = 4


class ByAlignment(Steady):
    def spoil(self, codes: Bits, given: Bits) -> None:
        if given.base is not None and given.base.size == given.size + 3:
            codes[codes == 7] = 6


class ByLuck(Steady):
    """Wrong in every other call that has a 9."""

    calls = 0

    def spoil(self, codes: Bits, given: Bits) -> None:
        if (codes == 9).any():
            self.calls += 1
            if self.calls % 2:
                codes[codes == 9] = 8


class ByChance(Steady):
    """Wrong in one element of one in sixteen calls, whichever they are."""

    state = 1

    def spoil(self, codes: Bits, given: Bits) -> None:
        self.state = self.state * 48271 % 2147483647
        if self.state % 16 == 0 and len(codes):
            codes[self.state % len(codes)] ^= 1


class LuckInPieces(Steady):
    """Wrong in the first element of its first call of 33."""

    called = False

    def spoil(self, codes: Bits, given: Bits) -> None:
        if len(codes) == 33 and not self.called:
            codes[0] ^= 1
            self.called = True


class RefusesPieces(Steady):
    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        if inputs[0].size == 33:
            return Refused("thirty-three of them")
        return super().answer(case, inputs)


class Slow(Steady):
    """Takes a tenth of a millisecond for each element."""

    longest = 0

    def spoil(self, codes: Bits, given: Bits) -> None:
        type(self).longest = max(self.longest, len(codes))
        time.sleep(len(codes) * 1e-4)


class Spoils(Steady):
    """Asks to be replaced, and is wrong from its fourth call on."""

    calls = 0

    @property
    def broken(self) -> bool:
        return self.calls > 3

    def spoil(self, codes: Bits, given: Bits) -> None:
        self.calls += 1
        if self.calls > 4:
            codes ^= 1


# Of whole calls: they count from 0, as bad_callers do


class SteadyCaller(Steady):
    """Counts to as many as it is told: always the same for the same call."""

    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        numbers = np.arange(int(inputs[0].reshape(-1)[0]), dtype=np.uint8)
        self.spoil(numbers, inputs[0])
        return Outputs((numbers,), ("int8",))


class Leftover(SteadyCaller):
    """Has in the third element what the last call, which was longer, left there."""

    before = 0

    def spoil(self, codes: Bits, given: Bits) -> None:
        if 3 < len(codes) < self.before:
            codes[2] = self.before
        self.before = len(codes)


class KeepsTheLast(SteadyCaller):
    """For a length of 5 gives what it gave last, as if that were in its buffer still."""

    last: Answer | None = None

    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        answer = super().answer(case, inputs)
        if int(inputs[0].reshape(-1)[0]) == 5 and self.last is not None:
            return self.last
        self.last = answer
        return answer


class CallsByThreads(SteadyCaller):
    """Wrong in the last element of the longest calls with four threads."""

    def spoil(self, codes: Bits, given: Bits) -> None:
        if self.choice["threads"] == "4" and len(codes) > 9:
            codes[-1] ^= 1


class RefusesOptimised(SteadyCaller):
    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        if self.choice["optimisation"] == "all" and int(inputs[0].reshape(-1)[0]) == 4:
            return Refused("not four")
        return super().answer(case, inputs)


class FirstOfAll(SteadyCaller):
    """Wrong in its very first call, whatever its options."""

    called = False

    def spoil(self, codes: Bits, given: Bits) -> None:
        if not self.called:
            codes[-1:] ^= 1
        self.called = True


class CallsByLuck(SteadyCaller):
    """Wrong in every other call, of any length, from six on."""

    calls = 0

    def spoil(self, codes: Bits, given: Bits) -> None:
        self.calls += len(codes) > 5
        if self.calls % 2 and len(codes) > 5:
            codes[-1] ^= 1


class CallsByChance(SteadyCaller):
    """Wrong in a third of all calls, whichever they are."""

    state = 1

    def spoil(self, codes: Bits, given: Bits) -> None:
        self.state = self.state * 48271 % 2147483647
        if self.state % 3 == 0 and len(codes):
            codes[-1] ^= self.state % 7 + 1


class CallsByAlignment(SteadyCaller):
    def spoil(self, codes: Bits, given: Bits) -> None:
        if given.base is not None and given.base.size == given.size + 1:
            codes[-1:] ^= 1


class RefusesAgain(SteadyCaller):
    """Refuses a length of 3 but for the first time."""

    times = 0

    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        length = int(inputs[0].reshape(-1)[0])
        self.times += length == 3
        return Refused("once is enough") if self.times > 1 and length == 3 else super().answer(
            case, inputs
        )  # fmt: skip


class HugeAgain(SteadyCaller):
    """Has more than is fetched, for a length of 3, but for the first time."""

    times = 0

    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        length = int(inputs[0].reshape(-1)[0])
        self.times += length == 3
        if self.times > 1 and length == 3:
            return Oversized(((1 << 40,),), ("int8",))
        return super().answer(case, inputs)


class RefusesAlways(SteadyCaller):
    """Refuses a length of 3, gives too much for 4 and no codes for 5; counts how often."""

    asked: ClassVar[list[int]] = []

    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        length = int(inputs[0].reshape(-1)[0])
        self.asked.append(length)
        if length == 5:
            return Outputs((np.array([1], np.int8),), ("int8",))  # type: ignore[arg-type]
        huge = Oversized(((1 << 40,),), ("int8",))
        odd: dict[int, Answer] = {3: Refused("not three"), 4: huge}
        return odd.get(length) or super().answer(case, inputs)


class SpoilsCalls(SteadyCaller, Spoils):
    """As Spoils."""


class DiesAgain(SteadyCaller):
    """Dies of some lengths after a longer one."""

    deadly: tuple[int, ...] = (7,)
    before = 0

    def spoil(self, codes: Bits, given: Bits) -> None:
        if len(codes) in self.deadly and self.before > len(codes):
            os.kill(os.getpid(), signal.SIGSEGV)
            time.sleep(60)
        self.before = len(codes)


class DiesOfTwoAgain(DiesAgain):
    deadly = (3, 7)


class DiesOptimised(CallsByThreads):
    """Dies of a length of 6 where it is optimised, too."""

    def spoil(self, codes: Bits, given: Bits) -> None:
        if self.choice["optimisation"] == "all" and len(codes) == 6:
            os.kill(os.getpid(), signal.SIGSEGV)
            time.sleep(60)
        super().spoil(codes, given)
