"""The edge vectors of pypto.cast tell right from wrong: planted bugs are caught where they show.

Counted are pairs of a bug and a case. Run with `-n 0 -s` to see the counts of every bug.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
from catalogue import CATALOG, compiled
from planted.bugs import Bug, right
from planted.proof import Tally, caught, edge, observable, only, rich, wrong
from planted.pypto_bugs import BUGS, SWAPS, WRONG_DEFAULTS

from convcheck.rules.cases import cases
from convcheck.rules.model import Case

OPERATOR = "pypto.cast"
CASES = [
    case
    for case in cases(CATALOG.specs[OPERATOR])
    if any(decision.level != "undefined" for decision in compiled(case).decisions)
]
Record = Callable[[str, object], None]
COUNTS: Counter[str] = Counter()


def tally(bug: Bug) -> Tally:
    """Plant a bug in every case where an answer is due."""
    result = Tally()
    for case in CASES:
        if observable(bug, case):
            result.observable.append(case.id)
            if caught(bug, edge(case)):
                result.caught.append(case.id)
    return result


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_a_planted_bug_is_caught_wherever_it_is_observable(
    bug: Bug, record_property: Record
) -> None:
    result = tally(bug)
    seen, found = len(result.observable), len(result.caught)
    print(f"\n{bug.name}: {seen} observable, {found} caught", end="")
    record_property(f"planted ({OPERATOR})", (seen, found))
    COUNTS.update(observable=seen, caught=found)
    assert result.observable
    assert not result.missed


def test_the_counts() -> None:
    """Say what this process has planted; the end of a run says it for all of them."""
    seen, found = COUNTS["observable"], COUNTS["caught"]
    print(f"\nplanted bugs ({OPERATOR}): {seen} observable, {found} caught", end="")
    assert seen == found


def test_every_mode_is_taken_for_every_other() -> None:
    assert len(SWAPS) == 6 * 5
    assert len(WRONG_DEFAULTS) == 6
    assert len(CASES) == 21 * 7 + 1


@pytest.mark.parametrize("part", range(4))
def test_no_bug_no_finding(part: int) -> None:
    """The proof itself: right answers are not wrong, and not caught in any placement."""
    for case in CASES[part::4]:
        problem, expected = rich(case)
        assert not wrong(case, problem.bits, expected, problem.right)
        assert not caught(Bug("none", right), edge(case)), case.id


def zeros(case: Case) -> np.ndarray[tuple[int], np.dtype[np.generic]]:
    """Inputs that tell nothing."""
    return np.zeros(9, case.inputs[0].format.storage)


def test_vectors_that_ask_nothing_special_catch_nothing() -> None:
    """The proof can fail: with zeros for vectors, no swap of modes is caught."""
    case = next(c for c in CASES if c.name == "float32-to-int16/mode=CAST_ODD")
    swaps = [bug for bug in SWAPS if observable(bug, case)]
    assert len(swaps) == 5
    assert not any(caught(bug, only(case, zeros(case))) for bug in swaps)
