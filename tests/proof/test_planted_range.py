"""The edge calls of the sequence operators catch every planted bug that can be seen at all.

Counted are pairs of a bug and a case; what can be seen is told by a hundred more calls a case.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from catalogue import CATALOG, calls_asked
from oracle.ranges import SilentError
from planted.range_bugs import BUGS, Bug, answer, question

from convcheck.backends.protocol import Outputs
from convcheck.judge.answers import ANSWERED, NOT_ASKED, CallAnswers
from convcheck.judge.case import judge
from convcheck.judge.result import CaseResult
from convcheck.records import replace
from convcheck.rules.cases import cases
from convcheck.rules.model import Case, Spec
from convcheck.semantics.expected import EXACT
from convcheck.vectors.body import calls_of
from convcheck.vectors.calls import expecting
from convcheck.vectors.model import CallSet, Tier

Record = Callable[[str, object], None]
SPECS = [CATALOG.specs[name] for name in ("openvino.Range-4", "onnx.Range-11", "onnx.Range-27")]
FROM = ("float32", "float64")  # beside an output's own type


def chosen(spec: Spec) -> list[Case]:
    """Cases whose inputs are all of one type: the output's, float32 or float64."""
    return [
        case
        for case in cases(spec)
        if len({t.name for t in case.inputs}) == 1
        and case.inputs[0].name in (*FROM, case.outputs[0].name)
    ]


CASES = [(spec, case) for spec in SPECS for case in chosen(spec)]


@cache
def asked(index: int, tier: Tier) -> CallSet:
    """The calls of a case where an answer is due."""
    spec, case = CASES[index]
    if tier == "edge":
        whole = calls_asked(case)
    else:
        more, coverage = calls_of(spec, case, tier, 0)
        whole = expecting(spec, case, more[::3], coverage)
    due = [i for i, e in enumerate(whole.expected) if e.readings[0].pattern == EXACT]
    calls, expected = (tuple(part[i] for i in due) for part in (whole.calls, whole.expected))
    return replace(whole, calls=calls, expected=expected)


def answers(bug: Bug | None, calls: CallSet) -> CallAnswers:
    """What a backend with a bug says; where a bug has no answer, it is not asked."""
    case = calls.case
    got: list[Outputs | None] = []
    for call, expected in zip(calls.calls, calls.expected, strict=True):
        codes: tuple[int, ...] | None = tuple(expected.readings[0].outputs[0].codes.tolist())
        if bug is not None:
            codes = attempt(bug, case, tuple(int(tensor) for tensor in call))
        array = np.array(codes or (), case.outputs[0].format.storage)
        got.append(None if codes is None else Outputs((array,), (case.outputs[0].name,)))
    state = np.array([NOT_ASKED if one is None else ANSWERED for one in got], np.uint8)
    return CallAnswers(tuple(got), state, {})


def attempt(bug: Bug, case: Case, codes: tuple[int, ...]) -> tuple[int, ...] | None:
    types = tuple(dtype.name for dtype in case.inputs)
    try:
        return answer(bug, question(types, case.outputs[0].name, codes))
    except SilentError:
        return None


def judged(bug: Bug | None, calls: CallSet) -> CaseResult:
    return judge(calls, answers(bug, calls))


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_a_planted_bug_is_caught_wherever_it_is_observable(
    bug: Bug, record_property: Record
) -> None:
    seen, caught = [], []
    for index, (_, case) in enumerate(CASES):
        if judged(bug, asked(index, "edge")).verdict == "fail":
            caught.append(case.id)
            seen.append(case.id)
        elif judged(bug, asked(index, "boundary")).verdict == "fail":
            seen.append(case.id)
    print(f"\n{bug.name}: {len(seen)} observable, {len(caught)} caught", end="")
    record_property("planted (Range)", (len(seen), len(caught)))
    assert seen
    assert seen == caught


@pytest.mark.parametrize("index", range(len(CASES)), ids=[case.id for _, case in CASES])
def test_the_first_reading_is_never_accused(index: int) -> None:
    assert judged(None, asked(index, "edge")).verdict in ("pass", "tolerated")
