"""Judge a case's answers, be they elements or whole calls."""

from __future__ import annotations

from typing import cast

from convcheck.run.answers import Answers, CallAnswers
from convcheck.run.judge import judge
from convcheck.run.judge_calls import judge_calls
from convcheck.run.result import CaseResult
from convcheck.vectors.model import CallSet, Vectors


def judge_any(vectors: Vectors, answers: Answers | CallAnswers) -> CaseResult:
    """Judge the answers to one case's vectors, which are of the same sort."""
    if isinstance(vectors, CallSet):
        return judge_calls(vectors, cast(CallAnswers, answers))
    return judge(vectors, cast(Answers, answers))
