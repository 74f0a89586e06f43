"""Backends with malformed answers and side effects, for tests/abuse."""

import os
import pickle
import resource
import shutil
import struct
import sys
import time
from typing import ClassVar

import numpy as np

from convcheck.backends.protocol import Declined, Outputs, Refused


class Honest:
    """Answers zeros. The others deviate from this once."""

    name = "planted"
    version = "1"

    def support(self, case):
        return None

    def answer(self, case, inputs):
        return Outputs((self.zeros(case, inputs),), (case.outputs[0].name,))

    def zeros(self, case, inputs):
        return np.zeros(inputs[0].shape, case.outputs[0].format.storage)


def answers(answer):
    class Answers(Honest):
        def answer(self, case, inputs):
            return answer(self, case, inputs)

    return Answers


def supports(found):
    class Supports(Honest):
        def support(self, case):
            return found

    return Supports


def gives(change):
    class Gives(Honest):
        def zeros(self, case, inputs):
            return change(super().zeros(case, inputs))

    return Gives


class Bomb:
    """Ends the process that unpickles it, with exit code 0."""

    def __reduce__(self):
        return os._exit, (0,)


RefusesWithBomb = answers(lambda *_: Refused(Bomb()))
DeclinesWithBomb = supports(Declined(Bomb()))


class NamedByBomb(Honest):
    name = Bomb()


class WritesIntoThePipe(Honest):
    def answer(self, case, inputs):
        text = pickle.dumps(Bomb())
        for descriptor in range(3, 64):
            try:
                os.write(descriptor, struct.pack("!i", len(text)) + text)
            except OSError:
                continue
        return super().answer(case, inputs)


class BeginsAMessage(Honest):
    def answer(self, case, inputs):
        for descriptor in range(3, 64):
            try:
                os.write(descriptor, struct.pack("!i", 1000) + b"{")
            except OSError:
                continue
        sleep()


RefusesWithNone = answers(lambda *_: Refused(None))
DeclinesWithObject = answers(lambda *_: Declined(object()))
RefusesAtLength = answers(lambda *_: Refused("x" * 47_000_000))
ReturnsArray = answers(lambda self, case, inputs: self.zeros(case, inputs))
ReturnsNothing = answers(lambda *_: None)
SupportsBool = supports(True)


class RaisesMuch(Honest):
    def answer(self, case, inputs):
        raise ValueError("x" * 47_000_000)


class LongName(Honest):
    name = "n" * 5_000_000


# For a 0-D output, a scalar of another type than the codes, and a numpy scalar of the right type
ReturnsFloat = gives(lambda zeros: zeros if zeros.ndim else np.float32(0))
ReturnsScalar = gives(lambda zeros: zeros[()])


class CannotStart(Honest):
    def __init__(self):
        raise ValueError("no such device")


class ExitsAtStart(Honest):
    def __init__(self):
        raise SystemExit(0)


class LowersLimits(Honest):
    def answer(self, case, inputs):
        answer = super().answer(case, inputs)
        if case.outputs[0].name == "float32":
            for limit in (resource.RLIMIT_NOFILE, resource.RLIMIT_FSIZE, resource.RLIMIT_NPROC):
                resource.setrlimit(limit, (0, 0))
        return answer


class LowersRecursion(Honest):
    def answer(self, case, inputs):
        answer = super().answer(case, inputs)
        if case.outputs[0].name == "float32":
            sys.setrecursionlimit(60)
        else:
            self.descend(200)
        return answer

    def descend(self, steps):
        if steps:
            self.descend(steps - 1)


class RemovesTemporaryFolder(Honest):
    def answer(self, case, inputs):
        if case.outputs[0].name == "float32":
            shutil.rmtree(os.environ["CONVCHECK_TEST_FOLDER"], ignore_errors=True)
            os.abort()
        return super().answer(case, inputs)


class LeavesProcesses(Honest):
    left = False

    def answer(self, case, inputs):
        if not self.left:
            self.left = True
            for start in (in_session, in_group, orphaned):
                start()
            self.go_on()
        return super().answer(case, inputs)

    def go_on(self):
        pass


def in_session():
    child = os.fork()
    if not child:
        os.setsid()
        sleep()
    written_down(child)


def in_group():
    group = os.getpgid(os.getppid())
    child = os.fork()
    if not child:
        os.setpgid(0, group)
        sleep()
    written_down(child)


def orphaned():
    child = os.fork()
    if not child:
        os.setsid()
        if (grandchild := os.fork()) != 0:
            written_down(grandchild)
            os._exit(0)
        sleep()
    os.waitpid(child, 0)


def written_down(process):
    with open(os.environ["CONVCHECK_TEST_LEFT"], "a") as file:
        file.write(f"{process}\n")


def sleep():
    time.sleep(600)
    os._exit(0)


class LeavesAndDies(LeavesProcesses):
    def go_on(self):
        os.abort()


class LeavesAndHangs(LeavesProcesses):
    def go_on(self):
        os.setpgid(0, os.getpgid(os.getppid()))
        sleep()


class LeavesAndExits(LeavesProcesses):
    def __init__(self):
        in_session()
        orphaned()
        os._exit(3)


class Floods(Honest):
    said = ""

    def answer(self, case, inputs):
        if not self.said:
            for _ in range(100):
                os.write(2, b"x" * 1_000_000)
            deadline = time.monotonic() + 10
            while os.fstat(2).st_size and time.monotonic() < deadline:
                time.sleep(0.1)
            self.said = f"a log of {os.fstat(2).st_size} bytes"
        return Refused(self.said)


class Slow(Honest):
    def answer(self, case, inputs):
        if case.outputs[0].name == "float32":
            time.sleep(0.6)
        return super().answer(case, inputs)


class LongText(Honest):
    def zeros(self, case, inputs):
        found = np.full(inputs[0].shape, "1", object)
        found.flat[:1] = "x" * 5_000_000
        return found


class ManyTexts(Honest):
    def zeros(self, case, inputs):
        found = np.empty(inputs[0].shape, object)
        for at in np.ndindex(found.shape):
            found[at] = "long" * 10_000 + str(at)
        return found


Ones, Twos = (
    gives(lambda zeros, text=text: np.full(zeros.shape, text, object)) for text in ("1", "2")
)


class LongOption(Ones):
    options: ClassVar[dict[str, tuple[str, ...]]] = {
        "n" * 5_000_000: ("a" * 5_000_000, "b" * 5_000_000)
    }

    def configured(self, choice):
        return Twos()
