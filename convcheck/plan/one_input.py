"""One input put to a backend, in a process of its own like every other."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from convcheck.judge.result import BackendInfo, CaseResult
from convcheck.judge.vectors import judge_vectors
from convcheck.plan.runner import execute
from convcheck.rules.load import Catalog
from convcheck.rules.model import Case
from convcheck.vectors.model import Vectors


@dataclass(frozen=True)
class Single:
    """A corpus of one case's vectors."""

    one: Vectors

    def vectors(self, case: Case) -> Vectors:
        """Return the vectors, of whichever case."""
        return self.one


def ask_one_input(
    address: str, vectors: Vectors, timeout: float, catalog: Catalog
) -> tuple[BackendInfo, CaseResult]:
    """Put one input to a backend. Every group of the result has an example with the answer.

    Raises UnavailableError or UsageError where the backend cannot be opened, and
    KeyboardInterrupt.
    """
    done = execute(
        address,
        [vectors.case],
        Single(vectors),
        timeout=timeout,
        thorough=True,
        judge=partial(judge_vectors, show_all=True),
        catalog=catalog.only([vectors.case.spec]),
    )
    if not done.results:
        raise KeyboardInterrupt
    return done.backend, done.results[0]
