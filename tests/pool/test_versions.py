from contextlib import closing

import pytest
from catalogue import CATALOG

from convcheck.judge.answers import LARGE_CALLS, MANY_CALLS
from convcheck.judge.result import FAILURES
from convcheck.plan.runner import Done, run
from convcheck.plan.units import later_versions, units
from convcheck.pool.messages import Setup
from convcheck.rules.cases import cases
from convcheck.rules.load import data_dir
from convcheck.vectors.corpus import open_corpus

VERSIONS = ("onnx.Cast-9", "onnx.Cast-19", "onnx.Cast-21")
CASES = [c for name in VERSIONS for c in cases(CATALOG.specs[name]) if c.name == "int8-to-int8"]
_, NINETEEN, TWENTY_ONE = (case.id for case in CASES)
CORPUS = open_corpus(CATALOG, "edge", 0, data_dir("vectors"))
LARGE, LARGEST = LARGE_CALLS


def asked(name, plan):
    setup = Setup(f"tests.planted.placed_backends:{name}", CORPUS, None, 30.0)
    with closing(run(setup, plan, 1)) as events:
        found = (event.part.vectors for event in events if isinstance(event, Done))
        return {result.case.id: result for result in found if result}


def failing(name, plan):
    return {
        case: list(
            dict.fromkeys((g.verdict, g.placement) for g in result.groups if g.verdict in FAILURES)
        )
        for case, result in asked(name, plan).items()
        if result.verdict in FAILURES
    }


def test_later_versions_are_those_that_ask_the_same():
    nine, nineteen, latest = CASES
    other = next(c for c in cases(CATALOG.specs["onnx.Cast-21"]) if c.name == "int8-to-int16")
    found = later_versions([nineteen, latest, other, nine])
    assert found == {
        nine.id: (latest, nineteen), nineteen.id: (latest,), latest.id: (), other.id: (),
    }  # fmt: skip


PLACED = {
    "PastLoop": [("fail", LARGE), ("fail", LARGEST)],
    "PastThread": [("fail", LARGEST)],
    "After100": [("fail", MANY_CALLS)],
    "Transposed": [("fail", "2-D")],
    "Reversed": [("fail", "3-D")],
    "RefusesLarge": [("refused", LARGE), ("refused", LARGEST)],
    "PastThreadDies": [("crashed", LARGEST)],
}


@pytest.mark.parametrize("name", PLACED)
def test_the_latest_version_is_asked_in_large_calls_and_in_many(name):
    """State that comes with calls belongs to the process. Rank 3 with a dimension of 1 is asked of
    every version.
    """
    found = failing(name, units(CASES, lambda case: ()))
    assert found.pop(TWENTY_ONE) == PLACED[name]
    assert not found or name in ("After100", "Reversed")


def test_a_call_that_is_too_large_to_live_is_told_by_its_shape():
    found = asked("PastThreadDies", units(CASES[-1:], lambda case: ()))
    [died] = [g for g in found[TWENTY_ONE].groups if g.verdict == "crashed"]
    assert died.kind == "died of SIGSEGV in shape (66643,)"


@pytest.mark.parametrize("of", [1, 2, 3])
def test_of_versions_that_are_declined_the_one_before_is_asked(of):
    plan = units(CASES, lambda case: ())
    found = {}
    for index in range(of):
        found |= failing("Old", plan[index::of])
    assert found == {NINETEEN: PLACED["PastLoop"]}


def test_who_dies_of_a_later_version_is_not_to_blame_for_it_in_an_earlier_one():
    plan = units(CASES, lambda case: ())[1:2]
    assert failing("LatestDies", plan) == {NINETEEN: PLACED["PastLoop"]}
