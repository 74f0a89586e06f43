"""Put cases to a backend that lives, and sometimes dies, in worker processes."""

from __future__ import annotations

import sys
import tempfile
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from convcheck.backends.protocol import max_elements, prepare_backend
from convcheck.run.lane import Desk, Lane, Reported, Stopped
from convcheck.run.messages import Corpus, Job, Judge, Setup
from convcheck.run.result import FAILURES, BackendInfo, CaseResult, remarks
from convcheck.spec.model import Case

LARGEST_BATCH = 32
BATCHES_A_LANE = 8  # so that no lane is left alone with much to do at the end


@dataclass(frozen=True)
class Execution:
    """What came of it: results in plan order, of an interrupted run those that there are."""

    results: tuple[CaseResult, ...]
    backend: BackendInfo
    interrupted: bool = False
    restarts: int = 0

    @property
    def notes(self) -> tuple[str, ...]:
        """What there is to say of it."""
        return remarks(self.restarts, self.results)


def _to_stderr(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def execute(
    address: str,
    cases: Sequence[Case],
    corpus: Corpus,
    *,
    jobs: int,
    timeout: float,
    fail_fast: bool,
    on_result: Callable[[CaseResult], None],
    judge: Judge | None = None,
    say: Callable[[str], None] = _to_stderr,
    on_backend: Callable[[BackendInfo], None] | None = None,
) -> Execution:
    """Ask every case in `jobs` worker processes; tell `on_result` of each as it comes, and before
    that `on_backend` how the backend names itself.

    A call of the backend that takes `timeout` seconds counts as a crash. With `fail_fast`, the
    run ends with the first failure. Raises UnavailableError or UsageError where the backend
    cannot be opened. `say` is told what a backend prepares before that, once on a machine.
    """
    max_elements()  # what is wrong in the environment is an error here, once
    prepare_backend(address, say)
    with tempfile.TemporaryDirectory(prefix="convcheck-") as folder:
        batches = _batches(cases, jobs)
        desk = Desk(Setup(address, corpus, judge), Path(folder), timeout, batches)
        run = _Run(desk, [Lane(desk) for _ in range(min(jobs, len(batches)))])
        interrupted = False
        try:
            run.follow(fail_fast, on_result, on_backend)
        except KeyboardInterrupt:
            interrupted = True
        finally:
            run.end()
    results = tuple(run.results[position] for position in sorted(run.results))
    backend = run.backend or BackendInfo(address, "")
    return Execution(results, backend, interrupted, desk.restarts)


def _batches(cases: Sequence[Case], jobs: int) -> deque[list[Job]]:
    size = max(1, min(LARGEST_BATCH, len(cases) // (max(jobs, 1) * BATCHES_A_LANE)))
    plan = [Job(position, case) for position, case in enumerate(cases)]
    return deque(plan[begin : begin + size] for begin in range(0, len(plan), size))


class _Run:
    """The main thread's side: it hears what the lanes report."""

    def __init__(self, desk: Desk, lanes: list[Lane]) -> None:
        self.desk, self.lanes = desk, lanes
        self.results: dict[int, CaseResult] = {}
        self.backend: BackendInfo | None = None

    def follow(
        self,
        fail_fast: bool,
        on_result: Callable[[CaseResult], None],
        on_backend: Callable[[BackendInfo], None] | None,
    ) -> None:
        """Hear every report until the last lane has stopped, or the first failure."""
        for lane in self.lanes:
            lane.start()
        running = len(self.lanes)
        while running:
            report = self.desk.reports.get()
            if isinstance(report, BackendInfo):
                self.backend = report
                if on_backend:
                    on_backend(report)
            elif isinstance(report, Stopped):
                running -= 1
                if report.error:
                    raise report.error
            elif self._failed(report, on_result) and fail_fast:
                return

    def _failed(self, report: Reported, on_result: Callable[[CaseResult], None]) -> bool:
        self.results[report.position] = report.result
        on_result(report.result)
        return report.result.verdict in FAILURES

    def end(self) -> None:
        """End the workers that are left, and wait for the lanes to notice."""
        self.desk.stop()
        for lane in self.lanes:
            if lane.ident is not None:
                lane.join()
