"""The document of a run: it holds words and numbers, and nothing of the run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass

import pytest
from report_runs import ELSE, PARSE, RUNS, answered, case, group, run

from convcheck.judge.result import CaseResult, Group, Problem, RunResult
from convcheck.report.html.data import data
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


def test_only_in_a_placement_is_said_where_another_was_asked_and_was_right() -> None:
    one = case("onnx.Cast-19", "float32", "float16")
    right, undefined = group(ELSE, "pass"), group(PARSE, "pass")
    tail = group(ELSE, "fail", "zero", placement="odd tail")
    alone = group(ELSE, "fail", "zero", placement="alone")
    bulk = group(ELSE, "fail", "zero", placement="bulk")
    for groups, where in (
        ((right, tail), 'only in placement "odd tail"'),
        ((right, tail, alone), 'in placement "odd tail"'),
        ((group(ELSE, "fail", "one"), tail), 'in placement "odd tail"'),
        ((bulk,), 'in placement "bulk"'),  # of a part of a sweep: nothing else was asked
        ((undefined, bulk), 'in placement "bulk"'),
        ((right, bulk), 'only in placement "bulk"'),
    ):
        found = document(run(answered(one, *groups))).findings
        placed = next(each for each in found if each.members[0].placement == where.split('"')[1])
        assert (placed.where, placed.what) == (where, f"zero, {where}")
        assert data(document(run(answered(one, *groups))))["texts"].count(where) == 1


@pytest.mark.parametrize("name", RUNS)
def test_a_document_holds_nothing_of_its_run(name: str) -> None:
    held = list(within(document(RUNS[name]())))
    assert len(held) > 100
    assert not [one for one in held if isinstance(one, RunResult | CaseResult | Group | Problem)]
    assert not [one for one in held if callable(one) and not isinstance(one, type)]
