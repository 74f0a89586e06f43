"""Backends that say what they should not, to whatever hears them: for tests/abuse."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from convcheck.backends.protocol import Declined, Outputs, Refused
from convcheck.numerics.format import Bits
from convcheck.rules.model import Case


class Honest:
    """Answers zeros. The others do one thing otherwise."""

    name = "planted"
    version = "1"

    def support(self, case: Case) -> Any:
        return None

    def answer(self, case: Case, inputs: Sequence[Bits]) -> Any:
        return Outputs((self.zeros(case, inputs),), (case.outputs[0].name,))

    def zeros(self, case: Case, inputs: Sequence[Bits]) -> Any:
        return np.zeros(inputs[0].shape, case.outputs[0].format.storage)


class Bomb:
    """Ends the process in which it is unpickled, as if all were well."""

    def __reduce__(self) -> Any:
        return os._exit, (0,)


class RefusesWithBomb(Honest):
    def answer(self, case: Case, inputs: Sequence[Bits]) -> Any:
        return Refused(Bomb())  # type: ignore[arg-type]


class DeclinesWithBomb(Honest):
    def support(self, case: Case) -> Any:
        return Declined(Bomb())  # type: ignore[arg-type]


class NamedByBomb(Honest):
    name = Bomb()  # type: ignore[assignment]


class WritesIntoThePipe(Honest):
    """Writes to each descriptor that there is what `recv` would take for an object."""

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


class RefusesWithNone(Honest):
    def answer(self, case: Case, inputs: Sequence[Bits]) -> Any:
        return Refused(None)  # type: ignore[arg-type]


class DeclinesWithObject(Honest):
    def answer(self, case: Case, inputs: Sequence[Bits]) -> Any:
        return Declined(object())  # type: ignore[arg-type]


class RaisesMuch(Honest):
    def answer(self, case: Case, inputs: Sequence[Bits]) -> Any:
        raise ValueError("x" * 47_000_000)


class RefusesAtLength(Honest):
    def answer(self, case: Case, inputs: Sequence[Bits]) -> Any:
        return Refused("x" * 47_000_000)


class LongName(Honest):
    name = "n" * 5_000_000


class ReturnsArray(Honest):
    def answer(self, case: Case, inputs: Sequence[Bits]) -> Any:
        return self.zeros(case, inputs)


class ReturnsNothing(Honest):
    def answer(self, case: Case, inputs: Sequence[Bits]) -> Any:
        return None


class ReturnsFloat(Honest):
    """A scalar of another type than the codes, where nothing but a scalar is asked."""

    def zeros(self, case: Case, inputs: Sequence[Bits]) -> Any:
        found = super().zeros(case, inputs)
        return found if found.ndim else np.float32(0)


class ReturnsScalar(Honest):
    """A numpy scalar of the right type for an answer of no dimensions."""

    def zeros(self, case: Case, inputs: Sequence[Bits]) -> Any:
        return super().zeros(case, inputs)[()]


class SupportsBool(Honest):
    def support(self, case: Case) -> Any:
        return True


class CannotStart(Honest):
    def __init__(self) -> None:
        raise ValueError("no such device")


class ExitsAtStart(Honest):
    def __init__(self) -> None:
        raise SystemExit(0)


class LowersLimits(Honest):
    """Leaves hardly any room to what comes after."""

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
    """Removes what lies where convcheck keeps its logs, and dies."""

    def answer(self, case: Case, inputs: Sequence[Bits]) -> Any:
        import shutil
        import tempfile

        if case.outputs[0].name == "float32":
            shutil.rmtree(tempfile.gettempdir(), ignore_errors=True)
            os.abort()
        return super().answer(case, inputs)
