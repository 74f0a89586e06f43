"""The edge vectors of promotions tell right from wrong: planted bugs are caught where they show.

Counted are pairs of a bug and a question. For a bug of types that is a case, asked with values that
any type has; for one of outputs, what inputs of some types, in a layout, become as a given type.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
import pytest
from planted.promotion_asked import CATALOG, SPEC, Asked
from planted.promotion_bugs import PromotionBug, bugs

from convcheck.ask.calls import ask_calls
from convcheck.backends.protocol import Answer, Declined, Outputs, Refused
from convcheck.backends.reference import Reference
from convcheck.judge.calls import judge_calls
from convcheck.judge.result import FAILURES
from convcheck.numerics.format import Bits, Float, is_nan
from convcheck.rules.cases import cases
from convcheck.rules.model import Case
from convcheck.semantics.body.matrix import compile_matrix, find
from convcheck.semantics.expected import ANY_NAN, EXACT, REFUSED, UNDEFINED
from convcheck.semantics.expected_calls import CallReading, ExpectedCall, ExpectedOutput
from convcheck.vectors.calls import call_set
from convcheck.vectors.inputs import numeric_inputs
from convcheck.vectors.model import CallSet

Record = Callable[[str, object], None]
COUNTS: Counter[str] = Counter()
OPERATOR = "openvino.ConvertPromoteTypes"


@cache
def every_case() -> tuple[Case, ...]:
    return tuple(cases(SPEC))


@cache
def edge(case: Case) -> CallSet:
    return call_set(SPEC, case, "edge")


@cache
def questions() -> tuple[Case, ...]:
    """The first case of each inputs, layout and type that is surely given."""
    found: dict[tuple[object, ...], Case] = {}
    for case in every_case():
        there = find(SPEC, case.inputs, case.ranks, case.attributes)
        if there.certain:
            found.setdefault((case.inputs, case.layout, there.target), case)
    return tuple(found.values())


# Seen ------------------------------------------------------------------------------------------


@cache
def rich(case: Case) -> tuple[tuple[Bits, ...], ExpectedCall]:
    """Many values of both inputs, chosen without regard to the calls, with what they become."""
    target = find(SPEC, case.inputs, case.ranks, case.attributes).target.format
    inputs = tuple(numeric_inputs(t.format, target, "edge", 7)[0] for t in case.inputs)
    return inputs, compile_matrix(SPEC, case).expect(inputs)


def observable(bug: PromotionBug, case: Case) -> bool:
    """Tell whether no reading explains what the bug answers."""
    asked = [(edge(case).calls[0], edge(case).expected[0])]
    if bug.outputs:
        asked.append(rich(case))
    return any(unexplained(bug, case, *each) for each in asked)


def unexplained(
    bug: PromotionBug, case: Case, inputs: tuple[Bits, ...], expected: ExpectedCall
) -> bool:
    answer = bug.answer(Asked(case, inputs))
    return not any(explains(reading, answer) for reading in expected.readings)


def explains(reading: CallReading, answer: Answer) -> bool:
    """Hold an answer against a reading, apart from the judge."""
    if isinstance(answer, Refused) or reading.pattern == REFUSED:
        return isinstance(answer, Refused) and reading.pattern == REFUSED
    assert isinstance(answer, Outputs)
    each = zip(reading.outputs, answer.types, answer.arrays, strict=True)
    return all(
        due.dtype.name == name and due.shape == codes.shape and same(due, codes.reshape(-1))
        for due, name, codes in each
    )


def same(due: ExpectedOutput, codes: Bits) -> bool:
    fmt = due.dtype.format
    right = (codes == due.codes) & (due.patterns == EXACT)
    if isinstance(fmt, Float):
        right |= is_nan(fmt, codes) & (due.patterns == ANY_NAN)
    return bool((right | (due.patterns == UNDEFINED)).all())


# Caught ----------------------------------------------------------------------------------------


class Planted:
    """A backend that answers with a bug."""

    name = "planted"
    version = "1"

    def __init__(self, bug: PromotionBug) -> None:
        self.bug = bug

    def support(self, case: Case) -> Declined | None:
        return None

    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        return self.bug.answer(Asked(case, tuple(inputs)))


def caught(bug: PromotionBug, calls: CallSet) -> bool:
    """Ask and judge a backend with the bug, as a run does."""
    answers = ask_calls(Planted(bug), calls, lambda *call: None, {})
    return judge_calls(calls, answers).verdict in FAILURES


@pytest.mark.parametrize("bug", bugs(), ids=lambda bug: bug.name)
def test_a_planted_bug_is_caught_wherever_it_is_observable(
    bug: PromotionBug, record_property: Record
) -> None:
    asked = questions() if bug.outputs else every_case()
    seen = [case for case in asked if observable(bug, case)]
    missed = [case.id for case in seen if not caught(bug, edge(case))]
    found = len(seen) - len(missed)
    print(f"\n{bug.name}: {len(seen)} observable, {found} caught", end="")
    record_property(f"planted ({OPERATOR})", (len(seen), found))
    COUNTS.update(observable=len(seen), caught=found)
    assert seen
    assert not missed


def test_the_counts() -> None:
    """Say what this process has planted; the end of a run says it for all of them."""
    seen, found = COUNTS["observable"], COUNTS["caught"]
    print(f"\nplanted bugs ({OPERATOR}): {seen} observable, {found} caught", end="")
    assert seen == found


# The proof can fail ----------------------------------------------------------------------------


@pytest.mark.parametrize("part", range(2))
def test_no_bug_no_finding(part: int) -> None:
    """Right answers are explained, and neither the judge nor the bugs' harness finds fault."""
    right = PromotionBug("none", lambda asked: asked.answer())
    reference = Reference(CATALOG)
    for case in every_case()[part::8]:
        assert not observable(right, case), case.id
        answers = ask_calls(reference, edge(case), lambda *call: None, {})
        assert judge_calls(edge(case), answers).verdict not in FAILURES, case.id
        assert not caught(right, edge(case)), case.id


def test_either_reading_of_a_disputed_cell_is_tolerated() -> None:
    disputed = [case for case in every_case() if len(edge(case).expected[0].readings) == 2]
    assert len(disputed) == 96  # 14 pairs of integers and 2 of floats, on 2 sides, of 3 targets
    for case in disputed:
        for refusing in (False, True):

            def answer(asked: Asked, refusing: bool = refusing) -> Answer:
                return Refused("unsafe") if refusing else asked.answer()

            answers = ask_calls(Planted(PromotionBug("", answer)), edge(case), lambda *c: None, {})
            assert judge_calls(edge(case), answers).verdict == "tolerated", case.id


def test_vectors_that_ask_for_types_only_miss_bugs_of_values() -> None:
    values = {bug.name: bug for bug in bugs() if bug.outputs}
    missed = 0
    for case in questions()[::5]:
        calls = edge(case)
        first = CallSet(
            case, calls.calls[:1], calls.expected[:1], calls.decisions, calls.coverage, calls.form
        )
        for name in ("truncated", "sign not extended", "-0 lost"):
            if observable(values[name], case):
                assert not caught(values[name], first), case.id
                missed += 1
    assert missed > 50


def test_a_bug_answers_in_the_shape_asked() -> None:
    case = every_case()[-1]
    for shape in ((), (1,), (2, 3)):
        inputs = tuple(np.zeros(shape, t.format.storage) for t in case.inputs)
        answer = bugs()[-1].answer(Asked(case, inputs))
        assert isinstance(answer, Outputs)
        assert [a.shape for a in answer.arrays] == [shape, shape]
