"""Backends that are right, but for what they do on one bit pattern of a sweep."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Sequence

import numpy as np

from convcheck.backends.ml_dtypes import MlDtypes
from convcheck.backends.protocol import Answer, Refused
from convcheck.numerics.format import Bits
from convcheck.spec.model import Case

DEADLY = 0x3F80_1234
WRONG = 0xC012_3456


class _Right(MlDtypes):
    """Numpy's answers, and one thing that happens when an input is there."""

    code = DEADLY

    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        if (np.asarray(inputs[0]) == self.code).any():
            return self.happens(case, inputs)
        return super().answer(case, inputs)

    def happens(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        raise NotImplementedError


class Crashes(_Right):
    def happens(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        os.kill(os.getpid(), signal.SIGSEGV)
        raise AssertionError


class Hangs(_Right):
    def happens(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        time.sleep(60)
        raise AssertionError


class Refuses(_Right):
    def happens(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        return Refused("not this one")


class WrongOnce(_Right):
    """Wrong on one pattern, which is in one shard only."""

    code = WRONG

    def happens(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        answer = MlDtypes.answer(self, case, inputs)
        answer.arrays[0][np.asarray(inputs[0]) == WRONG] ^= 1  # type: ignore[union-attr]
        return answer
