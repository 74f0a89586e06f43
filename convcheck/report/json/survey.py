"""`convcheck-survey/3`: what backends do where the texts leave them free.

Two surveys with the same answers on the same machine give the same bytes. Cases, codes and rows are
told as in a report.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Final, Literal

from convcheck import __version__
from convcheck.errors import UsageError
from convcheck.judge.reading import Types, case_head
from convcheck.judge.result import Environment, Surveyed
from convcheck.records import replace
from convcheck.report.environment import environment
from convcheck.report.json.codec import json_text
from convcheck.report.json.decode import decoded, head_of
from convcheck.report.json.words import spelled
from convcheck.rules.model import Case
from convcheck.semantics.expected import Decision
from convcheck.survey.merge import AnswerDifference, Survey, SurveyRow

FORMAT: Final = "convcheck-survey/3"
_HINT = "`convcheck survey --json FILE` writes a survey"


class SurveyFile(Survey, frozen=True, kw_only=True):
    """What backends do where the texts leave them free."""

    format: Literal["convcheck-survey/3"]
    #: The version of convcheck.
    convcheck: str
    environment: Environment
    #: The decisions that rows name by their places here.
    rules: tuple[Decision, ...]


def survey_text(survey: Survey) -> str:
    """Return the survey as JSON text."""
    return json_text(survey_file(survey), "rules", "rows", nested="answers")


def survey_file(survey: Survey) -> SurveyFile:
    """Return the survey, to be encoded."""
    rules: dict[Decision, int] = {}
    shown = survey.rows if survey.shard else survey.taken
    rows = tuple(_row(row, rules) for row in shown)
    found = {name: getattr(survey, name) for name in Survey.__struct_fields__} | {"rows": rows}
    if survey.shard is None:
        found["asked"] = ()
    return SurveyFile(
        **found,
        format=FORMAT,
        convcheck=__version__,
        environment=environment(),
        rules=tuple(rules),
    )


def _row(row: SurveyRow, rules: dict[Decision, int]) -> SurveyRow:
    place = rules.setdefault(row.decision, len(rules))
    heads: tuple[Any, ...] = tuple(map(case_head, row.cases))
    return replace(
        row,
        decision=place,
        cases=heads,
        answers=tuple(
            tuple(None if one is None else _surveyed(case, one, rules) for one in here)
            for case, here in zip(row.cases, row.answers, strict=True)
        ),
        differences=tuple(map(_difference, row.differences)),
    )


def _surveyed(case: Case, one: Surveyed, rules: dict[Decision, int]) -> Surveyed:
    return replace(
        one,
        decision=rules.setdefault(one.decision, len(rules)),
        asked=0 if one.unsupported else one.asked,
        examples=tuple(spelled(case, example) for example in one.examples),
        sample=(),
    )


def _difference(one: AnswerDifference) -> AnswerDifference:
    answers = tuple(None if a is None else spelled(one.case, a) for a in one.answers)
    return replace(one, case=case_head(one.case), answers=answers)


def read_survey(path: str, types: Types) -> Survey:
    """Return the survey in a file. Raises UsageError for a file that is none."""
    text, head = head_of(path, _HINT)
    if head.format != FORMAT:
        raise UsageError(f"{path} is not a {FORMAT}", hint=_HINT)
    try:
        found = decoded(text, SurveyFile, types, head.rules)
        check_once(found)
    except (ValueError, LookupError, TypeError, OverflowError, RecursionError) as error:
        raise UsageError(f"{path} is a damaged survey: {error}", hint=_HINT) from None
    return Survey(*(getattr(found, name) for name in Survey.__struct_fields__))


def check_once(survey: Survey) -> None:
    """Raise ValueError if a row has a case twice, or not one entry for each backend."""
    found = Counter(
        (row.decision.name, row.decision.cite, case.id) for row in survey.rows for case in row.cases
    )
    if twice := [key for key, count in found.items() if count > 1]:
        name, _, case = twice[0]
        raise ValueError(f"{case} stands twice under {name}")
    for row in survey.rows:
        sizes = {len(here) for here in row.answers} | {len(survey.columns)}
        if len(row.answers) != len(row.cases) or len(sizes) > 1:
            raise ValueError(f"{row.decision.name} does not have the answers of each backend")
