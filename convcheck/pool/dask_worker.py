"""A batch on a worker of a Dask cluster.

It is the work of a program of its own: the worker is as a rule a daemon of multiprocessing, which
may have no children, and it must not end with a runtime. A pipe ties the two together: when it
closes, because the worker ends or nobody waits any more, the program ends, and its backend.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from queue import Empty

from convcheck import __version__
from convcheck.ask.jobs import Job
from convcheck.backends.protocol import (
    LIMIT_VARIABLE,
    TIMEOUT_VARIABLE,
    last_words,
    max_elements,
    prepare_backend,
)
from convcheck.errors import ConvcheckError, UnavailableError
from convcheck.judge.result import BackendInfo
from convcheck.pool.lane import Lane, Report, Reported, Restarts, Stopped, WorkQueue
from convcheck.pool.messages import Aborted, Setup, aborted, class_of_results
from convcheck.pool.process import LEAVING
from convcheck.pool.wire import Codec
from convcheck.rules.load import SPECS_VARIABLE
from convcheck.streams import say
from convcheck.vectors.corpus import Corpus

LOOKING = 0.5  # seconds between two looks at whether a batch is still wanted
VARIABLES = (SPECS_VARIABLE, LIMIT_VARIABLE, TIMEOUT_VARIABLE)
PROGRAM = (
    "import sys; sys.path[:] = sys.argv[2:]; "
    "from convcheck.pool.dask_worker import serve_batch; serve_batch(int(sys.argv[1]))"
)


@dataclass(frozen=True)
class Order:
    """A batch, with what a process of the client's would inherit: folder and environment."""

    jobs: tuple[Job, ...]
    #: Seconds that a call may take.
    timeout: float
    folder: str
    environment: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class BatchResult:
    """What came of a batch, where: the reports, or the error that ended it."""

    #: The version of convcheck on the worker.
    version: str
    reports: tuple[Report, ...]
    error: Aborted | None = None
    #: The address of the cluster's worker.
    worker: str = ""


def batch_codec(setup: Setup) -> Codec[BatchResult]:
    """Return how what came of a batch crosses, whose results are such as the judge makes."""
    return Codec(BatchResult, also=(class_of_results(setup.judge),))


def order(jobs: Sequence[Job], timeout: float) -> Order:
    """Return an order of jobs, to be done as if it were in this process's folder."""
    said = tuple((name, os.environ[name]) for name in VARIABLES if name in os.environ)
    return Order(tuple(jobs), timeout, os.getcwd(), said)


def given(setup: Setup) -> Setup:
    """Return what all batches share (a task of the cluster)."""
    return setup


def ask_batch(setup: Setup, wanted: Order) -> tuple[str, bytes]:
    """Do a batch in a program of its own (a task of the cluster): this worker, and what came of it,
    as text that nobody but the client reads.

    Raises Reschedule where the cluster wants it no more, and OSError or EOFError where the
    program ended without a word.
    """
    from distributed import Reschedule, get_worker

    worker = get_worker()
    task = worker.state.tasks.get(worker.get_current_task())
    with _program(wanted) as connection:
        connection.send((setup, wanted))
        while not connection.poll(LOOKING):
            if task is None or task.state == "cancelled":
                raise Reschedule
        return str(worker.address), connection.recv_bytes()


@contextlib.contextmanager
def _program(wanted: Order) -> Iterator[Connection]:
    ours, theirs = Pipe()
    # not on the client's terminal, should that be here: its Ctrl-C is not for this
    process = subprocess.Popen(  # noqa: S603  this Python
        [sys.executable, "-c", PROGRAM, str(theirs.fileno()), *sys.path],
        env=_environment(wanted),
        cwd=wanted.folder if os.path.isdir(wanted.folder) else None,
        pass_fds=[theirs.fileno()],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )
    theirs.close()
    try:
        yield ours
    finally:
        ours.close()
        _end(process)


def _environment(wanted: Order) -> dict[str, str]:
    """This process's environment, but for what the client says or leaves unsaid."""
    kept = {name: value for name, value in os.environ.items() if name not in VARIABLES}
    return {**kept, **dict(wanted.environment)}


def _end(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(LEAVING)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


# What runs in that program


def serve_batch(descriptor: int) -> None:
    """Do the one batch that is asked for on the other end of a pipe, or end when it closes."""
    connection = Connection(descriptor)
    setup, wanted = connection.recv()
    threading.Thread(target=_end_with, args=(descriptor,), daemon=True).start()
    connection.send_bytes(batch_codec(setup).encode(_done(_at_home(setup), wanted)))


def _end_with(descriptor: int) -> None:
    """Nothing more is said to this program: what there is to read is the end."""
    wait([descriptor])
    os._exit(1)  # the backend's process sees it


def _done(setup: Setup, wanted: Order) -> BatchResult:
    try:
        return BatchResult(__version__, tuple(do_batch(setup, wanted.jobs, wanted.timeout)))
    except ConvcheckError as error:
        return BatchResult(__version__, (), aborted(error))
    except Exception as error:  # else nobody is told what it was
        message = f"a batch could not be done: {last_words(error)}"
        return BatchResult(__version__, (), aborted(UnavailableError(message)))


def do_batch(setup: Setup, jobs: Sequence[Job], timeout: float) -> list[Report]:
    """Do jobs with one backend and its replacements. Raises what `execute` raises."""
    max_elements()
    prepare_backend(setup.address, partial(say, err=True))
    queue = WorkQueue(setup, timeout, deque([list(jobs)]))
    Lane(queue).run()  # by this thread: there is nothing else to do
    return [*_heard(queue), Restarts(queue.restarts)]


def _heard(queue: WorkQueue) -> Iterator[BackendInfo | Reported]:
    with contextlib.suppress(Empty):
        while True:
            report = queue.reports.get_nowait()
            if not isinstance(report, Stopped):
                yield report
            elif report.error:
                raise report.error


def _at_home(setup: Setup) -> Setup:
    """Without the vector files where there are none: then the same vectors are made anew."""
    corpus = setup.corpus
    if not isinstance(corpus, Corpus):
        return setup
    there = tuple(one for one in corpus.manifests if one.folder.is_dir())
    return replace(setup, corpus=replace(corpus, manifests=there))
