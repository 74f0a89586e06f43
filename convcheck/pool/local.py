"""Put cases to a backend that lives, and sometimes dies, in worker processes."""

from __future__ import annotations

import sys
import tempfile
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from convcheck.ask.jobs import Job
from convcheck.backends.protocol import max_elements, prepare_backend
from convcheck.judge.result import FAILURES, BackendInfo, CaseResult, remarks
from convcheck.pool.lane import Desk, Lane, Report, Restarts, Stopped
from convcheck.pool.messages import Corpus, Judge, Setup
from convcheck.rules.model import Case

LARGEST_BATCH = 32
BATCHES_A_LANE = 8  # so that no lane is left alone with much to do at the end
WORTH_A_WORKER = 32  # cases: fewer are asked before a second worker has loaded the runtime


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


def to_stderr(line: str) -> None:
    """Print a line for the user."""
    print(line, file=sys.stderr, flush=True)


def locally(
    setup: Setup, jobs: Sequence[Job], lanes: int, timeout: float
) -> Generator[Report, None, None]:
    """Do jobs in so many worker processes; report how the backend names itself, once, and each
    result as it comes.

    A call of the backend that takes `timeout` seconds counts as a crash. Closing the generator
    ends the workers. Raises UnavailableError or UsageError where the backend cannot be opened.
    """
    with tempfile.TemporaryDirectory(prefix="convcheck-") as folder:
        batches = _batches(jobs, lanes)
        desk = Desk(setup, Path(folder), timeout, batches)
        at_once = max(len(jobs) // WORTH_A_WORKER, sum(job.span is not None for job in jobs), 1)
        threads = [Lane(desk, late=n >= at_once) for n in range(min(lanes, len(batches)))]
        try:
            yield from _heard(desk, threads)
        finally:
            desk.stop()
            for thread in threads:
                if thread.ident is not None:
                    thread.join()


def _heard(desk: Desk, lanes: list[Lane]) -> Iterator[Report]:
    """Give every report until the last lane has stopped."""
    for lane in lanes:
        lane.start()
    running, restarts = len(lanes), 0
    while running:
        report = desk.reports.get()
        if desk.restarts != restarts:
            restarts = desk.restarts
            yield Restarts(restarts)
        if isinstance(report, Stopped):
            running -= 1
            if report.error:
                raise report.error
        else:
            yield report


def _batches(jobs: Sequence[Job], lanes: int) -> deque[list[Job]]:
    size = max(1, min(LARGEST_BATCH, len(jobs) // (max(lanes, 1) * BATCHES_A_LANE)))
    return deque(list(jobs[begin : begin + size]) for begin in range(0, len(jobs), size))


def prepare(address: str, say: Callable[[str], None]) -> None:
    """Do what comes before the first worker: what is wrong in the environment is an error here,
    once; `say` is told what a backend prepares, once on a machine.
    """
    max_elements()
    prepare_backend(address, say)


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
    say: Callable[[str], None] = to_stderr,
) -> Execution:
    """Ask every case, by its vectors, in `jobs` worker processes; tell `on_result` of each result
    as it comes.

    With `fail_fast`, the run ends with the first failure. Raises and stops as `locally` does.
    """
    prepare(address, say)
    plan = [Job(position, case) for position, case in enumerate(cases)]
    results: dict[int, CaseResult] = {}
    backend, restarts, interrupted = BackendInfo(address, ""), 0, False
    with closing(locally(Setup(address, corpus, judge), plan, jobs, timeout)) as reports:
        try:
            for report in reports:
                if isinstance(report, BackendInfo):
                    backend = report
                elif isinstance(report, Restarts):
                    restarts = report.count
                else:
                    result = results[report.position] = cast(CaseResult, report.result)
                    on_result(result)
                    if fail_fast and result.verdict in FAILURES:
                        break
        except KeyboardInterrupt:
            interrupted = True
    found = tuple(results[position] for position in sorted(results))
    return Execution(found, backend, interrupted, restarts)
