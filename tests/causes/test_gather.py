import pytest
from report_runs import explained

from convcheck.causes.gather import chosen_causes, gathered
from convcheck.judge.result import CauseInWords
from convcheck.records import replace

PLAIN, LESS, OTHER, LAST = ("plain",), ("less-plain",), ("other",), ("last",)
BOTH = ("plain", "other")
WORDS = {
    name: CauseInWords(name, name, order)
    for order, name in enumerate(("plain", "less-plain", "other", "last"))
}


def told(fits):
    return list(chosen_causes(fits, WORDS))


FOUND = {
    "what explains most is told first": (
        {"a": [LAST], "b": [OTHER], "c": [OTHER, LAST]},
        [(OTHER, ["b", "c"]), (LAST, ["a"])],
    ),
    "of equal ones the plainest": ({"a": [LESS, PLAIN], "b": [LESS, PLAIN]}, [(PLAIN, ["a", "b"])]),
    "one alone before two together": ({"a": [BOTH, LAST]}, [(LAST, ["a"])]),
    "the plainer one, where another explains what it does not": (
        {"a": [PLAIN, LESS], "b": [PLAIN, LESS], "c": [LESS, OTHER], "d": [OTHER]},
        [(PLAIN, ["a", "b"]), (OTHER, ["c", "d"])],
    ),
    "not where it would take one more": (
        {"a": [PLAIN, LESS], "b": [PLAIN, LESS], "c": [LESS]},
        [(LESS, ["a", "b", "c"])],
    ),
    "none whose cases all others explain": (
        {"a": [LESS, OTHER], "b": [LESS, OTHER], "c": [LESS, LAST], "d": [LESS, LAST],
         "e": [OTHER], "f": [LAST]},
        [(OTHER, ["a", "b", "e"]), (LAST, ["c", "d", "f"])],
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", FOUND)
def test_few_and_plain_causes_are_told(what):
    fits, due = FOUND[what]
    assert told(fits) == due
    assert told(dict(reversed(fits.items()))) == [(n, list(reversed(keys))) for n, keys in due]


def test_the_most_harmful_cause_comes_first():
    """A normative rule before more cases, and a combination last."""
    run = explained()
    before = [[c.name for c in one.causes] for one in gathered(run.cases, run.causes).explanations]
    assert before == [["truncates"], ["nan-at-max"], ["truncates", "nan-at-max"]]
    worse = [
        replace(case, groups=tuple(
            replace(group, decision=replace(group.decision, level="normative"))
            for group in case.groups))
        if case.diagnosis and case.diagnosis.fits[:1] == (("nan-at-max",),) else case
        for case in run.cases
    ]  # fmt: skip
    found = gathered(worse, run.causes).explanations
    assert [[c.name for c in one.causes] for one in found] == [before[1], before[0], before[2]]
