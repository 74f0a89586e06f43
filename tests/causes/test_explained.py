"""Causes found for public bug reports are right. Bugs without causes get none."""

from functools import cache

import pytest
from catalogue import CATALOG, CORPUS
from planted.causes import EVERY, Convert, answering
from planted.field.bug import FieldBug
from planted.field.bugs import BUGS as FIELD
from planted.field.caught import latest_cases

from convcheck.causes.search import Search, diagnose
from convcheck.judge.answers import Answers
from convcheck.rules.model import Case
from convcheck.vectors.corpus import Corpus
from convcheck.vectors.model import Tier, VectorSet


@cache
def search() -> Search:
    return Search(EVERY, CATALOG)


def converted(case: Case, convert: Convert, tier: Tier) -> tuple[VectorSet, Answers]:
    of_tier = CORPUS if tier == "edge" else Corpus(CATALOG, tier, 0, ())
    vectors = of_tier.vectors(case)
    assert isinstance(vectors, VectorSet)
    return vectors, answering(vectors, convert(vectors.inputs[0]))


FEW = 4


@pytest.mark.parametrize(
    "bug",
    [pytest.param(bug, id=bug.name, marks=[pytest.mark.slow] * bool(number % FEW))
     for number, bug in enumerate(FIELD)],
)  # fmt: skip
def test_what_is_said_of_a_report_is_what_it_says(bug: FieldBug) -> None:
    """Every fourth report; the slow tests check all."""
    case = latest_cases(bug.op)[bug.case]
    found = diagnose(search(), *converted(case, bug.convert, "edge"))
    assert found is not None
    assert found.fits[:1] == tuple(filter(None, [bug.causes]))
    for names in found.fits[:1]:
        alone = Search(search().named(names), CATALOG)
        again = diagnose(alone, *converted(case, bug.convert, "boundary"))
        assert again is not None
        assert names in again.fits
