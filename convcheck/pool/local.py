"""Put cases to a backend that lives, and sometimes dies, in worker processes."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence

from convcheck.ask.jobs import Job
from convcheck.pool.batches import in_batches
from convcheck.pool.lane import Lane, Report, Restarts, Stopped, WorkQueue
from convcheck.pool.messages import Setup

BATCHES_A_LANE = 8  # so that no lane is left alone with much to do at the end
WORTH_A_WORKER = 32  # cases: fewer are asked before a second worker has loaded the runtime


def worth_workers(cases: int) -> int:
    """Return how many workers are worth to be started at once for so many cases."""
    return max(cases // WORTH_A_WORKER, 1)


def locally(
    setup: Setup, jobs: Sequence[Job], lanes: int, timeout: float
) -> Generator[Report, None, None]:
    """Do jobs in so many worker processes; report how the backend names itself, once, and each
    result as it comes.

    A call of the backend that takes `timeout` seconds counts as a crash. Closing the generator
    ends the workers. Raises UnavailableError or UsageError where the backend cannot be opened.
    """
    batches = in_batches(jobs, lanes, BATCHES_A_LANE)
    queue = WorkQueue(setup, timeout, batches)
    begin = max(worth_workers(len(jobs)), sum(job.span is not None for job in jobs))
    threads = [Lane(queue, late=n >= begin) for n in range(min(lanes, len(batches)))]
    try:
        yield from _heard(queue, threads)
    finally:
        queue.stop()
        for thread in threads:
            if thread.ident is not None:
                thread.join()


def _heard(queue: WorkQueue, lanes: list[Lane]) -> Iterator[Report]:
    """Return every report until the last lane has stopped."""
    for lane in lanes:
        lane.start()
    running, restarts = len(lanes), 0
    while running:
        report = queue.reports.get()
        if queue.restarts != restarts:
            restarts = queue.restarts
            yield Restarts(restarts)
        if isinstance(report, Stopped):
            running -= 1
            if report.error:
                raise report.error
        else:
            yield report
