"""The one runner: what a journal has is not asked again, and what is done is kept as it comes."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing

import pytest
from places import ROOT
from planted.identity import Corpus, case, judge

from convcheck.judge.result import BackendInfo, CaseResult, Part
from convcheck.plan.runner import Done, Event, Workers, run
from convcheck.plan.units import Unit
from convcheck.pool.lane import Restarts
from convcheck.pool.messages import Setup

PLAN = [Unit(case(number)) for number in range(3)]


class Notebook:
    """A journal in memory, in which the case number 1 is done already."""

    def __init__(self) -> None:
        earlier = CaseResult(case(1), "pass", 5, "edge", (), "asked by an earlier run")
        self.done = {PLAN[1].id: Part(case(1), vectors=earlier)}
        self.lines: list[object] = []

    def name(self, backend: BackendInfo) -> None:
        self.lines.append(backend)

    def add(self, unit: Unit, part: Part) -> None:
        self.lines.append((unit.id, part))


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[Event]]:
    monkeypatch.chdir(ROOT)

    def ask(name: str, journal: Notebook | None) -> list[Event]:
        setup = Setup(f"tests.planted.bad_backends:{name}", Corpus(), judge, 20.0)
        with closing(run(setup, PLAN, Workers(1), journal)) as events:
            return list(events)

    return ask


def test_what_is_done_comes_first_and_is_not_asked(heard: Callable[..., list[Event]]) -> None:
    notebook = Notebook()
    first, info, *rest = heard("Segfault", notebook)  # which dies of the case number 1 alone
    assert isinstance(first, Done)
    assert (first.unit, first.before) == (PLAN[1], True)
    assert first.part.vectors is not None
    assert first.part.vectors.message == "asked by an earlier run"
    assert [(e.unit, e.before) for e in rest if isinstance(e, Done)] == [
        (PLAN[0], False),
        (PLAN[2], False),
    ]
    assert not [e for e in rest if isinstance(e, Restarts)]
    added = [(e.unit.id, e.part) for e in rest if isinstance(e, Done)]
    assert notebook.lines == [info, *added]


def test_without_a_journal_all_is_asked_and_deaths_are_counted(
    heard: Callable[..., list[Event]],
) -> None:
    events = heard("Segfault", None)
    assert {e.unit.id for e in events if isinstance(e, Done)} == {unit.id for unit in PLAN}
    assert [e for e in events if isinstance(e, Restarts)]
