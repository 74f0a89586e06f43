"""Judge a case's answers, be they elements or whole calls."""

from __future__ import annotations

from typing import cast

from convcheck.judge.answers import Answers, CallAnswers
from convcheck.judge.calls import judge_calls
from convcheck.judge.elements import judge
from convcheck.judge.result import CaseResult
from convcheck.vectors.model import CallSet, Vectors


def judge_vectors(vectors: Vectors, answers: Answers | CallAnswers) -> CaseResult:
    """Judge the answers to one case's vectors, which are of the same sort."""
    if isinstance(vectors, CallSet):
        return judge_calls(vectors, cast(CallAnswers, answers))
    return judge(vectors, cast(Answers, answers))
