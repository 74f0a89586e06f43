"""The one way to have units of a plan done: a generator of what comes of them.

Every command that asks a backend anything uses it: `run`, `survey` and `baseline` gather the parts,
`explain` and `repro` take the results of cases as they are. Where results are kept for a run that
is killed, the log is handed in.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Protocol

from convcheck import signals
from convcheck.ask.jobs import Job, Judge, VectorSource
from convcheck.backends.protocol import max_elements, prepare_backend
from convcheck.judge.result import FAILURES, BackendInfo, CaseResult, Part, RunResult, remarks
from convcheck.plan.units import Unit, part_of
from convcheck.pool.lane import Report, Reported, Restarts
from convcheck.pool.local import locally
from convcheck.pool.messages import Setup
from convcheck.rules.cause_files import CauseFile
from convcheck.rules.load import Catalog
from convcheck.rules.model import Case
from convcheck.streams import say


@dataclass(frozen=True)
class Workers:
    """Who does the work."""

    #: worker processes on this machine; None for one a core
    count: int | None = None
    #: the address of a Dask cluster, whose workers do it instead; None for this machine
    executor: str | None = None


@dataclass(frozen=True)
class Done:
    """A unit that was done, and what came of it."""

    unit: Unit
    part: Part
    #: whether it was done by an earlier run, as the journal has it
    before: bool = False
    #: how long it took, in seconds
    seconds: float = 0.0


@dataclass(frozen=True)
class Turn:
    """A backend's turn, of several: its run, or why it could not be started."""

    #: As addressed on the command line.
    address: str
    #: None where it could not be started.
    run: RunResult | None
    #: Why; '' where it was.
    error: str = ""


Event = BackendInfo | Done | Restarts


class ResultStore(Protocol):
    """Where results are kept as they come, and the units that an earlier run has done."""

    @property
    def backend(self) -> BackendInfo | None:
        """How the backend names itself, None where it was not opened yet."""
        ...

    @property
    def done(self) -> Mapping[str, Part]:
        """What is done already, by the id of the unit."""
        ...

    def name(self, backend: BackendInfo) -> None:
        """Keep how the backend names itself. Raises UsageError if it is another one."""
        ...

    def add(self, unit: Unit, part: Part) -> None:
        """Keep what came of a unit."""
        ...


def to_stderr(line: str) -> None:
    """Print a line for the user."""
    say(line, err=True)


def run(
    setup: Setup,
    plan: Sequence[Unit],
    workers: Workers,
    journal: ResultStore | None = None,
    say: Callable[[str], None] = to_stderr,
) -> Generator[Event, None, None]:
    """Have the units of a plan done; yield each as it is done, how the backend names itself, and
    the number of workers that died so far whenever it grows.

    What the journal has comes first, and is not asked again. `say` is told what a backend
    prepares. Closing the generator ends the workers. Raises UnavailableError or UsageError where
    the backend cannot be opened.
    """
    done = journal.done if journal else {}
    yield from (Done(unit, done[unit.id], before=True) for unit in plan if unit.id in done)
    left = [unit for unit in plan if unit.id not in done]
    with closing(_reports(setup, left, workers, say)) as reports:
        for report in reports:
            if isinstance(report, Reported):
                unit = left[report.position]
                part = part_of(unit, report.result)
                if journal:
                    journal.add(unit, part)
                yield Done(unit, part, seconds=report.seconds)
            else:
                if journal and isinstance(report, BackendInfo):
                    journal.name(report)
                yield report


def _reports(
    setup: Setup, plan: Sequence[Unit], workers: Workers, say: Callable[[str], None]
) -> Generator[Report, None, None]:
    """Choose who does the jobs. What is wrong in this environment is an error here, once."""
    jobs = [
        Job(n, unit.case, span=unit.span, main=unit.main, later=unit.later)
        for n, unit in enumerate(plan)
    ]
    if workers.executor:
        from convcheck.pool.dask import on_cluster

        return on_cluster(workers.executor, setup, jobs, setup.timeout)
    max_elements()
    prepare_backend(setup.address, say)
    return locally(setup, jobs, workers.count or os.cpu_count() or 1, setup.timeout)


@dataclass(frozen=True)
class Execution:
    """Results of cases in the order of the plan; of an interrupted run, those that there are."""

    #: A result a case.
    results: tuple[CaseResult, ...]
    #: Who answered.
    backend: BackendInfo
    interrupted: bool = False
    #: How many workers died and were replaced.
    restarts: int = 0

    @property
    def notes(self) -> tuple[str, ...]:
        """What there is to say of it."""
        return remarks(self.restarts, self.results)


def execute(
    address: str,
    cases: Sequence[Case],
    corpus: VectorSource,
    *,
    jobs: int | None = 1,
    timeout: float,
    thorough: bool = False,
    fail_fast: bool = False,
    on_result: Callable[[CaseResult], None] = lambda result: None,
    judge: Judge | None = None,
    catalog: Catalog | None = None,
    causes: tuple[CauseFile, ...] = (),
) -> Execution:
    """Ask every case, by its vectors, and return the results. Call `on_result` with each as it
    comes. Large calls, and many, are made if `thorough`. Raises as `run`.
    """
    setup = Setup(address, corpus, judge, timeout, False, catalog, causes)
    plan = [Unit(case, later=() if thorough else None) for case in cases]
    backend, restarts, interrupted = BackendInfo(address, ""), 0, False
    found: dict[str, CaseResult] = {}
    with closing(run(setup, plan, Workers(jobs))) as events:
        try:
            for event in events:
                if isinstance(event, BackendInfo):
                    backend = event
                elif isinstance(event, Restarts):
                    restarts = event.count
                elif result := event.part.vectors or event.part.lost:
                    found[result.case.id] = result
                    on_result(result)
                    if fail_fast and result.verdict in FAILURES:
                        break
        except KeyboardInterrupt:
            signals.handled()
            interrupted = True
    return Execution(_in_order(cases, found), backend, interrupted, restarts)


def _in_order(cases: Sequence[Case], found: Mapping[str, CaseResult]) -> tuple[CaseResult, ...]:
    return tuple(found[case.id] for case in cases if case.id in found)
