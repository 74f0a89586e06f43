"""The edge vectors tell right from wrong: planted bugs are caught wherever they can be seen.

Counted are pairs of a bug and a case. Run with `-n 0 -s` to see the counts of every bug.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from catalogue import CATALOG
from planted.bugs import BUGS, OF_OLD_TABLES, Bug, right
from planted.proof import (
    all_cases,
    binade_count,
    binades,
    caught,
    edge,
    hold_to_the_proof,
    most_cases,
    observable,
    only,
    rich,
    tally,
    wrong,
)
from planted.pypto_bugs import BUGS as OF_PYPTO
from planted.subsumed import SUBSUMED

from convcheck.causes.catalogue import causes_of
from convcheck.numerics.format import Float, Text
from convcheck.rules.model import Case

Record = Callable[[str, object], None]


@pytest.mark.long
def test_planted_bugs_are_caught_wherever_they_are_observable(record_property: Record) -> None:
    """All of them in every case, those that are causes as well."""
    planted = [(case, BUGS) for case in most_cases()]
    old = [(case, OF_OLD_TABLES) for case in all_cases(21)]
    hold_to_the_proof(tally([*planted, *old]), record_property, "planted")


def test_what_is_not_planted_here_is_a_cause() -> None:
    names = {cause.name for cause in causes_of(CATALOG)}
    assert {cause for causes in SUBSUMED.values() for cause in causes} <= names
    bugs = {bug.name for bug in (*BUGS, *OF_PYPTO)}
    assert SUBSUMED.keys() <= bugs


def sampled(case: Case) -> bool:
    """Tell where not every binade is asked: float64 has 2098, of which every eighth is."""
    source, target = (types[0].format for types in (case.inputs, case.outputs))
    wide = isinstance(source, Text) or (isinstance(source, Float) and source.exponent == 11)
    return wide and isinstance(target, Float) and target.exponent == 11


def test_one_ulp_high_on_one_binade_is_caught_whichever_it_is(record_property: Record) -> None:
    reached = {
        case.id: binades(case)
        for case in most_cases()
        if isinstance(case.outputs[0].format, Float) and not sampled(case)
    }
    seen = [name for name, (there, _) in reached.items() if there]
    missed = {name: there - asked for name, (there, asked) in reached.items() if there - asked}
    count = sum(len(there) for there, _ in reached.values())
    caught_on = len(seen) - len(missed)
    print(f"\none ulp high on one binade only, planted {count} times: {caught_on} caught", end="")
    record_property("planted", (len(seen), caught_on))
    assert len(seen) > 250
    assert not missed


def test_one_ulp_high_on_one_binade_of_float64_is_caught_in_one_of_nine() -> None:
    """The files would be too large otherwise; the boundary tier asks every binade."""
    cases = [case for case in all_cases(25) if sampled(case)]
    assert [case.name for case in cases] == ["float64-to-float64", "string-to-float64"]
    for case in cases:
        _, asked = binades(case)
        every = binade_count(case)
        print(f"\none ulp high on one binade only, {case.name}: {len(asked)} of {every}", end="")
        assert len(asked) * 9 > every


@pytest.mark.parametrize("part", range(6))
def test_no_bug_no_finding(part: int) -> None:
    """The proof itself: right answers are not wrong, and not caught in any placement.

    That the reference's answers are right, a run of it shows.
    """
    for case in most_cases()[part::6]:
        problem, expected = rich(case)
        assert not wrong(case, problem.bits, expected, problem.right)
        assert not caught(Bug("none", right), edge(case)), case.id


def test_vectors_that_ask_nothing_special_catch_nothing() -> None:
    """The proof can fail: with zeros for vectors, only what is wrong of zeros is caught."""
    elementwise = [bug for bug in BUGS if bug.avoided]
    missed = 0
    for case in (c for c in all_cases(25) if c.name.startswith("float32-to-float8e4m3fn")):
        zeros = only(case, np.zeros(9, np.uint32))
        for bug in elementwise:
            if observable(bug, *rich(case)):
                assert not caught(bug, zeros), bug.name
                missed += 1
    assert missed > 30


def test_wrong_holds_one_reading_to_the_whole_case() -> None:
    """Ties to even in one half and truncation in the other are no reading of float to int4."""
    case = next(c for c in all_cases(25) if c.name == "float32-to-int4")
    vectors = edge(case)
    even, toward_zero = (reading.codes for reading in vectors.expected.readings)
    half = np.where(np.arange(len(even)) % 2 == 0, even, toward_zero)
    bits = vectors.inputs[0]
    assert not wrong(case, bits, vectors.expected, even)
    assert not wrong(case, bits, vectors.expected, toward_zero)
    assert wrong(case, bits, vectors.expected, half)
