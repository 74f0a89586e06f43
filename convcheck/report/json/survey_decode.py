"""A survey's JSON read back, to be drawn. It has all that the terminal shows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from convcheck.errors import UsageError
from convcheck.judge.result import BackendInfo, CallExample, Example
from convcheck.report.json.codec import word_of
from convcheck.report.json.decode import place_of
from convcheck.report.json.survey import (
    AnswerJson,
    ColumnJson,
    FoundJson,
    SurveyedCaseJson,
    SurveyJson,
    SurveyRowJson,
)
from convcheck.report.json.tensor import strip_of
from convcheck.rules.cases import cases
from convcheck.rules.load import Catalog
from convcheck.rules.model import Case, DType
from convcheck.semantics.expected import Decision
from convcheck.survey.merge import AnswerDifference, Column, Survey, SurveyRow
from convcheck.survey.model import Shown, Surveyed

_EXPECTED = "<undefined>"  # nothing is expected of what is surveyed


def survey_of(survey: SurveyJson, catalog: Catalog) -> Survey:
    """Return the survey that was written. Raises UsageError for a case that no spec has, for one
    that a row has twice, and for codes that do not fit their case.
    """
    specs = {case.id.partition("/")[0] for row in survey.rows for case in row.cases}
    known = {c.id: c for name in specs & catalog.specs.keys() for c in cases(catalog.specs[name])}
    reading = _Reading(known, catalog.types.types)
    try:
        _check_once(survey.rows)
        rows = tuple(map(reading.row, survey.rows))
    except (ValueError, IndexError, OverflowError) as error:
        raise UsageError(f"a damaged survey: {error}", hint="survey again") from None
    columns = tuple(map(_column, survey.backends))
    corpus, notes = survey.corpus.sha256, survey.notes
    return Survey(columns, survey.tier, corpus, rows, notes, survey.interrupted)


def _check_once(rows: Iterable[SurveyRowJson]) -> None:
    found = Counter((one.rule, one.row, one.cite, case.id) for one in rows for case in one.cases)
    if twice := next((key for key, count in found.items() if count > 1), None):
        rule, row, _, case = twice
        raise ValueError(f"{case} stands twice under {rule} / {row}")


def _column(column: ColumnJson) -> Column:
    info = None if column.name is None else BackendInfo(column.name, column.version or "")
    return Column(column.address, info, column.error or "")


@dataclass(frozen=True)
class _Reading:
    """What rows are read with: the cases by their id, and the types."""

    cases: Mapping[str, Case]
    types: Mapping[str, DType]

    def row(self, row: SurveyRowJson) -> SurveyRow:
        place, readings = place_of(row.place), row.readings or ("",)
        by = Decision(
            row.rule, row.row, row.level, row.cite, row.source, place, readings, gloss=row.gloss
        )
        return SurveyRow(
            by,
            tuple(self.case(one) for one in row.cases),
            tuple(tuple(self.found(by, one, b) for b in one.backends) for one in row.cases),
            tuple(self.difference(one) for one in row.cases if one.differ),
        )

    def case(self, one: SurveyedCaseJson) -> Case:
        if one.id not in self.cases:
            hint = "give --specs as to `convcheck survey`"
            raise UsageError(f"no spec has the case {one.id} of the survey", hint=hint)
        return self.cases[one.id]

    def found(self, by: Decision, of: SurveyedCaseJson, one: FoundJson | None) -> Surveyed | None:
        if one is None:
            return None
        case = self.case(of)
        return Surveyed(
            by,
            one.asked,
            fits=tuple(("" if law.inputs == "all" else law.inputs, law.fit) for law in one.laws),
            refused=one.refused,
            crashed=one.crashed,
            elsewhere=one.elsewhere,
            odd=one.odd,
            message=one.message,
            unsupported=one.unsupported,
            digest=one.digest,
            examples=tuple(self.answer(case, example) for example in one.examples),
        )

    def difference(self, one: SurveyedCaseJson) -> AnswerDifference:
        case = self.case(one)
        answers = tuple(None if a is None else self.answer(case, a) for a in one.difference or ())
        return AnswerDifference(case, answers, one.differing)

    def answer(self, case: Case, one: AnswerJson) -> Shown:
        if any(tensor.shape is not None for tensor in one.input):
            inputs = tuple(strip_of(tensor, self.types) for tensor in one.input)
            got = None if one.got is None else tuple(strip_of(t, self.types) for t in one.got)
            return CallExample(inputs, _EXPECTED, got, message=one.message)
        words = tuple(word_of(tensor.bits[0], self.types[tensor.type].format)
                      for tensor in one.input)  # fmt: skip
        answer = None if one.got is None else word_of(one.got[0].bits[0], case.outputs[0].format)
        return Example(words, _EXPECTED, answer, one.message)
