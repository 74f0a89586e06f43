"""The process in which a backend lives: asks, judges, and sends each result back at once."""

from __future__ import annotations

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

from convcheck.ask.budget import Budget
from convcheck.ask.case import CaseRunner
from convcheck.ask.elements import inputs_at
from convcheck.ask.explain import Explainer
from convcheck.ask.heap import keep_heap
from convcheck.ask.isolated import chunk_vectors
from convcheck.ask.jobs import Conversions, Job
from convcheck.ask.watched import WatchedBackend
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
    Notes,
    Opened,
    Replay,
    Setup,
    Survived,
    aborted,
    encode,
)
from convcheck.vectors.model import Vectors

_RESOURCES = tuple(number for name, number in vars(resource).items() if name.startswith("RLIMIT_"))


def serve_parent(address: str, pipe: int, notes: int) -> None:
    """Serve the parent at the other end of a pipe until it closes that, or what answers has died.

    The calls that are made are noted in the file that has the descriptor `notes`.
    """
    if hasattr(os, "SCHED_BATCH"):  # do not push in for each answer of a served backend
        with contextlib.suppress(OSError):
            os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
    keep_heap()
    for name in modules_of(address):
        with contextlib.suppress(Exception):  # whatever is wrong shows when it is opened
            importlib.import_module(name)
    parent = Connection(pipe)
    with contextlib.suppress(EOFError, ConnectionError):  # the parent has what it wants, or is gone
        environment, setup = parent.recv()
        os.environ.clear()  # it may have been started before the options were read
        os.environ.update(environment)
        os.environ[TIMEOUT_VARIABLE] = str(setup.timeout)  # where the backend sees it
        try:
            backend, opened = _opened(setup)
            parent.send_bytes(encode(opened))
            gc.freeze()  # setup and runtime stay for good
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
        except ConvcheckError as error:  # of a spec, or of what opening raises
            parent.send_bytes(encode(aborted(error)))


def _opened(setup: Setup) -> tuple[Backend, Opened]:
    """Open the backend. Raises DiedError or ConvcheckError, whatever its runtime raises."""
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
    """Does one job after the other with one backend."""

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
        """Do a job; return what came of it, and whether the backend may be used again."""
        with contextlib.suppress(OSError):
            os.ftruncate(2, 0)  # what was printed is about the case at hand
        if isinstance(job, Replay):
            self._replay(job)
            return Survived(), True
        # a span has as many calls as it needs
        self.budget.start(-inf if job.span else job.spent)
        try:
            result = self.cases.tally(job)
        except (DiedError, SpecError):  # a hole of a spec is no fault of the backend's
            raise
        except BaseException as error:  # SystemExit too: an adapter's fault costs its case only
            said = f"no answer: {error}" if isinstance(error, AnswerError) else last_words(error)
            result = CaseResult(job.case, "error", 0, "edge", (), bounded(said))
        # what it was told of ahead, and nobody took, it may still answer
        leaving = self._is_limited() or self.backend.broken or self.budget.unmade is not None
        return Finished(result, leaving, self.cases.doubt(job, result)), not leaving

    def _is_limited(self) -> bool:
        """Return whether the backend has lowered a limit, under the cases that come after."""
        lowered = any(map(operator.lt, _limits(), self.limits))
        sys.setrecursionlimit(max(sys.getrecursionlimit(), int(self.limits[0])))
        return lowered

    def _replay(self, request: Replay) -> None:
        self.budget.start(request.spent)
        vectors = self._vectors(request)
        for index in request.calls:
            if not self.budget.begin("bulk", index):
                self.backend.answer_if_any(request.case, inputs_at(vectors, index))

    def _vectors(self, request: Replay) -> Vectors:
        if request.chunk is None:
            return self.corpus.vectors(request.case)
        program, form = cast(Conversions, self.corpus).conversion(request.case)
        chunk = request.chunk
        return chunk_vectors(request.case, program, form, chunk.first, chunk.count, chunk.seed)


def _limits() -> list[float]:
    """Return the limits of this process: of recursion, and of each resource."""
    soft = (resource.getrlimit(number)[0] for number in _RESOURCES)
    return [sys.getrecursionlimit(), *(inf if n == resource.RLIM_INFINITY else n for n in soft)]
