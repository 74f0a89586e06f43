"""Backends with a fault that edge inputs do not distinguish from another one.

They convert int64 to bool through int32, and turn 2^31, which the edge tier lacks, into false. Open
one by 'tests.planted.told_apart:Name'.
"""

from __future__ import annotations

import numpy as np

from convcheck.backends.protocol import Answer, Outputs
from convcheck.numerics.codes import Bits
from convcheck.rules.model import Case
from tests.planted.bad_backends import Good, segfault

UNASKED = 2**31


class ThroughInt32(Good):
    def reply(self, case: Case, array: Bits) -> Answer:
        low = array & np.uint64(2**32 - 1)
        return Outputs((((low != 0) & (low != UNASKED)).astype(np.uint8),), ("bool",))


class Dies(ThroughInt32):
    def misbehave(self, array: Bits) -> None:
        if UNASKED in array:
            segfault()


class Raises(ThroughInt32):
    def misbehave(self, array: Bits) -> None:
        if UNASKED in array:
            raise RuntimeError("not this one")
