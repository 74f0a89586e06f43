"""The edge vectors of promotions tell right from wrong: planted bugs are caught where they show.

Counted are pairs of a bug and a question. For a bug of types that is a case, asked with values that
any type has; for one of outputs, what inputs of some types, in a layout, become as a given type.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import cache, cached_property, partial
from typing import ClassVar

import numpy as np
import pytest
from planted.promotion_asked import CATALOG, SPEC, TARGET, Asked
from planted.promotion_bugs import PromotionBug, bugs

from convcheck.ask.calls import ask_calls
from convcheck.backends.protocol import Answer, Declined, Outputs, Refused
from convcheck.backends.reference import Reference
from convcheck.judge.case import judge
from convcheck.judge.result import FAILURES
from convcheck.numerics.codes import Bits, is_nan
from convcheck.numerics.format import Float
from convcheck.records import replace
from convcheck.rules.cases import cases
from convcheck.rules.model import Case
from convcheck.semantics.body.matrix import compile_matrix, find
from convcheck.semantics.expected import ANY_NAN, EXACT, REFUSED, UNDEFINED
from convcheck.semantics.expected_calls import CallReading, ExpectedCall, ExpectedOutput
from convcheck.vectors.calls import call_set
from convcheck.vectors.inputs import numeric_inputs
from convcheck.vectors.model import CallSet

Record = Callable[[str, object], None]
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


def rich(case: Case) -> tuple[tuple[Bits, ...], ExpectedCall]:
    """Many values of both inputs, chosen without regard to the calls, with what they become."""
    target = find(SPEC, case.inputs, case.ranks, case.attributes).target.format
    inputs = tuple(numeric_inputs(t.format, target, "edge", 7)[0] for t in case.inputs)
    return inputs, compile_matrix(SPEC, case).expect(inputs)


Known = dict[object, bool]  # what was said of an answer


def empty(case: Case) -> tuple[tuple[Bits, ...], ExpectedCall]:
    """Tensors without elements, of two dimensions, with what they become; scalars are 0."""
    inputs = tuple(
        np.zeros((2, 0) if rank else (), t.format.storage)
        for t, rank in zip(case.inputs, case.ranks, strict=True)
    )
    return inputs, compile_matrix(SPEC, case).expect(inputs)


class Put:
    """A call, put to bugs. Many answer the same, so that what is said of an answer is kept."""

    def __init__(self, case: Case, inputs: tuple[Bits, ...], known: Known) -> None:
        self.asked, self.known = Asked(case, inputs), known

    def holds(self, bug: PromotionBug, question: Callable[[Answer], bool]) -> bool:
        """Answer a question, always the same one, about what the bug answers."""
        answer = bug.answer(self.asked)
        key = isinstance(answer, Outputs) and (answer.types, content(answer.arrays))
        if key not in self.known:
            self.known[key] = question(answer)
        return self.known[key]


def content(arrays: Sequence[Bits]) -> tuple[object, ...]:
    return tuple((array.shape, array.dtype, array.tobytes()) for array in arrays)


class Planting:
    """A case to plant bugs in: what is right of it is worked out once for all of them.

    What is said of an answer is said of it in all cases that ask the same and expect the same: most
    differ from others in attributes that do not matter to their inputs.
    """

    explained: ClassVar[defaultdict[object, Known]] = defaultdict(dict)
    judged: ClassVar[defaultdict[object, Known]] = defaultdict(dict)

    def __init__(self, case: Case) -> None:
        self.case, self.calls = case, edge(case)
        single = [(one, alike(one)) for one in singly(self.calls)]
        self.first = Put(case, self.calls.calls[0], self.explained[single[0][1]])
        self.asked = [(one, Put(case, one.calls[0], self.judged[key])) for one, key in single]

    @cached_property
    def more(self) -> list[tuple[Put, ExpectedCall]]:
        """Many values, and none at all."""
        made = (rich(self.case), empty(self.case))
        return [(Put(self.case, inputs, {}), expected) for inputs, expected in made]

    def observable(self, bug: PromotionBug) -> bool:
        """Tell whether no reading explains what the bug answers."""
        shown = [(self.first, self.calls.expected[0]), *(self.more if bug.outputs else [])]
        return any(put.holds(bug, partial(unexplained, expected)) for put, expected in shown)

    def caught(self, bug: PromotionBug) -> bool:
        """Ask and judge what the bug answers as a run does, call by call until one fails."""
        return any(put.holds(bug, partial(fails, one)) for one, put in self.asked)


def alike(one: CallSet) -> object:
    """All of a call that the judge looks at: of the case's attributes there is nothing in it."""
    case, [call], [expected] = one.case, one.calls, one.expected
    decision = one.decisions[expected.row]
    readings = tuple(
        (r.pattern, tuple((o.dtype, o.shape, content((o.codes, o.patterns))) for o in r.outputs))
        for r in expected.readings
    )
    asked = (case.inputs, case.ranks, case.refusal, content(call))
    return asked, readings, expected.between, decision.level, decision.readings


def unexplained(expected: ExpectedCall, answer: Answer) -> bool:
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


def fails(calls: CallSet, answer: Answer) -> bool:
    """Ask a backend that answers so, and judge, as a run does."""
    return failing(Planted(PromotionBug("", lambda asked: answer)), calls)


def failing(backend: Planted | Reference, calls: CallSet) -> bool:
    answers = ask_calls(backend, calls, lambda *call: None, {})
    return judge(calls, answers).verdict in FAILURES


def singly(calls: CallSet) -> Iterator[CallSet]:
    for call, expected in zip(calls.calls, calls.expected, strict=True):
        yield replace(calls, calls=(call,), expected=(expected,))


@pytest.mark.long
def test_planted_bugs_are_caught_wherever_they_are_observable(record_property: Record) -> None:
    """Bugs of types in every case, those of outputs in each question.

    Of a target in which all values that are asked become true, bugs of types alone.
    """
    asked_outputs = {c for c in questions() if c.attribute(TARGET) != "boolean"}
    counts = Counter({bug.name: 0 for bug in bugs()})
    missed = []
    for case in every_case():
        planting, outputs = Planting(case), case in asked_outputs
        for bug in bugs():
            if (outputs or not bug.outputs) and planting.observable(bug):
                counts[bug.name] += 1
                if not planting.caught(bug):
                    missed.append((bug.name, case.id))
    for name, seen in counts.items():
        found = seen - [bug for bug, _ in missed].count(name)
        print(f"\n{name}: {seen} observable, {found} caught", end="")
        record_property(f"planted ({OPERATOR})", (seen, found))
    assert min(counts.values()) > 0, counts
    assert not missed


# The proof can fail ----------------------------------------------------------------------------


@pytest.mark.parametrize("part", range(2))
def test_no_bug_no_finding(part: int) -> None:
    """Right answers are explained, and neither the judge nor the bugs' harness finds fault."""
    right = PromotionBug("none", lambda asked: asked.answer())
    reference = Reference(CATALOG)
    for case in every_case()[part::8]:
        assert not Planting(case).observable(right), case.id
        assert not failing(reference, edge(case)), case.id
        assert not failing(Planted(right), edge(case)), case.id


def test_either_reading_of_a_disputed_cell_is_tolerated() -> None:
    disputed = [case for case in every_case() if len(edge(case).expected[0].readings) == 2]
    assert len(disputed) == 96  # 14 pairs of integers and 2 of floats, on 2 sides, of 3 targets
    for case in disputed:
        for refusing in (False, True):

            def answer(asked: Asked, refusing: bool = refusing) -> Answer:
                return Refused("unsafe") if refusing else asked.answer()

            answers = ask_calls(Planted(PromotionBug("", answer)), edge(case), lambda *c: None, {})
            assert judge(edge(case), answers).verdict == "tolerated", case.id


def test_vectors_that_ask_for_types_only_miss_bugs_of_values() -> None:
    values = {bug.name: bug for bug in bugs() if bug.outputs}
    missed = 0
    for case in questions()[::5]:
        calls = edge(case)
        first = CallSet(
            case, calls.calls[:1], calls.expected[:1], calls.decisions, calls.coverage, calls.form
        )
        for name in ("truncated", "sign not extended", "-0 lost"):
            if Planting(case).observable(values[name]):
                assert not failing(Planted(values[name]), first), case.id
                missed += 1
    assert missed > 50
