"""Run jobs on a Dask cluster, a batch per task."""

import contextlib
import logging
import os
import re
import threading
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from functools import partial
from typing import Any

from convcheck import __version__
from convcheck.ask.jobs import Job
from convcheck.backends import protocol
from convcheck.errors import ConvcheckError, UnavailableError, UsageError, install_hint
from convcheck.judge.result import BackendInfo
from convcheck.pool.forkserver import Start
from convcheck.pool.lane import Lane, Report, Reported, Restarts, WorkQueue
from convcheck.pool.local import in_batches
from convcheck.pool.messages import Setup
from convcheck.records import replace
from convcheck.rules.load import SPECS_VARIABLE
from convcheck.streams import say
from convcheck.vectors.corpus import Corpus

CONNECTING = 5.0  # seconds to reach the scheduler
LONELY = 30.0  # seconds to wait for a worker
VARIABLES = (SPECS_VARIABLE, protocol.LIMIT_VARIABLE, protocol.TIMEOUT_VARIABLE)  # sent to workers
EXAMPLE = "dask://HOST:PORT, such as dask://localhost:8786"


def on_cluster(
    url: str, setup: Setup, jobs: Sequence[Job], timeout: float
) -> Generator[Report, None, None]:
    """Run jobs on the Dask cluster at `url`, dask://HOST:PORT, and yield reports as `locally` does.

    Raises UsageError for a wrong address, UnavailableError for a failing cluster or other versions.
    """
    found = re.fullmatch(r"dask://((?:\[[0-9a-f:.]+\]|[^][/@?#:\s]+):([0-9]{1,5}))/?", url)
    if not found or not 0 < int(found[2]) < 1 << 16:
        raise UsageError(f"not the address of a Dask cluster: {url!r}", hint=f"write {EXAMPLE}")
    protocol.max_elements()  # reports errors in the environment once
    restarts, first = 0, ("", "")  # the backend's label, a worker's address
    with _connected(url, f"tcp://{found[1]}") as client:
        for version, worker, reports in _results(client, url, setup, jobs, timeout):
            _check_same("convcheck", __version__, "this machine", version, worker)
            if isinstance(reports, ConvcheckError):
                reports.hint = f"{reports.hint} (from the cluster's worker {worker})".strip()
                raise reports
            for report in reports:
                if isinstance(report, BackendInfo):
                    label = f"{report.name} {report.version}"
                    if not first[0]:
                        first = label, worker
                        yield report
                    _check_same("the backend", *first, label, worker)
                elif isinstance(report, Reported):
                    yield report
            restarts += max((r.count for r in reports if isinstance(r, Restarts)), default=0)
        yield Restarts(restarts)


@contextlib.contextmanager
def _connected(url: str, address: str) -> Iterator[Any]:
    try:
        from distributed import Client
    except ImportError as error:
        raise UnavailableError(f"no Dask: {error}", hint=install_hint("dask")) from error
    for name in list(logging.root.manager.loggerDict):
        if name.split(".")[0] in ("distributed", "tornado"):  # its exceptions say the same
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    try:
        client = Client(address, timeout=CONNECTING, set_as_default=False)
    except Exception as error:  # the system's, the network's or another server's
        said = f"no Dask scheduler answers at {url} ({type(error).__name__})"
        hint = f"`dask scheduler` starts one; then write {EXAMPLE}"
        raise UnavailableError(said, hint=hint) from error
    with client:
        try:
            client.wait_for_workers(1, timeout=LONELY)
        except TimeoutError as error:
            hint = f"start workers: dask worker {url.removeprefix('dask://')}"
            raise UnavailableError(f"the Dask cluster at {url} has no worker", hint=hint) from error
        yield client


def _results(
    client: Any, url: str, setup: Setup, jobs: Sequence[Job], timeout: float
) -> Iterator[tuple[str, str, list[Report] | ConvcheckError]]:
    from distributed import as_completed

    futures = []
    try:
        batches = in_batches(jobs, sum(client.nthreads().values()), 4)  # each starts a runtime
        said = {name: os.environ[name] for name in VARIABLES if name in os.environ}
        do = partial(do_batch, timeout=timeout, folder=os.getcwd(), variables=said)
        # a task result, unlike scattered data, is recomputed if it is lost
        shared = client.submit(replace, setup, pure=False)
        futures = [client.submit(do, shared, batch, pure=False) for batch in batches]
        done = as_completed(futures, loop=client.loop, with_results=True)
        yield from (result for _, result in done)
    except Exception as error:
        hint, how = "see the logs of its scheduler and workers", protocol.last_words(error)
        how = "its workers keep dying" if type(error).__name__ == "KilledWorker" else how
        if isinstance(error, ImportError):
            hint = f"install convcheck {__version__} where the workers run, from the same checkout"
        raise UnavailableError(f"the Dask cluster at {url} failed: {how}", hint=hint) from error
    finally:
        with contextlib.suppress(Exception):  # the cluster may be gone
            client.cancel(futures)


def _check_same(what: str, one: str, where: str, other: str, there: str) -> None:
    if one != other:
        hint = "a run needs the same version everywhere: install it, or end the other worker"
        raise UnavailableError(f"{what} is {one} on {where} and {other} on {there}", hint=hint)


def do_batch(
    setup: Setup, jobs: list[Job], timeout: float, folder: str, variables: dict[str, str]
) -> tuple[str, str, list[Report] | ConvcheckError]:
    """Return convcheck's version on a cluster worker, its address, and the reports or an error."""
    from distributed import Reschedule, get_worker

    worker = get_worker()
    task = worker.state.tasks.get(worker.get_current_task())
    if isinstance(setup.corpus, Corpus):  # missing vector files are generated
        there = tuple(one for one in setup.corpus.manifests if one.folder.is_dir())
        setup = replace(setup, corpus=replace(setup.corpus, manifests=there))
    kept = {name: value for name, value in os.environ.items() if name not in VARIABLES}
    start, done = Start({**kept, **variables}, folder, setup.address), threading.Event()
    queue = WorkQueue(setup, timeout, deque([jobs]), start)

    def watch() -> None:
        while not done.wait(0.5):
            if task is None or task.state == "cancelled":
                queue.stop()

    threading.Thread(target=watch, daemon=True).start()
    try:
        protocol.prepare_backend(setup.address, partial(say, err=True))
        reports: list[Report] | ConvcheckError = list(Lane(queue).reports())
    except ConvcheckError as error:
        reports = error
    finally:
        done.set()
    if queue.stopped:
        raise Reschedule
    return __version__, worker.address, reports
