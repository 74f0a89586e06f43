"""Backends with a kernel that is wrong in some placements only.

Open one by 'tests.planted.wrong_backends:Name'.
"""

from __future__ import annotations

import numpy as np

from convcheck.numerics.codes import Bits
from tests.planted.bad_backends import Good


class ShortWrong(Good):
    def change(self, array: Bits) -> Bits:
        return array ^ 1 if array.size < 8 else array


class OddLastWrong(Good):
    def change(self, array: Bits) -> Bits:
        if array.size % 2:
            array.reshape(-1)[-1] ^= 1
        return array


class TailWrong(Good):
    """A kernel of 16 lanes whose tail is wrong."""

    def change(self, array: Bits) -> Bits:
        flat = array.reshape(-1)
        flat[len(flat) // 16 * 16 :] ^= 1
        return array


class FourDimensionalWrong(Good):
    def change(self, array: Bits) -> Bits:
        return array.T.reshape(array.shape) if array.ndim == 4 else array


class ScalarWrong(Good):
    def change(self, array: Bits) -> Bits:
        return np.asarray(array ^ 1) if array.ndim == 0 else array
