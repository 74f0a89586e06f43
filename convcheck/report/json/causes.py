"""The causes of a run as its report has them."""

from __future__ import annotations

from convcheck.causes.gather import Diagnosis, with_letters
from convcheck.plan.cause_changes import explained_cases
from convcheck.report.causes import wrong_answers
from convcheck.report.json.report import ExplainedCause
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
