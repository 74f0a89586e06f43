"""The causes of a run as the structs of its report."""

from __future__ import annotations

from collections.abc import Sequence

from convcheck.causes.gather import Diagnosis, Explanation, with_letters
from convcheck.judge.result import CallExample, CaseResult, CauseInWords, Example
from convcheck.report.causes import wrong_answers
from convcheck.report.json import report as form
from convcheck.report.json.encode import example
from convcheck.rules.model import Case


def causes_json(found: Diagnosis) -> tuple[form.CauseJson, ...]:
    """Return the causes of a run, that of most cases first."""
    lettered, answers = with_letters(found.explanations, {}), wrong_answers(found.explanations)
    both = zip(lettered, answers, strict=True)
    return tuple(_cause(letter, one, case, shown) for (letter, one), (case, _, shown) in both)


def _cause(
    letter: str, one: Explanation, case: Case, shown: Example | CallExample
) -> form.CauseJson:
    return form.CauseJson(
        letter=letter,
        together=tuple(map(cause_in_words, one.causes)),
        others=tuple(tuple(map(cause_in_words, other)) for other in one.others),
        explained=one.answers,
        of=one.answers,
        example=example(case, shown),
        example_case=case.id,
        cases=explained_cases(one.cases),
    )


def explained_cases(cases: Sequence[CaseResult]) -> tuple[form.ExplainedCaseJson, ...]:
    """Return cases that a cause explains."""
    return tuple(
        form.ExplainedCaseJson(case=each.case.id, answers=found.answers, wrong=found.wrong)
        for each in cases
        if (found := each.diagnosis)
    )


def cause_in_words(cause: CauseInWords) -> form.CauseInWordsJson:
    """Return a cause of the catalogue."""
    return form.CauseInWordsJson(
        name=cause.name, says=cause.says, order=cause.order, under=dict(cause.under)
    )
