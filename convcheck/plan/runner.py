"""Run a plan's units, and yield their results."""

import os
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial

from convcheck import signals
from convcheck.ask.jobs import Job, Judge, VectorSource
from convcheck.backends.protocol import max_elements, prepare_backend
from convcheck.judge.calls import judge
from convcheck.judge.result import BackendInfo, CaseResult, Part, RunResult
from convcheck.plan.units import Unit, part_of
from convcheck.pool.lane import Report, Reported, Restarts
from convcheck.pool.local import locally
from convcheck.pool.messages import Setup
from convcheck.records import replace
from convcheck.rules.cases import cases
from convcheck.rules.causes import CauseFile
from convcheck.rules.load import Catalog
from convcheck.rules.model import Case, Spec
from convcheck.semantics.evaluate import evaluate
from convcheck.streams import say
from convcheck.vectors.model import CallSet, Vectors


@dataclass(frozen=True)
class Done:
    """A finished unit and its result."""

    unit: Unit
    part: Part
    seconds: float


@dataclass(frozen=True)
class Turn:
    """The run of one of several backends, or why it did not start."""

    address: str
    run: RunResult | None
    error: str = ""


Event = BackendInfo | Done | Restarts


def run(
    setup: Setup, plan: Sequence[Unit], jobs: int | None, executor: str | None = None
) -> Generator[Event, None, None]:
    """Run a plan's units. Yields each result, the backend's name, and restarts as they grow.

    `jobs` is the number of processes, None for one per core; `executor` is a Dask cluster. Closing
    the generator ends the workers. Raises UnavailableError or UsageError.
    """
    with closing(_reports(setup, plan, jobs, executor)) as reports:
        for report in reports:
            if isinstance(report, Reported):
                unit = plan[report.position]
                yield Done(unit, part_of(unit, report.result), report.seconds)
            else:
                yield report


def _reports(
    setup: Setup, plan: Sequence[Unit], count: int | None, executor: str | None
) -> Generator[Report, None, None]:
    jobs = [
        Job(n, unit.case, span=unit.span, main=unit.main, later=unit.later)
        for n, unit in enumerate(plan)
    ]
    if executor:
        from convcheck.pool.dask import on_cluster

        return on_cluster(executor, setup, jobs, setup.timeout)
    max_elements()
    prepare_backend(setup.address, partial(say, err=True))
    return locally(setup, jobs, count or os.cpu_count() or 1, setup.timeout)


def execute(
    address: str,
    cases: Sequence[Case],
    corpus: VectorSource,
    *,
    jobs: int | None = 1,
    timeout: float,
    thorough: bool = False,
    on_result: Callable[[CaseResult], None] = lambda result: None,
    judge: Judge | None = None,
    catalog: Catalog | None = None,
    causes: tuple[CauseFile, ...] = (),
) -> RunResult:
    """Test every case with its vectors, with large and many calls if `thorough`.

    The run has no tier and no vectors; its cases are in plan order, incomplete if interrupted.
    """
    setup = Setup(address, corpus, judge, timeout, False, catalog, causes)
    plan = [Unit(case, later=() if thorough else None) for case in cases]
    backend, restarts, interrupted = BackendInfo(address, ""), 0, False
    found: dict[str, CaseResult] = {}
    with closing(run(setup, plan, jobs)) as events:
        try:
            for event in events:
                if isinstance(event, BackendInfo):
                    backend = event
                elif isinstance(event, Restarts):
                    restarts = event.count
                elif result := event.part.vectors or event.part.lost:
                    found[result.case.id] = result
                    on_result(result)
        except KeyboardInterrupt:
            signals.handled()
            interrupted = True
    results = tuple(found[case.id] for case in cases if case.id in found)
    return RunResult(
        backend, "", "disputed", (), results, interrupted=interrupted, restarts=restarts
    )


@dataclass(frozen=True)
class Single:
    """A corpus of one case's vectors, with the same inputs for other cases."""

    one: Vectors
    spec: Spec | None = None
    before: Case | None = None

    def vectors(self, case: Case) -> Vectors:
        """Return a case's vectors."""
        if case == self.one.case:
            return self.one
        if self.spec is None or isinstance(self.one, CallSet):
            return replace(self.one, case=case)
        expected = evaluate(self.spec, case, self.one.inputs[0])
        return replace(self.one, case=case, expected=expected)

    @property
    def cases(self) -> list[Case]:
        """The case and those that differ only in attribute values."""
        case, spec = self.one.case, self.spec
        if spec is None or isinstance(self.one, CallSet):
            return [*filter(None, [self.before]), case]
        types = (case.inputs, case.outputs)
        alike = [one for one in cases(spec) if (one.inputs, one.outputs) == types]
        return alike if case in alike else [case]

    def result(self, done: RunResult) -> CaseResult:
        """Return the result of the case itself. Raises KeyboardInterrupt if there is none."""
        for result in done.cases:
            if result.case == self.one.case and not done.interrupted:
                return result
        raise KeyboardInterrupt


def ask_one_input(
    address: str, vectors: Vectors, timeout: float, catalog: Catalog
) -> tuple[BackendInfo, CaseResult]:
    """Test one input on a backend, also with other attribute values. Raises as `run`."""
    corpus = Single(vectors, catalog.specs[vectors.case.spec])
    done = execute(
        address, corpus.cases, corpus, timeout=timeout, thorough=True,
        judge=partial(judge, show_all=True), catalog=catalog.only([vectors.case.spec]),
    )  # fmt: skip
    return done.backend, corpus.result(done)
