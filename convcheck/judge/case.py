"""Tally and judge the answers to a case, elements or whole calls."""

from __future__ import annotations

from convcheck.judge.answers import Answers
from convcheck.judge.calls import tally_of_calls
from convcheck.judge.elements import tally_of
from convcheck.judge.refusals import all_refused, is_due, is_refusal
from convcheck.judge.result import CaseResult, Group, Tally, Whole, not_asked
from convcheck.judge.tally import finish_whole, unsupported
from convcheck.records import replace
from convcheck.vectors.model import CallSet, Vectors


def judge(vectors: Vectors, answers: Answers, *, show_all: bool = False) -> CaseResult:
    """Judge the answers to all vectors of a case.

    With `show_all`, right answers get examples too.
    """
    return finish_whole(vectors.case, tally_of_case(vectors, answers, show_all=show_all))


def tally_of_case(
    vectors: Vectors,
    answers: Answers,
    inconsistent: tuple[Group, ...] = (),
    *,
    show_all: bool = False,
) -> Tally:
    """Tally the answers to all vectors of a case.

    `inconsistent` are groups of answers that changed between placements. With `show_all`, right
    answers get examples too.
    """
    declined, whole = answers.declined, Whole(vectors.coverage, show_all=show_all)
    if declined is not None and not is_refusal(vectors, declined):
        return unsupported(vectors.coverage, declined.message)
    if declined is not None:
        answers = all_refused(vectors, answers, declined.message)
    if isinstance(vectors, CallSet):
        if left := answers.left_out:
            verdict = "unsupported" if left == len(vectors) else None
            whole = replace(whole, message=not_asked(left), left_out=left, verdict=verdict)
        return tally_of_calls(vectors, answers, inconsistent, whole)
    if declined is not None:
        verdict = "pass" if is_due(vectors) else None
        whole = replace(whole, message=declined.message, verdict=verdict)
    return tally_of(vectors, answers, "", inconsistent, whole)
