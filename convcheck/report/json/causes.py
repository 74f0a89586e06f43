"""The causes of a run as its report has them."""

from __future__ import annotations

from collections.abc import Sequence

from convcheck.causes.gather import Diagnosis, with_letters
from convcheck.judge.result import CaseResult
from convcheck.report.causes import wrong_answers
from convcheck.report.json.report import ExplainedCase, ExplainedCause
from convcheck.report.json.words import spelled


def explained_causes(found: Diagnosis) -> tuple[ExplainedCause, ...]:
    """Return the causes of a run, that of most cases first."""
    lettered, answers = with_letters(found.explanations, {}), wrong_answers(found.explanations)
    return tuple(
        ExplainedCause(
            letter=letter,
            together=one.causes,
            others=one.others,
            explained=one.answers,
            example=spelled(case, shown),
            example_case=case.id,
            cases=explained_cases(one.cases),
        )
        for (letter, one), (case, _, shown) in zip(lettered, answers, strict=True)
    )


def explained_cases(cases: Sequence[CaseResult]) -> tuple[ExplainedCase, ...]:
    """Return cases that a cause explains."""
    return tuple(
        ExplainedCase(case=each.case.id, answers=found.answers, wrong=found.wrong)
        for each in cases
        if (found := each.diagnosis)
    )
