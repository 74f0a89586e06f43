"""Calls put to a backend in worker processes, with the answers brought back as they came."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from convcheck.backends.protocol import Outputs, Oversized
from convcheck.errors import UsageError
from convcheck.judge.answers import ANSWERED, CRASHED, REFUSED, Answers, CallAnswers
from convcheck.judge.result import BackendInfo, CaseResult, Group
from convcheck.judge.vectors import judge_vectors
from convcheck.plan.one_input import Single
from convcheck.plan.runner import execute
from convcheck.pool.messages import Judge
from convcheck.reproduce.witness import failing
from convcheck.rules.model import Case, Spec
from convcheck.semantics.expected import UNDEFINED
from convcheck.semantics.expected_calls import Call, CallReading, ExpectedCall
from convcheck.vectors.model import CallSet, Vectors

_FREE = ExpectedCall(0, (CallReading("", pattern=UNDEFINED),))


@dataclass(frozen=True)
class Kept(CaseResult):
    """A result with the answers that it is made of."""

    answers: Answers | CallAnswers | None = None


@dataclass(frozen=True)
class Reply:
    """What came of one call: outputs, or words of the runtime, or of what it died of."""

    outputs: Outputs | Oversized | None
    #: ANSWERED, REFUSED or CRASHED.
    state: int
    #: The runtime's words, or how it died; '' with outputs.
    message: str = ""


@dataclass(frozen=True)
class AskedCase:
    """What a backend answered to a case, and which of its groups are findings."""

    #: The backend, as addressed on the command line.
    address: str
    spec: Spec
    vectors: Vectors
    backend: BackendInfo
    kept: Kept
    #: Seconds that a call may take.
    timeout: float

    @property
    def groups(self) -> list[Group]:
        """The findings, in the report's order."""
        return failing(self.kept)


def ask_whole(
    address: str, vectors: Vectors, timeout: float, spec: Spec | None = None
) -> tuple[BackendInfo, Kept]:
    """Put a case's vectors to a backend, as a run does, and judge them as a run does; with a spec,
    in a process that is asked those with other attribute values, too.

    Raises UnavailableError or UsageError where the backend cannot be opened, UsageError where
    nothing can be said of its answers, and KeyboardInterrupt.
    """
    return _asked(address, Single(vectors, spec), timeout, _keep)


def _asked(address: str, corpus: Single, timeout: float, judge: Judge) -> tuple[BackendInfo, Kept]:
    done = execute(address, corpus.cases, corpus, timeout=timeout, judge=judge, thorough=True)
    result = corpus.result(done)
    if not isinstance(result, Kept):
        said = result.message or result.verdict
        raise UsageError(f"{corpus.one.case.id} cannot be asked of {address}: {said}")
    return done.backend, result


def _keep(vectors: Vectors, answers: Answers | CallAnswers) -> Kept:
    judged = judge_vectors(vectors, answers)
    said = {field.name: getattr(judged, field.name) for field in fields(CaseResult)}
    return Kept(**said, answers=answers)


def _keep_only(vectors: Vectors, answers: Answers | CallAnswers) -> Kept:
    return Kept(vectors.case, "undefined", 0, vectors.coverage, (), answers=answers)


def ask_each(
    address: str, like: Vectors, calls: Sequence[Call], timeout: float
) -> tuple[Reply, ...]:
    """Make calls of a case one after the other, in a worker of their own; nothing is judged.

    Raises as `ask_whole` does.
    """
    return _replies(address, Single(_free(like, calls)), timeout, len(calls))


def ask_after(address: str, before: Case, like: Vectors, call: Call, timeout: float) -> Reply:
    """Make a call of a case in a worker of its own that is asked the same of another case before.

    Raises as `ask_whole` does.
    """
    return _replies(address, Single(_free(like, [call]), before=before), timeout, 1)[0]


def _free(like: Vectors, calls: Sequence[Call]) -> CallSet:
    """Return calls of a case of which nothing is expected."""
    return CallSet(
        like.case, tuple(calls), (_FREE,) * len(calls), (like.form,), like.coverage, like.form
    )


def _replies(address: str, corpus: Single, timeout: float, count: int) -> tuple[Reply, ...]:
    answers = _asked(address, corpus, timeout, _keep_only)[1].answers
    assert isinstance(answers, CallAnswers)  # noqa: S101 a CallSet was asked
    if answers.declined is not None:
        return (Reply(None, REFUSED, answers.declined.message),) * count
    return tuple(_reply(answers, i) for i in range(count))


def _reply(answers: CallAnswers, i: int) -> Reply:
    message = answers.messages.get(i, "")
    state, got = int(answers.state[i]), answers.got[i]
    if state in (REFUSED, CRASHED):
        return Reply(None, state, message)
    if state == ANSWERED and got is not None:
        return Reply(got, ANSWERED)
    # what was malformed, and what came after too many deaths
    why = next((f.message for f in answers.faults if f.index == i), "it was not asked")
    return Reply(None, ANSWERED, why)


def answers_of_reply(reply: Reply) -> CallAnswers:
    """Return a reply as the answers of a set of one call."""
    messages = {0: reply.message} if reply.message else {}
    return CallAnswers((reply.outputs,), np.array([reply.state], np.uint8), messages)
