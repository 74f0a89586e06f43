"""Test one input on a backend in a worker."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from convcheck.judge.case import judge
from convcheck.judge.result import BackendInfo, CaseResult
from convcheck.plan.runner import Execution, execute
from convcheck.records import replace
from convcheck.rules.cases import cases
from convcheck.rules.load import Catalog
from convcheck.rules.model import Case, Spec
from convcheck.semantics.evaluate import evaluate
from convcheck.vectors.model import CallSet, Vectors


@dataclass(frozen=True)
class Single:
    """A corpus of one case's vectors, with the same inputs for other cases.

    The other cases are those of `spec`, or `before` for calls.
    """

    one: Vectors
    spec: Spec | None = None
    before: Case | None = None

    def vectors(self, case: Case) -> Vectors:
        """Return the vectors of a case."""
        if case == self.one.case:
            return self.one
        if self.spec is None or isinstance(self.one, CallSet):
            return replace(self.one, case=case)
        expected = evaluate(self.spec, case, self.one.inputs[0])
        return replace(self.one, case=case, expected=expected)

    @property
    def cases(self) -> list[Case]:
        """The case and those that differ only in attribute values, in a run's order."""
        case, spec = self.one.case, self.spec
        if spec is None or isinstance(self.one, CallSet):
            return [*filter(None, [self.before]), case]
        types = (case.inputs, case.outputs)
        alike = [one for one in cases(spec) if (one.inputs, one.outputs) == types]
        return alike if case in alike else [case]

    def result(self, done: Execution) -> CaseResult:
        """Return the result of the case itself. Raises KeyboardInterrupt if there is none."""
        for result in done.results:
            if result.case == self.one.case and not done.interrupted:
                return result
        raise KeyboardInterrupt


def ask_one_input(
    address: str, vectors: Vectors, timeout: float, catalog: Catalog
) -> tuple[BackendInfo, CaseResult]:
    """Test one input on a backend, also with other attribute values.

    Every group of the result has an example. Raises UnavailableError, UsageError or
    KeyboardInterrupt.
    """
    corpus = Single(vectors, catalog.specs[vectors.case.spec])
    done = execute(
        address,
        corpus.cases,
        corpus,
        timeout=timeout,
        thorough=True,
        judge=partial(judge, show_all=True),
        catalog=catalog.only([vectors.case.spec]),
    )
    return done.backend, corpus.result(done)
