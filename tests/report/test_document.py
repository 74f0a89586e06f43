"""The document of a run: it holds words and numbers, and nothing of the run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass, replace

import pytest
from report_runs import RUNS

from convcheck.judge.result import CaseResult, Group, Problem, RunResult
from convcheck.plan.diff import diff_runs
from convcheck.report.difference import difference_in_words
from convcheck.report.make import document


def within(thing: object) -> Iterator[object]:
    """Yield a thing and all that it is made of."""
    yield thing
    parts: Iterator[object] = iter(())
    if is_dataclass(thing):
        parts = (getattr(thing, field.name) for field in fields(thing))
    elif isinstance(thing, Mapping):
        parts = iter([*thing, *thing.values()])
    elif isinstance(thing, tuple | list | frozenset | set):
        parts = iter(thing)
    for part in parts:
        yield from within(part)


def test_a_difference_is_of_words() -> None:
    old = RUNS["failing"]()
    mended = tuple(replace(case, verdict="pass", groups=()) for case in old.cases[1:])
    new = replace(old, cases=(*mended, *RUNS["kinds"]().cases))
    held = list(within(difference_in_words(diff_runs(old, new))))
    assert len(held) > 20
    outside = {type(one).__name__ for one in held if not isinstance(one, str | tuple)}
    assert outside == {"DifferenceInWords", "ChangedFinding", "ChangedCases"}


@pytest.mark.parametrize("name", RUNS)
def test_a_document_holds_nothing_of_its_run(name: str) -> None:
    held = list(within(document(RUNS[name]())))
    assert len(held) > 100
    assert not [one for one in held if isinstance(one, RunResult | CaseResult | Group | Problem)]
    assert not [one for one in held if callable(one) and not isinstance(one, type)]
