"""Run cases in worker processes on this machine."""

import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from queue import Empty, SimpleQueue

from convcheck.ask.jobs import Job
from convcheck.backends.protocol import max_elements, prepare_backend
from convcheck.judge.result import BackendInfo, CaseResult, Tally
from convcheck.judge.tally import finish_whole
from convcheck.pool.forkserver import Start
from convcheck.pool.lane import Lane, Report, Reported, Restarts, WorkQueue
from convcheck.pool.messages import Setup
from convcheck.pool.process import LEAVING, WorkerProcess
from convcheck.records import grouped
from convcheck.rules.causes import CauseFile
from convcheck.rules.model import Case
from convcheck.vectors.corpus import Corpus
from convcheck.vectors.model import Vectors

LARGEST = 32  # jobs in a batch, unless they have to stay together


def in_batches(jobs: Sequence[Job], lanes: int, a_lane: int) -> deque[list[Job]]:
    """Return about `a_lane` batches per lane, of cases with the same types, versions adjacent."""
    size = max(1, min(LARGEST, len(jobs) // (max(lanes, 1) * a_lane)))
    batches, batch = deque[list[Job]](), list[Job]()
    for group in _groups(jobs):
        if len(batch) + len(group) > size:
            batches.append(batch)
            batch = []
        batch = batch + group
    return deque(filter(None, (*batches, batch)))


def _groups(jobs: Sequence[Job]) -> Iterator[list[Job]]:
    """Jobs of the same types are adjacent, to show kernels that ignore attribute values."""
    for some in grouped((job.case.question.partition("/")[0], job) for job in jobs).values():
        questions = grouped((job.case.question, job) for job in some)
        alike = [job for same in questions.values() for job in reversed(same)]
        yield [job for job in alike if _has_siblings(job)]
        yield from ([job] for job in alike if not _has_siblings(job))


def _has_siblings(job: Job) -> bool:
    return job.span is None and not job.case.whole_calls


BATCHES_A_LANE = 8  # balances the lanes at the end
WORTH_A_WORKER = 32  # cases; fewer finish before a second worker has loaded the runtime
AWAKE = 1.0  # seconds between looks at signals
PATIENCE = 0.25  # seconds for the first worker to finish a small plan alone

_Reports = SimpleQueue[Report | BaseException | None]


def worth_workers(cases: int) -> int:
    """Return the number of workers worth starting at once."""
    return max(cases // WORTH_A_WORKER, 1)


def locally(
    setup: Setup, jobs: Sequence[Job], lanes: int, timeout: float
) -> Generator[Report, None, None]:
    """Run jobs in `lanes` worker processes, and yield reports. Closing the generator ends the
    workers.

    A call of `timeout` seconds counts as a crash. Raises UnavailableError or UsageError.
    """
    queue = WorkQueue(setup, timeout, in_batches(jobs, lanes, BATCHES_A_LANE))
    reports: _Reports = SimpleQueue()
    running = min(lanes, len(queue.batches))
    early = max(worth_workers(len(jobs)), sum(job.span is not None for job in jobs))
    threads = [
        threading.Thread(target=_work, args=(queue, n >= early, reports), name="lane", daemon=True)
        for n in range(running)
    ]
    try:
        for thread in threads:
            thread.start()
        while running:
            try:
                report = reports.get(timeout=AWAKE)
            except Empty:  # a signal that another thread got is raised here
                continue
            if isinstance(report, BaseException):
                raise report
            if report is None:
                running -= 1
            else:
                yield Restarts(queue.restarts) if isinstance(report, Restarts) else report
    finally:
        queue.stop()
        for thread in threads:
            if thread.ident is not None:
                thread.join()


def _work(queue: WorkQueue, late: bool, reports: _Reports) -> None:
    end: BaseException | None = None
    try:
        if late:
            queue.opened.wait()
            queue.drained.wait(PATIENCE)
        for report in Lane(queue).reports():
            reports.put(report)
    except BaseException as error:  # for the main thread to raise
        end = error
    reports.put(end)


class Session:
    """Tests one case at a time, in a worker that is replaced when it dies. Not thread-safe."""

    def __init__(
        self, address: str, corpus: Corpus, timeout: float, causes: tuple[CauseFile, ...],
        say: Callable[[str], None],
    ) -> None:  # fmt: skip
        """`say` reports one-time preparation. Raises UnavailableError or UsageError."""
        max_elements()  # reports errors in the environment once
        prepare_backend(address, say)
        setup = Setup(address, corpus, None, timeout, catalog=corpus.catalog, causes=causes)
        self._queue = WorkQueue(setup, timeout, deque())
        self._lane = Lane(self._queue)
        self._lane.worker()
        [self.info] = self._lane.news
        self._reports = self._lane.reports()
        self._asked = 0

    def ask(self, case: Case, later: tuple[Case, ...] = ()) -> CaseResult:
        """Test a case, and the `later` versions of it. Raises UnavailableError."""
        self._asked += 1
        self._queue.put_back([Job(self._asked, case, later=later)])
        try:
            for report in self._reports:
                if isinstance(report, Reported):
                    found = report.result
                    return finish_whole(case, found) if isinstance(found, Tally) else found
        except BaseException:  # the worker's pending messages are about this case
            self._queue.batches.clear()
            self._reports = self._lane.reports()
            raise
        raise AssertionError("a lane ended with a job undone")

    def close(self) -> None:
        """End the worker. May be called more than once."""
        next(self._reports, None)


class _NoVectors:
    def vectors(self, case: Case) -> Vectors:
        raise LookupError(case.id)


def introduced(address: str) -> BackendInfo:
    """Return a backend's name and version. Raises UnavailableError or UsageError."""
    process = WorkerProcess(Start.here(address))
    try:
        return process.open(Setup(address, _NoVectors(), None)).info
    finally:
        process.close(LEAVING)
