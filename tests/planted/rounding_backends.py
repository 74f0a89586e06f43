"""Backends that truncate instead of rounding, for whole runs."""

import os
import signal
from dataclasses import replace
from unittest.mock import patch

import numpy as np

from convcheck.backends.protocol import Outputs
from convcheck.backends.reference import Reference
from convcheck.rules.load import Catalog
from convcheck.rules.model import Rounding


def truncating(rule):
    return replace(rule, rounding=Rounding("toward-zero")) if rule.rounding.mode else rule


class Truncating(Reference):
    name = "truncating"

    def __init__(self, catalog):
        specs = {
            name: replace(spec, rules=tuple(map(truncating, spec.rules)))
            for name, spec in catalog.specs.items()
        }
        super().__init__(Catalog(catalog.types, specs))


class TruncatingButOnce(Truncating):
    name = "truncating but once"
    code = 0x1FA3D

    def answer(self, case, inputs):
        answer = super().answer(case, inputs)
        if isinstance(answer, Outputs):
            codes = np.asarray(inputs[0])
            answer.arrays[0][codes == self.code] += np.uint16(1)
        return answer


class TruncatingInVectors(Truncating):
    name = "truncating in vectors"

    def __init__(self, catalog):
        super().__init__(catalog)
        self._right = Reference(catalog)

    def answer(self, case, inputs):
        answer, right = super().answer(case, inputs), self._right.answer(case, inputs)
        if isinstance(answer, Outputs) and isinstance(right, Outputs):
            whole = inputs[0].size // 8 * 8
            answer.arrays[0].reshape(-1)[whole:] = right.arrays[0].reshape(-1)[whole:]
        return answer


class DyingTruncating(Truncating):
    def answer(self, case, inputs):
        if (np.asarray(inputs[0]) == 1).any():
            os.kill(os.getpid(), signal.SIGSEGV)
        return super().answer(case, inputs)


# With an internal error in the search for causes


def _raising(*given):
    raise KeyError("planted")


def faulty(place):
    class Faulty(Truncating):
        def __init__(self, catalog):
            super().__init__(catalog)
            patch(f"convcheck.causes.{place}", _raising).start()

    return Faulty


NoSearch, NoHolding = faulty("search._found"), faulty("search.Held._gives_chunk")
