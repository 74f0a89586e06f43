"""Misbehaving identities of 8-bit integers, by 'tests.planted.bad_backends:Name'."""

import atexit
import ctypes
import os
import signal
import sys
import time

import numpy as np

from convcheck.backends.protocol import Declined, Outputs, Refused

BAD = 100  # the input on which most of them misbehave
OTHER = 37


class Good:
    """Returns its input. The others deviate from this once."""

    name = "planted"
    version = "1"

    def support(self, case):
        return None

    def answer(self, case, inputs):
        array = np.array(inputs[0])
        self.misbehave(array)
        return self.reply(case, array)

    def misbehave(self, array):
        pass

    def reply(self, case, array):
        return Outputs((array,), (case.outputs[0].name,))


def harms(harm, where=lambda array: BAD in array):
    class Harms(Good):
        def misbehave(self, array):
            if where(array):
                harm()

    return Harms


def replies(reply):
    class Replies(Good):
        def reply(self, case, array):
            found = reply(case, array)
            return super().reply(case, array) if found is None else found

    return Replies


def changes(change):
    return replies(lambda case, array: Outputs((change(array),), (case.outputs[0].name,)))


# Crashes


def die(number):
    os.kill(os.getpid(), number)
    time.sleep(60)


def segfault():
    die(signal.SIGSEGV)


def abort():
    print("terminate called after throwing an instance of 'int'", file=sys.stderr, flush=True)
    die(signal.SIGABRT)


Segfault = harms(segfault)
FloatingPoint = harms(lambda: die(signal.SIGFPE), lambda array: BAD in array or OTHER in array)
Abort = harms(abort)
Together = harms(segfault, lambda array: BAD in array and OTHER in array)
LongDies = harms(segfault, lambda array: array.size > 120)
FourDimensionalDies = harms(segfault, lambda array: array.ndim == 4)
ScalarDies = harms(segfault, lambda array: array.ndim == 0)
EmptyDies = harms(segfault, lambda array: not array.size)
Always = harms(segfault, lambda array: True)
HangsOnOne = harms(lambda: time.sleep(600))
HangsAlways = harms(lambda: time.sleep(600), lambda array: True)
# no other thread of its interpreter runs
HoldsTheLock = harms(lambda: ctypes.PyDLL(None).sleep(600), lambda array: True)
KillsItsParent = harms(lambda: (os.kill(os.getppid(), signal.SIGKILL), time.sleep(60)))
OsExit = harms(lambda: os._exit(3))
OsExitZero = harms(lambda: os._exit(0))
SysExit = harms(lambda: sys.exit(3))
Slow = harms(lambda: time.sleep(0.02), lambda array: True)


class Once(Good):
    """Crashes once, if the file named in the environment exists; removes it."""

    def misbehave(self, array):
        try:
            os.unlink(os.environ["CONVCHECK_TEST_ONCE"])
        except FileNotFoundError:
            return
        segfault()


class AfterManyCalls(Good):
    calls = 0

    def misbehave(self, array):
        self.calls += 1
        if self.calls == 30:
            segfault()


class Spoiled(Good):
    """Breaks in its first case, and wants a new process."""

    spoiled = False

    def misbehave(self, array):
        if self.spoiled and array.ndim == 1 and array.size > 9:
            os._exit(9)
        self.spoiled = self.spoiled or array.ndim == 4


class Telling(Good):
    """Writes down state inherited from the parent process, and a note at process exit."""

    def __init__(self):
        tell(f"{'convcheck.cli.run' in sys.modules} {sys.argv} {os.getpgrp() == os.getpid()}")
        atexit.register(tell, "ends")


def tell(line):
    with open(os.environ["CONVCHECK_TEST_TOLD"], "a") as lines:
        lines.write(f"{line}\n")


class SupportDies(Good):
    def support(self, case):
        segfault()
        return


# The adapter's own faults


class Raises(Good):
    def misbehave(self, array):
        if BAD in array:
            raise ValueError("a fault of the adapter")


class CannotOpen(Good):
    def __init__(self):
        raise OSError("libruntime.so: not found")


class SlowToOpen(Good):
    def __init__(self):
        time.sleep(30)


class DiesOnOpening(Good):
    def __init__(self):
        segfault()


# Malformed answers

TwoOutputs = replies(lambda case, array: Outputs((array, array), (case.outputs[0].name,) * 2))
WrongType = replies(lambda case, array: Outputs((array,), ("float32",)))
Garbage = replies(lambda case, array: 42)
WrongShape = changes(lambda array: array.reshape(-1)[:-1] if array.size > 1 else array)
Flattened = changes(lambda array: array.reshape(-1))
WrongDtype = changes(lambda array: array.astype(np.uint16))
# the byte 2 on BAD, else a bool
BoolTwo = changes(lambda array: np.where(array == BAD, 2, array != 0).astype(np.uint8))

# Refusals and noise

RefusesOne = replies(lambda case, array: Refused("not this one") if BAD in array else None)
RefusesAll = replies(lambda case, array: Refused("no"))
RefusesScalars = replies(lambda case, array: Refused("rank 0") if array.ndim == 0 else None)
DeclinesAnswer = replies(lambda case, array: Declined("no kernel", missing=True))
DeclinesLater = replies(lambda case, a: Declined("changed my mind") if a.ndim == 4 else None)


class DeclinesCase(Good):
    def support(self, case):
        return Declined("cannot ask that", missing=True)


class Noisy(Good):
    def misbehave(self, array):
        print("noise on stdout", flush=True)
        os.write(1, b"noise on file 1\n")
        os.write(2, b"noise on file 2\n")


# Kernels that are wrong in some placements only


def spoiled(array, first):
    """Flip the lowest bit behind the first elements."""
    array.reshape(-1)[first:] ^= 1
    return array


ShortWrong = changes(lambda array: array ^ 1 if array.size < 8 else array)
OddLastWrong = changes(lambda a: spoiled(a, a.size - a.size % 2))
TailWrong = changes(lambda a: spoiled(a, a.size // 16 * 16))
FourDimensionalWrong = changes(lambda a: a.T.reshape(a.shape) if a.ndim == 4 else a)
ScalarWrong = changes(lambda array: np.asarray(array ^ 1) if array.ndim == 0 else array)


# Other conversions, wrong for some inputs only


def twice_in_vectors(case, array):
    """Round float64 to float16 twice, through float32, in whole vectors of 8."""
    x = array.reshape(-1).view(np.float64)
    whole = len(x) // 8 * 8
    with np.errstate(all="ignore"):
        twice = x[:whole].astype(np.float32).astype(np.float16)
        got = np.concatenate([twice, x[whole:].astype(np.float16)])
    return Outputs((got.view(np.uint16).reshape(array.shape),), ("float16",))


# int64 to bool through int32, and 2^31, which the edge tier lacks, into false
UNASKED = 2**31


def through_int32(case, array):
    low = array & np.uint64(2**32 - 1)
    return Outputs((((low != 0) & (low != UNASKED)).astype(np.uint8),), ("bool",))


def through_int32_raises(case, array):
    if UNASKED in array:
        raise RuntimeError("not this one")
    return through_int32(case, array)


InVectors, ThroughInt32 = replies(twice_in_vectors), replies(through_int32)
ThroughInt32Raises = replies(through_int32_raises)
ThroughInt32Dies = replies(lambda c, a: segfault() if UNASKED in a else through_int32(c, a))
