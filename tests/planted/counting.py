"""Cases and calls of an operator that counts from 0, for bad_callers."""

from dataclasses import dataclass

import numpy as np
from planted.asking import DECISION, INT8

from convcheck.rules.model import Case
from convcheck.semantics.expected import EXACT, CallReading, ExpectedCall, ExpectedOutput
from convcheck.vectors.model import CallSet

LONG, SHORT = 12, 3


def case(number):
    return Case(
        "test.Count-1", "test.Count", 1, (INT8,), (INT8,), (("number", number),), ranks=(0,)
    )  # fmt: skip


@dataclass(frozen=True)
class Corpus:
    """The calls 0, 1, 2 …. Call n expects the numbers from 0 to n - 1."""

    def vectors(self, case):
        count = LONG if case.attribute("number") == 1 else SHORT
        calls = tuple((np.array(n, np.uint8),) for n in range(count))
        expected = tuple(expecting(n) for n in range(count))
        return CallSet(case, calls, expected, (DECISION,), "sampled", DECISION)


def expecting(length):
    codes = np.arange(length, dtype=np.uint8)
    due = ExpectedOutput(INT8, (length,), codes, np.full(length, EXACT, np.uint8))
    return ExpectedCall(0, (CallReading("", (due,)),))
