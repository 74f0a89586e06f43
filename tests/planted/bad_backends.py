"""Backends that misbehave, for an identity conversion of 8-bit integers.

Open one by 'tests.planted.bad_backends:Name'.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
from collections.abc import Sequence

import numpy as np

from convcheck.backends.protocol import Answer, Declined, Outputs, Refused
from convcheck.numerics.codes import Bits
from convcheck.rules.model import Case

BAD = 100  # the input on which most of them misbehave
OTHER = 37


class Good:
    """Gives back what it gets. The others are this, but for one thing."""

    name = "planted"
    version = "1"

    def support(self, case: Case) -> Declined | None:
        return None

    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        array = np.array(inputs[0])
        self.misbehave(array)
        return self.reply(case, array)

    def misbehave(self, array: Bits) -> None:
        pass

    def reply(self, case: Case, array: Bits) -> Answer:
        return Outputs((self.change(array),), (case.outputs[0].name,))

    def change(self, array: Bits) -> Bits:
        return array


class OnBad(Good):
    """Does harm where BAD is asked."""

    def misbehave(self, array: Bits) -> None:
        if BAD in array:
            self.harm()

    def harm(self) -> None:
        die(signal.SIGSEGV)


def die(number: int) -> None:
    os.kill(os.getpid(), number)
    time.sleep(60)


# Deaths


class Segfault(OnBad):
    pass


class FloatingPoint(Good):
    def misbehave(self, array: Bits) -> None:
        if BAD in array or OTHER in array:
            die(signal.SIGFPE)


class Abort(OnBad):
    def harm(self) -> None:
        print("terminate called after throwing an instance of 'int'", file=sys.stderr)
        sys.stderr.flush()
        die(signal.SIGABRT)


class Together(Good):
    def misbehave(self, array: Bits) -> None:
        if BAD in array and OTHER in array:
            die(signal.SIGSEGV)


class LongDies(Good):
    def misbehave(self, array: Bits) -> None:
        if array.size > 120:
            die(signal.SIGSEGV)


class FourDimensionalDies(Good):
    rank = 4

    def misbehave(self, array: Bits) -> None:
        if array.ndim == self.rank:
            die(signal.SIGSEGV)


class ScalarDies(FourDimensionalDies):
    rank = 0


class EmptyDies(Good):
    def misbehave(self, array: Bits) -> None:
        if not array.size:
            die(signal.SIGSEGV)


class Once(Good):
    """Dies once, where the file that the environment names is there to be removed."""

    def misbehave(self, array: Bits) -> None:
        try:
            os.unlink(os.environ["CONVCHECK_TEST_ONCE"])
        except FileNotFoundError:
            return
        die(signal.SIGSEGV)


class AfterManyCalls(Good):
    """Stateful: dies in its 30th call, whatever it is."""

    calls = 0

    def misbehave(self, array: Bits) -> None:
        self.calls += 1
        if self.calls == 30:
            die(signal.SIGSEGV)


class Always(Good):
    def misbehave(self, array: Bits) -> None:
        die(signal.SIGSEGV)


class HalfDies(Good):
    def misbehave(self, array: Bits) -> None:
        if (np.asarray(array) % 2).any():
            die(signal.SIGSEGV)


class SupportDies(Good):
    def support(self, case: Case) -> Declined | None:
        die(signal.SIGSEGV)
        return None


class HangsOnOne(OnBad):
    def harm(self) -> None:
        time.sleep(600)


class HangsAlways(Good):
    def misbehave(self, array: Bits) -> None:
        time.sleep(600)


class HoldsTheLock(Good):
    """Hangs so that no other thread of its interpreter goes on either."""

    def misbehave(self, array: Bits) -> None:
        ctypes.PyDLL(None).sleep(600)


class KillsItsParent(OnBad):
    def harm(self) -> None:
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(60)


class OsExit(OnBad):
    status = 3

    def harm(self) -> None:
        os._exit(self.status)


class OsExitZero(OsExit):
    status = 0


# The adapter's own faults


class Raises(OnBad):
    def harm(self) -> None:
        raise ValueError("a fault of the adapter")


class SysExit(OnBad):
    def harm(self) -> None:
        sys.exit(3)


class CannotOpen(Good):
    def __init__(self) -> None:
        raise OSError("libruntime.so: not found")


class SlowToOpen(Good):
    def __init__(self) -> None:
        time.sleep(30)


class DiesOnOpening(Good):
    def __init__(self) -> None:
        die(signal.SIGSEGV)


# Malformed answers


class TwoOutputs(Good):
    def reply(self, case: Case, array: Bits) -> Answer:
        return Outputs((array, array), (case.outputs[0].name,) * 2)


class WrongShape(Good):
    def change(self, array: Bits) -> Bits:
        return array.reshape(-1)[:-1] if array.size > 1 else array


class Flattened(Good):
    def change(self, array: Bits) -> Bits:
        return array.reshape(-1)


class WrongType(Good):
    def reply(self, case: Case, array: Bits) -> Answer:
        return Outputs((array,), ("float32",))


class WrongDtype(Good):
    def change(self, array: Bits) -> Bits:
        return array.astype(np.uint16)


class Garbage(Good):
    def reply(self, case: Case, array: Bits) -> Answer:
        return 42  # type: ignore[return-value]


class GarbageArray(Good):
    def reply(self, case: Case, array: Bits) -> Answer:
        return Outputs(([1, 2],), (case.outputs[0].name,))  # type: ignore[arg-type]


class BoolTwo(Good):
    """Answers the byte 2 where BAD is asked, else a bool."""

    def change(self, array: Bits) -> Bits:
        return np.where(array == BAD, 2, array != 0).astype(np.uint8)


# Refusals and noise


class RefusesOne(Good):
    def reply(self, case: Case, array: Bits) -> Answer:
        return Refused("not this one") if BAD in array else super().reply(case, array)


class RefusesAll(Good):
    def reply(self, case: Case, array: Bits) -> Answer:
        return Refused("no")


class RefusesScalars(Good):
    def reply(self, case: Case, array: Bits) -> Answer:
        return Refused("rank 0") if array.ndim == 0 else super().reply(case, array)


class DeclinesCase(Good):
    def support(self, case: Case) -> Declined | None:
        return Declined("cannot ask that", missing=True)


class DeclinesAnswer(Good):
    def reply(self, case: Case, array: Bits) -> Answer:
        return Declined("no kernel", missing=True)


class DeclinesLater(Good):
    def reply(self, case: Case, array: Bits) -> Answer:
        return Declined("changed my mind") if array.ndim == 4 else super().reply(case, array)


class Noisy(Good):
    def misbehave(self, array: Bits) -> None:
        print("noise on stdout", flush=True)
        os.write(1, b"noise on file 1\n")
        os.write(2, b"noise on file 2\n")


class Slow(Good):
    def misbehave(self, array: Bits) -> None:
        time.sleep(0.02)
