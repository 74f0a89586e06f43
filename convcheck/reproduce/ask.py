"""Send calls to a backend in workers, and return the raw answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from convcheck.ask.jobs import Judge
from convcheck.errors import UsageError
from convcheck.judge.answers import REFUSED, Answers
from convcheck.judge.case import judge
from convcheck.judge.result import BackendInfo, CaseResult, Group
from convcheck.plan.one_input import Single
from convcheck.plan.runner import execute
from convcheck.records import replace
from convcheck.reproduce.witness import failing
from convcheck.rules.model import Case, Spec
from convcheck.semantics.expected import UNDEFINED
from convcheck.semantics.expected_calls import CallReading, ExpectedCall
from convcheck.vectors.model import CallSet, Vectors

_FREE = ExpectedCall(0, (CallReading("", pattern=UNDEFINED),))


@dataclass(frozen=True)
class AskedCase:
    """A case with a backend's answers."""

    #: The backend's address on the command line.
    address: str
    spec: Spec
    vectors: Vectors
    backend: BackendInfo
    kept: CaseResult
    #: Seconds for a call.
    timeout: float

    @property
    def groups(self) -> list[Group]:
        """The findings, in the report's order."""
        return failing(self.kept)


def ask_case(address: str, spec: Spec, vectors: Vectors, timeout: float) -> AskedCase:
    """Test a case. Raises UsageError if it does not fail, and like `ask_whole`."""
    backend, kept = ask_whole(address, vectors, timeout, spec)
    found = AskedCase(address, spec, vectors, backend, kept, timeout)
    if kept.verdict == "error":
        said = f"the adapter of {address} failed on {kept.case.id}: {kept.message}"
        raise UsageError(said, hint="there is no answer to show")
    if not found.groups:
        raise does_not_fail(kept, address)
    return found


def does_not_fail(one: CaseResult, address: str) -> UsageError:
    """Return the error for a case without a finding."""
    said = f"{one.case.id} does not fail on {address}: {one.verdict}"
    if one.message:
        said += f" ({one.message})"
    return UsageError(said, hint="`convcheck run` says which cases fail")


def ask_whole(
    address: str, vectors: Vectors, timeout: float, spec: Spec | None = None
) -> tuple[BackendInfo, CaseResult]:
    """Test and judge a case's vectors like a run.

    With a spec, the worker also tests the cases with other attribute values. Raises
    UnavailableError, UsageError or KeyboardInterrupt.
    """
    return _asked(address, Single(vectors, spec), timeout, _keep)


def ask_each(
    address: str, calls: Sequence[CallSet], timeout: float, before: Case | None = None
) -> list[Answers]:
    """Make calls in order in one worker, and return the raw answers.

    With `before`, the same calls of that case are made first. Raises like `ask_whole`.
    """
    first, every = calls[0], tuple(one.calls[0] for one in calls)
    free = replace(first, calls=every, expected=(_FREE,) * len(every), decisions=(first.form,),
                   among=None, along=None)  # fmt: skip
    answers = _asked(address, Single(free, before=before), timeout, _keep_only)[1].answers
    assert isinstance(answers, Answers)  # noqa: S101 a CallSet was asked
    if answers.declined is not None:
        said, refused = {0: answers.declined.message}, np.array([REFUSED], np.uint8)
        return [Answers(np.array([None]), refused, said)] * len(every)
    return [answer_at(answers, i) for i in range(len(every))]


def answer_at(answers: Answers, i: int) -> Answers:
    """Return the answer to one of several calls."""
    said = answers.messages.get(i) or next((f.message for f in answers.faults if f.index == i), "")
    return Answers(answers.got[i : i + 1], answers.state[i : i + 1], {0: said} if said else {})


def _asked(
    address: str, corpus: Single, timeout: float, judge: Judge
) -> tuple[BackendInfo, CaseResult]:
    done = execute(address, corpus.cases, corpus, timeout=timeout, judge=judge, thorough=True)
    result = corpus.result(done)
    if result.answers is None:
        said = result.message or result.verdict
        raise UsageError(f"{corpus.one.case.id} cannot be tested on {address}: {said}")
    return done.backend, result


def _keep(vectors: Vectors, answers: Answers) -> CaseResult:
    return replace(judge(vectors, answers), answers=answers)


def _keep_only(vectors: Vectors, answers: Answers) -> CaseResult:
    return CaseResult(vectors.case, "undefined", 0, vectors.coverage, (), answers=answers)
