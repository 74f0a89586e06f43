"""A backend that breaks in its first case. Open it by 'tests.planted.spoiled:Spoiled'."""

from __future__ import annotations

import os

from convcheck.numerics.codes import Bits
from tests.planted.bad_backends import Good


class Spoiled(Good):
    spoiled = False

    def misbehave(self, array: Bits) -> None:
        if self.spoiled and array.ndim == 1 and array.size > 9:
            os._exit(9)
        self.spoiled = self.spoiled or array.ndim == 4
