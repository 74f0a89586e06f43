"""The Python API: `from convcheck import run, open_log`."""

from os import PathLike, fspath

from convcheck.cli.asking import Asking, cases_and_corpus
from convcheck.cli.options import RunOptions, catalog, selection_of
from convcheck.documents.decode import read_each
from convcheck.judge.result import RunResult
from convcheck.vectors.model import Tier


def run(
    backend: str,
    *specs: str,
    tier: Tier = "edge",
    jobs: int | None = None,
    timeout: float = 30.0,
    causes: bool = True,
) -> RunResult:
    """Test a backend, and return the results of all cases.

    `backend` is a name or an address as for `convcheck run --backend`. `specs` are ids or globs of
    specs or cases; without any, test all that the backend implements. `jobs` is the number of
    worker processes, None for one per core; `timeout` is in seconds per call. With `causes`,
    search for the causes of failures. Raises ConvcheckError.
    """
    loaded, options = catalog(), RunOptions(jobs, timeout, tier, no_causes=not causes)
    cases, corpus = cases_and_corpus(loaded, selection_of(specs), [backend], options)
    return Asking(cases, corpus, options).ask(backend)


def open_log(path: str | PathLike[str]) -> tuple[RunResult, ...]:
    """Return the runs in a log, one per backend. Raises UsageError."""
    return tuple(read_each(fspath(path), catalog().types.types))
