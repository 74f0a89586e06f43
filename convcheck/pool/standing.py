"""A backend that stays, and is asked one case at a time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from convcheck.ask.jobs import Job
from convcheck.backends.protocol import max_elements, prepare_backend
from convcheck.judge.result import BackendInfo, CaseResult
from convcheck.judge.tally import Tally, finish_whole
from convcheck.pool.forkserver import Start
from convcheck.pool.lane import Lane, Reported, WorkQueue
from convcheck.pool.messages import Setup
from convcheck.pool.process import LEAVING, WorkerProcess
from convcheck.rules.cause_files import CauseFile
from convcheck.rules.model import Case
from convcheck.vectors.corpus import Corpus
from convcheck.vectors.model import Vectors


class _NoVectors:
    """Where a backend is only opened."""

    def vectors(self, case: Case) -> Vectors:
        raise LookupError(case.id)


def introduced(address: str) -> BackendInfo:
    """Return how a backend names itself, opened in a process of its own.

    Raises UnavailableError or UsageError where it cannot be opened.
    """
    process = WorkerProcess(Start.here(address))
    try:
        return process.open(Setup(address, _NoVectors(), None)).info
    finally:
        process.close(LEAVING)


class Standing:
    """A backend in a worker process that is kept between cases, and replaced when it dies.

    The causes in `causes` are tried on cases that fail. Not to be used by several threads. Whoever
    makes one has to `close` it.
    """

    def __init__(
        self, address: str, corpus: Corpus, timeout: float, causes: tuple[CauseFile, ...]
    ) -> None:
        catalog = corpus.catalog
        setup = Setup(address, corpus, None, timeout, catalog=catalog, causes=causes)
        self._queue = WorkQueue(setup, timeout, deque())
        self._lane = Lane(self._queue)  # never started: this thread does its work
        self._asked = 0

    def open(self, say: Callable[[str], None]) -> BackendInfo:
        """Start the backend; `say` is told what it prepares first, once on a machine.

        Raises UnavailableError or UsageError where it cannot be opened.
        """
        max_elements()  # what is wrong in the environment is an error here, once
        prepare_backend(self._queue.setup.address, say)
        self._lane.worker()
        info = self._queue.reports.get()
        assert isinstance(info, BackendInfo)  # noqa: S101
        return info

    def ask(self, case: Case, later: tuple[Case, ...] = ()) -> CaseResult:
        """Ask a case of a backend that was opened; `later` versions of it are asked, too. Raises
        UnavailableError if it opens no more.
        """
        self._asked += 1
        self._queue.put_back([Job(self._asked, case, later=later)])
        try:
            self._lane.work()
        except BaseException:  # what the worker has to say yet is of no other case
            self._queue.batches.clear()
            self._lane.drop()
            raise
        while True:
            report = self._queue.reports.get()
            if isinstance(report, Reported) and report.position == self._asked:
                found = report.result
                return finish_whole(case, found) if isinstance(found, Tally) else found

    def close(self) -> None:
        """End the worker. More than once is no harm."""
        self._lane.drop(LEAVING)
        self._queue.stop()
