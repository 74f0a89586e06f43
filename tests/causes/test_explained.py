"""Causes found for public bug reports are right. Bugs without causes get none."""

from functools import cache

import pytest
from catalogue import CATALOG, CORPUS
from planted.causes import EVERY, answering
from planted.field.bugs import BUGS as FIELD
from planted.field.caught import latest_cases

from convcheck.causes.search import Search, diagnose
from convcheck.vectors.corpus import Corpus


@cache
def search():
    return Search(EVERY, CATALOG)


def converted(case, convert, tier):
    of_tier = CORPUS if tier == "edge" else Corpus(CATALOG, tier, 0, ())
    vectors = of_tier.vectors(case)
    return vectors, answering(vectors, convert(vectors.inputs[0]))


FEW = 4


@pytest.mark.parametrize(
    "bug",
    [pytest.param(bug, id=bug.name, marks=[pytest.mark.slow] * bool(number % FEW))
     for number, bug in enumerate(FIELD)],
)  # fmt: skip
def test_what_is_said_of_a_report_is_what_it_says(bug):
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
