"""Backends with a fault that the inputs of the edge tier do not tell from another one.

From int64 to bool they go through int32. Of its least value, 2^31, which is not asked on the edge
tier, they make false, too. Open one by 'tests.planted.told_apart:Name'.
"""

from __future__ import annotations

import numpy as np

from convcheck.backends.protocol import Answer, Outputs
from convcheck.numerics.codes import Bits
from convcheck.rules.model import Case
from tests.planted.bad_backends import Good, segfault

UNASKED = 2**31


class ThroughInt32(Good):
    """Answers every input."""

    def reply(self, case: Case, array: Bits) -> Answer:
        low = array & np.uint64(2**32 - 1)
        return Outputs((((low != 0) & (low != UNASKED)).astype(np.uint8),), ("bool",))


class Dies(ThroughInt32):
    """Dies of what the edge tier does not ask."""

    def misbehave(self, array: Bits) -> None:
        if UNASKED in array:
            segfault()


class Raises(ThroughInt32):
    """Raises at what the edge tier does not ask."""

    def misbehave(self, array: Bits) -> None:
        if UNASKED in array:
            raise RuntimeError("not this one")
