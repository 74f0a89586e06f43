"""Puts jobs to the backends of a Dask cluster, and hears what comes back."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from convcheck import __version__
from convcheck.ask.jobs import Job
from convcheck.backends.protocol import last_words, max_elements
from convcheck.errors import ConvcheckError, UnavailableError, UsageError, install_hint
from convcheck.judge.result import BackendInfo
from convcheck.pool.batches import in_batches
from convcheck.pool.dask_worker import (
    BatchResult,
    Order,
    ask_batch,
    batch_codec,
    given,
    order,
)
from convcheck.pool.lane import Report, Restarts
from convcheck.pool.messages import Setup

if TYPE_CHECKING:
    from distributed import Client, Future

BATCHES_A_LANE = 4  # each costs the start of a runtime
CONNECTING = 5.0  # seconds that a scheduler has to answer
LONELY = 30.0  # seconds that a cluster may be without any worker
RETRIES = 2  # of a batch whose program ended without a word
LOOKING = 5.0  # seconds between two looks at whether there are workers

EXAMPLE = "dask://HOST:PORT, such as dask://localhost:8786"


def on_cluster(
    url: str, setup: Setup, jobs: Sequence[Job], timeout: float
) -> Generator[Report, None, None]:
    """Have every job done by the workers of the Dask cluster at `url`, dask://HOST:PORT.

    Gives how the backend names itself, once and first, then a Reported for each job in any order,
    at last the Restarts. A worker that is lost has its batch asked elsewhere. Closing the iterator
    takes back what is not done yet. `timeout`: seconds that a call of the backend may take.

    Raises UsageError for an address that is none, UnavailableError for a cluster that cannot be
    reached, is lost or has workers that are not alike, and what opening the backend raises.
    """
    address = address_of(url)
    max_elements()  # what is wrong in the environment is an error here, once
    with _connected(url, address) as client:
        batches = in_batches(jobs, _lanes(client, url), BATCHES_A_LANE)
        orders = [order(batch, timeout) for batch in batches]
        yield from _reports(_Asked(client, url, setup, orders))


def address_of(url: str) -> str:
    """Return the address by which Dask knows dask://HOST:PORT. Raises UsageError for another."""
    with contextlib.suppress(ValueError):  # a port that is no number, a bracket left open
        parts = urlsplit(url)
        bare = parts.geturl().rstrip("/") == f"dask://{parts.netloc}" and "@" not in parts.netloc
        if bare and parts.hostname and parts.port:
            return f"tcp://{parts.netloc}"
    raise UsageError(f"not the address of a Dask cluster: {url!r}", hint=f"write {EXAMPLE}")


@contextlib.contextmanager
def _connected(url: str, address: str) -> Iterator[Client]:
    try:
        from distributed import Client
    except ImportError as error:
        hint = install_hint("dask")
        raise UnavailableError(f"a Dask cluster cannot be asked: {error}", hint=hint) from error
    _hush()
    try:
        client = Client(address, timeout=CONNECTING, set_as_default=False)
    except Exception as error:  # of the system, of the network, or of what else listens there
        hint = f"`dask scheduler` starts one; then write {EXAMPLE}"
        message = f"no Dask scheduler answers at {url} ({type(error).__name__})"
        raise UnavailableError(message, hint=hint) from error
    with client:
        yield client


def _hush() -> None:
    """Have Dask say what it has to say in its exceptions only."""
    for name in list(logging.root.manager.loggerDict):
        if name.split(".")[0] in ("distributed", "tornado"):
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)


def _lanes(client: Client, url: str) -> int:
    """Count the batches that the cluster does at a time."""
    try:
        client.wait_for_workers(1, timeout=LONELY)
        threads: dict[str, int] = client.nthreads()
    except TimeoutError as error:
        raise _no_worker(url) from error
    except Exception as error:
        raise _lost(url, error) from error
    return max(1, sum(threads.values()))


def _no_worker(url: str) -> UnavailableError:
    hint = f"start workers: dask worker {url.removeprefix('dask://')}"
    return UnavailableError(f"the Dask cluster at {url} has no worker", hint=hint)


def _lost(url: str, error: Exception) -> UnavailableError:
    if type(error).__name__ == "KilledWorker":
        message = f"the workers of the Dask cluster at {url} keep dying"
        return UnavailableError(message, hint="their logs say why; often they run out of memory")
    if "Cancelled" in type(error).__name__:
        return UnavailableError(f"the Dask scheduler at {url} was lost, or ended the run")
    if isinstance(error, ImportError):
        hint = f"install convcheck {__version__} where the workers run, from the same checkout"
        return UnavailableError(f"a worker of the Dask cluster says: {error}", hint=hint)
    message = f"the Dask cluster at {url} failed: {last_words(error)}"
    return UnavailableError(message)


class _Asked:
    """The batches that the cluster has been asked, until they are heard."""

    def __init__(self, client: Client, url: str, setup: Setup, orders: list[Order]) -> None:
        self.client, self.url = client, url
        self.done: SimpleQueue[Future[tuple[str, bytes]]] = SimpleQueue()
        self.lonely: float | None = None
        self.codec = batch_codec(setup)
        self.cases = {job.case.id: job.case for one in orders for job in one.jobs}
        # a task's result and not scattered: it travels once, and can be had again if it is lost
        shared = client.submit(given, setup, pure=False)
        self.left = {
            client.submit(ask_batch, shared, o, pure=False, retries=RETRIES) for o in orders
        }
        for future in self.left:
            future.add_done_callback(self.done.put)

    def parts(self) -> Iterator[BatchResult]:
        """Return what comes back, as it comes. Raises UnavailableError for what never will."""
        while self.left:
            future = self._next()
            yield self._part(future)
            self.left.discard(future)

    def _next(self) -> Future[tuple[str, bytes]]:
        while True:
            try:
                return self.done.get(timeout=LOOKING)
            except Empty:
                self._check()

    def _part(self, future: Future[tuple[str, bytes]]) -> BatchResult:
        while True:
            try:
                worker, text = future.result(timeout=LOOKING)
                return replace(self.codec.decode(text, self.cases), worker=worker)
            except Exception as error:
                # lost after it was done: the cluster does it again
                if not isinstance(error, TimeoutError) or future.status == "error":
                    raise _lost(self.url, error) from error
                self._check()

    def _check(self) -> None:
        """See to it that there is somebody to wait for."""
        try:
            workers = self.client.nthreads()
        except Exception as error:
            raise _lost(self.url, error) from error
        self.lonely = None if workers else self.lonely or time.monotonic()
        if self.lonely and time.monotonic() - self.lonely > LONELY:
            raise _no_worker(self.url)

    def take_back(self) -> None:
        """Have the cluster forget what it has not done."""
        with contextlib.suppress(Exception):  # it may be gone
            self.client.cancel(list(self.left))


def _reports(asked: _Asked) -> Iterator[Report]:
    alike, restarts = _Alike(), 0
    try:
        for part in asked.parts():
            for report in alike.checked(part):
                if isinstance(report, Restarts):
                    restarts += report.count
                else:
                    yield report
    finally:
        asked.take_back()
    yield Restarts(restarts)


class _Alike:
    """Sees to it that all workers of a cluster have the same to answer with."""

    def __init__(self) -> None:
        self.info: BackendInfo | None = None
        self.worker = ""

    def checked(self, part: BatchResult) -> Iterator[Report]:
        """Return a part's reports, with how the backend names itself only the first time."""
        _same("convcheck", __version__, "this machine", part.version, part.worker)
        if part.error:
            raise _there(part.error.error, part.worker)
        for report in part.reports:
            if not isinstance(report, BackendInfo):
                yield report
            elif self.info is None:
                self.info, self.worker = report, part.worker
                yield report
            else:
                _same("the backend", _label(self.info), self.worker, _label(report), part.worker)


def _label(info: BackendInfo) -> str:
    return f"{info.name} {info.version}"


def _same(what: str, one: str, where: str, other: str, there: str) -> None:
    if one != other:
        message = f"{what} is {one} on {where} and {other} on {there}"
        hint = "a run needs the same version everywhere: install it, or end the other worker"
        raise UnavailableError(message, hint=hint)


def _there(error: ConvcheckError, worker: str) -> ConvcheckError:
    where = f"says the cluster's worker {worker}"
    hint = f"{error.hint} ({where})" if error.hint else where
    return type(error)(error.message, place=error.place, hint=hint)
