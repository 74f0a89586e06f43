"""The worker process: tests jobs on a backend and sends each result at once."""

import contextlib
import gc
import importlib
import operator
import os
import resource
import sys
from math import inf
from multiprocessing.connection import Connection
from typing import cast

import numpy as np

from convcheck.ask.case import CaseRunner, Explainer
from convcheck.ask.chains import chunk_vectors
from convcheck.ask.elements import inputs_at
from convcheck.ask.jobs import Job
from convcheck.ask.watched import Budget, Notes, WatchedBackend
from convcheck.backends.checked import LONGEST_NAME, AnswerError, bounded
from convcheck.backends.protocol import (
    TIMEOUT_VARIABLE,
    Backend,
    DiedError,
    graph_options,
    last_words,
    modules_of,
    open_backend,
)
from convcheck.errors import ConvcheckError, SpecError, UnavailableError
from convcheck.judge.result import BackendInfo, CaseResult
from convcheck.pool.messages import (
    Finished,
    Lost,
    Message,
    Opened,
    Replay,
    Setup,
    Survived,
    aborted,
    encode,
)
from convcheck.vectors.corpus import Corpus

_KEPT = 8 << 20  # bytes; longer than the arrays of a chunk or a block
_RESOURCES = tuple(number for name, number in vars(resource).items() if name.startswith("RLIMIT_"))


def serve_parent(address: str, pipe: int, notes: int) -> None:
    """Serve the parent until it ends or the backend dies. `notes` is a file descriptor."""
    if hasattr(os, "SCHED_BATCH"):  # avoid preempting a served backend at each answer
        with contextlib.suppress(OSError):
            os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
    keep_heap()
    for name in modules_of(address):
        with contextlib.suppress(Exception):  # opening the backend reports errors
            importlib.import_module(name)
    parent = Connection(pipe)
    with contextlib.suppress(EOFError, ConnectionError):  # the parent has finished or died
        environment, setup = parent.recv()
        os.environ.clear()  # it may have started before the options were read
        os.environ.update(environment)
        os.environ[TIMEOUT_VARIABLE] = str(setup.timeout)  # the backend reads it
        try:
            backend, opened = _opened(setup)
            parent.send_bytes(encode(opened))
            gc.freeze()  # setup and runtime are permanent
            worker, goes_on = _Worker(setup, backend, Notes(notes)), True
            while goes_on:
                request = parent.recv()
                for job in (request,) if isinstance(request, Replay) else request:
                    said, goes_on = worker.done(job)
                    parent.send_bytes(encode(said))
                    if not goes_on:
                        break
        except DiedError as error:
            lost = Lost(bounded(str(error.how)), error.timed_out, error.printed)
            parent.send_bytes(encode(lost))
        except ConvcheckError as error:  # from a spec or from opening
            parent.send_bytes(encode(aborted(error)))


def _opened(setup: Setup) -> tuple[Backend, Opened]:
    try:
        backend = open_backend(setup.address, setup.catalog)
        words = str(backend.name), str(backend.version)
        imports = getattr(backend, "imports", ())
    except (DiedError, ConvcheckError):
        raise
    except BaseException as error:
        said = bounded(last_words(error))
        message = f"backend {setup.address!r} could not be started: {said}"
        raise UnavailableError(message) from error
    info = BackendInfo(*(bounded(word, LONGEST_NAME) for word in words))
    return backend, Opened(info, tuple(map(str, imports)) if isinstance(imports, tuple) else ())


class _Worker:
    def __init__(self, setup: Setup, backend: Backend, notes: Notes) -> None:
        takes_graphs = graph_options(setup.address) is not None
        self.backend, self.corpus = WatchedBackend(backend, notes, takes_graphs), setup.corpus
        self.budget = budget = Budget(notes, setup.timeout)
        explainer = None
        if setup.causes and setup.catalog:
            explainer = Explainer(self.backend, budget, setup.corpus, setup.catalog, setup.causes)
        self.cases = CaseRunner(
            self.backend, budget, setup.corpus, setup.judge, explainer,
            consistency=setup.consistency,
        )  # fmt: skip
        self.limits = _limits()

    def done(self, job: Job | Replay) -> tuple[Message, bool]:
        """Return the message, and whether the backend can be used again."""
        with contextlib.suppress(OSError):
            os.ftruncate(2, 0)  # earlier output is about other cases
        if isinstance(job, Replay):
            self._replay(job)
            return Survived(), True
        # spans have no time limit
        self.budget.start(-inf if job.span else job.spent)
        try:
            result = self.cases.tally(job)
        except (DiedError, SpecError):  # a gap in a spec is not the backend's fault
            raise
        except BaseException as error:  # including SystemExit: only this case is lost
            said = f"no answer: {error}" if isinstance(error, AnswerError) else last_words(error)
            result = CaseResult(job.case, "error", 0, "edge", (), bounded(said))
        # unread answers may be pending
        leaving = self._is_limited() or self.backend.broken or self.budget.unmade is not None
        return Finished(result, leaving, self.cases.doubt(job, result)), not leaving

    def _is_limited(self) -> bool:
        lowered = any(map(operator.lt, _limits(), self.limits))
        sys.setrecursionlimit(max(sys.getrecursionlimit(), int(self.limits[0])))
        return lowered

    def _replay(self, request: Replay) -> None:
        self.budget.start(request.spent)
        case, chunk = request.case, request.chunk
        if chunk is None:
            vectors = self.corpus.vectors(case)
        else:
            rules = cast(Corpus, self.corpus).conversion(case)
            vectors = chunk_vectors(case, *rules, chunk.first, chunk.count, chunk.seed)
        for index in request.calls:
            if not self.budget.begin("bulk", index):
                self.backend.answer_if_any(request.case, inputs_at(vectors, index))


def _limits() -> list[float]:
    """The recursion limit and the soft limit of each resource."""
    soft = (resource.getrlimit(number)[0] for number in _RESOURCES)
    return [sys.getrecursionlimit(), *(inf if n == resource.RLIM_INFINITY else n for n in soft)]


def keep_heap() -> None:
    """Raise the threshold above which glibc unmaps freed arrays, which costs more than filling."""
    np.empty(_KEPT, np.uint8)
