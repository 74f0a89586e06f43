"""The edge vectors of pypto.cast tell right from wrong: planted bugs are caught where they show.

Counted are pairs of a bug and a case. Run with `-n 0 -s` to see the counts of every bug.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from catalogue import CATALOG, compiled
from planted.bugs import Bug, right
from planted.proof import caught, edge, hold_to_the_proof, observable, only, rich, tally, wrong
from planted.pypto_bugs import BUGS, OF_WRAPPING, SWAPS, WRONG_DEFAULTS

from convcheck.rules.cases import cases
from convcheck.rules.model import Case

OPERATOR = "pypto.cast-0.2"
DUE = [
    case
    for case in cases(CATALOG.specs[OPERATOR])
    if any(decision.level != "undefined" for decision in compiled(case).decisions)
]
CASES = [
    case for case in DUE
    if case.attribute("satmode") != "OFF" and "default" not in dict(case.attributes).values()
]  # fmt: skip
# Two modes stand for all: of what is out of range, the mode says what is rounded before it wraps.
WRAPPING = [
    case for case in DUE
    if case.attribute("satmode") == "OFF" and case.attribute("mode") in ("CAST_NONE", "CAST_ROUND")
]  # fmt: skip
Record = Callable[[str, object], None]


def test_planted_bugs_are_caught_wherever_they_are_observable(record_property: Record) -> None:
    """Every bug in every case where an answer is due, those that are causes as well."""
    found = tally([(c, BUGS) for c in CASES] + [(c, OF_WRAPPING) for c in WRAPPING])
    hold_to_the_proof(found, record_property, f"planted ({OPERATOR})")


def test_every_mode_is_taken_for_every_other() -> None:
    assert len(SWAPS) == 6 * 5
    assert len(WRONG_DEFAULTS) == 6
    assert len(CASES) == 21 * 7 + 1
    assert len(WRAPPING) == 6 * 2


@pytest.mark.parametrize("part", range(4))
def test_no_bug_no_finding(part: int) -> None:
    """The proof itself: right answers are not wrong, and not caught in any placement."""
    for case in (CASES + WRAPPING)[part::4]:
        problem, expected = rich(case)
        assert not wrong(case, problem.bits, expected, problem.right)
        assert not caught(Bug("none", right), edge(case)), case.id


def zeros(case: Case) -> np.ndarray[tuple[int], np.dtype[np.generic]]:
    """Inputs that tell nothing."""
    return np.zeros(9, case.inputs[0].format.storage)


def test_vectors_that_ask_nothing_special_catch_nothing() -> None:
    """The proof can fail: with zeros for vectors, no swap of modes is caught."""
    case = next(c for c in CASES if c.name == "float32-to-int16/mode=CAST_ODD/satmode=ON")
    swaps = [bug for bug in SWAPS if observable(bug, *rich(case))]
    assert len(swaps) == 5
    assert not any(caught(bug, only(case, zeros(case))) for bug in swaps)
