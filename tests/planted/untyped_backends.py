"""Backends with malformed answers and side effects, for tests/abuse."""

import os
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from convcheck.backends.protocol import Declined, Outputs, Refused
from convcheck.numerics.number import Bits
from convcheck.rules.model import Case


class Honest:
    """Answers zeros. The others deviate from this once."""

    name = "planted"
    version = "1"

    def support(self, case: Case) -> Any:
        return None

    def answer(self, case: Case, inputs: Sequence[Bits]) -> Any:
        return Outputs((self.zeros(case, inputs),), (case.outputs[0].name,))

    def zeros(self, case: Case, inputs: Sequence[Bits]) -> Any:
        return np.zeros(inputs[0].shape, case.outputs[0].format.storage)


def answers(answer: Callable[[Honest, Case, Sequence[Bits]], Any]) -> type[Honest]:
    class Answers(Honest):
        def answer(self, case: Case, inputs: Sequence[Bits]) -> Any:
            return answer(self, case, inputs)

    return Answers


def supports(found: object) -> type[Honest]:
    class Supports(Honest):
        def support(self, case: Case) -> Any:
            return found

    return Supports


class Bomb:
    """Ends the process that unpickles it, with exit code 0."""

    def __reduce__(self) -> Any:
        return os._exit, (0,)


RefusesWithBomb = answers(lambda *_: Refused(Bomb()))  # type: ignore[arg-type]
DeclinesWithBomb = supports(Declined(Bomb()))  # type: ignore[arg-type]


class NamedByBomb(Honest):
    name = Bomb()  # type: ignore[assignment]


class WritesIntoThePipe(Honest):
    """Writes a pickled object to every open descriptor."""

    def answer(self, case: Case, inputs: Sequence[Bits]) -> Any:
        import pickle
        import struct

        text = pickle.dumps(Bomb())
        for descriptor in range(3, 64):
            try:
                os.write(descriptor, struct.pack("!i", len(text)) + text)
            except OSError:
                continue
        return super().answer(case, inputs)


class BeginsAMessage(Honest):
    """Writes the beginning of a message to every open descriptor."""

    def answer(self, case: Case, inputs: Sequence[Bits]) -> Any:
        import struct

        for descriptor in range(3, 64):
            try:
                os.write(descriptor, struct.pack("!i", 1000) + b"{")
            except OSError:
                continue
        sleep()


RefusesWithNone = answers(lambda *_: Refused(None))  # type: ignore[arg-type]
DeclinesWithObject = answers(lambda *_: Declined(object()))  # type: ignore[arg-type]
RefusesAtLength = answers(lambda *_: Refused("x" * 47_000_000))
ReturnsArray = answers(lambda self, case, inputs: self.zeros(case, inputs))
ReturnsNothing = answers(lambda *_: None)
SupportsBool = supports(True)


class RaisesMuch(Honest):
    def answer(self, case: Case, inputs: Sequence[Bits]) -> Any:
        raise ValueError("x" * 47_000_000)


class LongName(Honest):
    name = "n" * 5_000_000


class ReturnsFloat(Honest):
    """A scalar of another type than the codes, if the output is a scalar."""

    def zeros(self, case: Case, inputs: Sequence[Bits]) -> Any:
        found = super().zeros(case, inputs)
        return found if found.ndim else np.float32(0)


class ReturnsScalar(Honest):
    """A numpy scalar of the right type for a 0-D output."""

    def zeros(self, case: Case, inputs: Sequence[Bits]) -> Any:
        return super().zeros(case, inputs)[()]


class CannotStart(Honest):
    def __init__(self) -> None:
        raise ValueError("no such device")


class ExitsAtStart(Honest):
    def __init__(self) -> None:
        raise SystemExit(0)


class LowersLimits(Honest):
    def answer(self, case: Case, inputs: Sequence[Bits]) -> Any:
        import resource

        answer = super().answer(case, inputs)
        if case.outputs[0].name == "float32":
            for limit in (resource.RLIMIT_NOFILE, resource.RLIMIT_FSIZE, resource.RLIMIT_NPROC):
                resource.setrlimit(limit, (0, 0))
        return answer


class LowersRecursion(Honest):
    def answer(self, case: Case, inputs: Sequence[Bits]) -> Any:
        import sys

        answer = super().answer(case, inputs)
        if case.outputs[0].name == "float32":
            sys.setrecursionlimit(60)
        else:
            self.descend(200)
        return answer

    def descend(self, steps: int) -> None:
        if steps:
            self.descend(steps - 1)


class RemovesTemporaryFolder(Honest):
    """Removes the test's temporary folder, and crashes."""

    def answer(self, case: Case, inputs: Sequence[Bits]) -> Any:
        import shutil

        if case.outputs[0].name == "float32":
            shutil.rmtree(os.environ["CONVCHECK_TEST_FOLDER"], ignore_errors=True)
            os.abort()
        return super().answer(case, inputs)


class LeavesProcesses(Honest):
    left = False

    def answer(self, case: Case, inputs: Sequence[Bits]) -> Any:
        if not self.left:
            self.left = True
            for start in (in_session, in_group, orphaned):
                start()
            self.go_on()
        return super().answer(case, inputs)

    def go_on(self) -> None:
        pass


def in_session() -> None:
    child = os.fork()
    if not child:
        os.setsid()
        sleep()
    written_down(child)


def in_group() -> None:
    group = os.getpgid(os.getppid())
    child = os.fork()
    if not child:
        os.setpgid(0, group)
        sleep()
    written_down(child)


def orphaned() -> None:
    child = os.fork()
    if not child:
        os.setsid()
        if (grandchild := os.fork()) != 0:
            written_down(grandchild)
            os._exit(0)
        sleep()
    os.waitpid(child, 0)


def written_down(process: int) -> None:
    with open(os.environ["CONVCHECK_TEST_LEFT"], "a") as file:
        file.write(f"{process}\n")


def sleep() -> None:
    import time

    time.sleep(600)
    os._exit(0)


class LeavesAndDies(LeavesProcesses):
    def go_on(self) -> None:
        os.abort()


class LeavesAndHangs(LeavesProcesses):
    def go_on(self) -> None:
        os.setpgid(0, os.getpgid(os.getppid()))
        sleep()


class LeavesAndExits(LeavesProcesses):
    def __init__(self) -> None:
        in_session()
        orphaned()
        os._exit(3)


class Floods(Honest):
    said = ""

    def answer(self, case: Case, inputs: Sequence[Bits]) -> Any:
        import time

        if not self.said:
            for _ in range(100):
                os.write(2, b"x" * 1_000_000)
            deadline = time.monotonic() + 10
            while os.fstat(2).st_size and time.monotonic() < deadline:
                time.sleep(0.1)
            self.said = f"a log of {os.fstat(2).st_size} bytes"
        return Refused(self.said)


class Slow(Honest):
    def answer(self, case: Case, inputs: Sequence[Bits]) -> Any:
        import time

        if case.outputs[0].name == "float32":
            time.sleep(0.6)
        return super().answer(case, inputs)


class LongText(Honest):
    def zeros(self, case: Case, inputs: Sequence[Bits]) -> Any:
        found = np.full(inputs[0].shape, "1", object)
        found.flat[:1] = "x" * 5_000_000
        return found


class ManyTexts(Honest):
    """Answers each element with its own long text."""

    def zeros(self, case: Case, inputs: Sequence[Bits]) -> Any:
        found = np.empty(inputs[0].shape, object)
        for at in np.ndindex(found.shape):
            found[at] = "long" * 10_000 + str(at)
        return found


class Ones(Honest):
    def zeros(self, case: Case, inputs: Sequence[Bits]) -> Any:
        return np.full(inputs[0].shape, "1", object)


class LongOption(Ones):
    """Has an option of long name and values that changes answers."""

    options: ClassVar[dict[str, tuple[str, ...]]] = {
        "n" * 5_000_000: ("a" * 5_000_000, "b" * 5_000_000)
    }

    def configured(self, choice: Any) -> Any:
        return Twos()


class Twos(Honest):
    def zeros(self, case: Case, inputs: Sequence[Bits]) -> Any:
        return np.full(inputs[0].shape, "2", object)
