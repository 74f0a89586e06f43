"""The document of a run: it holds words and numbers, and nothing of the run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass

import pytest
from report_runs import RUNS

from convcheck.judge.result import CaseResult, Group, Problem, RunResult
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


@pytest.mark.parametrize("name", RUNS)
def test_a_document_holds_nothing_of_its_run(name: str) -> None:
    held = list(within(document(RUNS[name]())))
    assert len(held) > 100
    assert not [one for one in held if isinstance(one, RunResult | CaseResult | Group | Problem)]
    assert not [one for one in held if callable(one) and not isinstance(one, type)]
