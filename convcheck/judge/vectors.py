"""Judge a case's answers, be they elements or whole calls."""

from __future__ import annotations

from typing import cast

from convcheck.judge.answers import Answers, CallAnswers
from convcheck.judge.calls import judge_calls
from convcheck.judge.elements import judge
from convcheck.judge.result import CaseResult
from convcheck.vectors.model import CallSet, Vectors


def judge_vectors(
    vectors: Vectors, answers: Answers | CallAnswers, *, show_all: bool = False
) -> CaseResult:
    """Judge the answers to one case's vectors, which are of the same sort. `show_all`: with
    examples of what is right, too.
    """
    if isinstance(vectors, CallSet):
        return judge_calls(vectors, cast(CallAnswers, answers), show_all=show_all)
    return judge(vectors, cast(Answers, answers), show_all=show_all)
