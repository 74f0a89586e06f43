"""A backend that is wrong in whole vectors of 8 only.

Open it by 'tests.planted.lanes:InVectors'.
"""

from __future__ import annotations

import numpy as np

from convcheck.backends.protocol import Answer, Outputs
from convcheck.numerics.codes import Bits
from convcheck.rules.model import Case
from tests.planted.bad_backends import Good


class InVectors(Good):
    """Rounds float64 to float16 twice, through float32."""

    def reply(self, case: Case, array: Bits) -> Answer:
        x = array.reshape(-1).view(np.float64)
        whole = len(x) // 8 * 8
        with np.errstate(all="ignore"):
            twice, once = x[:whole].astype(np.float32).astype(np.float16), x[whole:]
            got = np.concatenate([twice, once.astype(np.float16)])
        return Outputs((got.view(np.uint16).reshape(array.shape),), ("float16",))
