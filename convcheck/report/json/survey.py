"""`convcheck-survey/2`: what backends do where the texts leave them free.

Two surveys with the same answers on the same machine give the same bytes.
"""

from __future__ import annotations

from functools import partial
from typing import Final, Literal

from msgspec import field

from convcheck import __version__
from convcheck.judge import result as judged
from convcheck.judge.result import CallExample
from convcheck.report.environment import environment
from convcheck.report.json.codec import Count, Shape, json_text, plain, struct
from convcheck.report.json.report import EnvironmentJson
from convcheck.report.json.tensor import TensorJson, element, tensor
from convcheck.rules.model import Case, Level
from convcheck.survey import merge, model
from convcheck.survey.model import Surveyed

FORMAT: Final = "convcheck-survey/2"
text_of = partial(json_text, rows="rows", nested="cases")


class ColumnJson(Shape, frozen=True, kw_only=True):
    """A backend."""

    #: As on the command line.
    address: str
    #: As it names itself; null where it could not be started.
    name: str | None
    #: Likewise.
    version: str | None
    #: Why it could not be started; null where it was.
    error: str | None


class SurveyCorpusJson(Shape, frozen=True, kw_only=True):
    """Which vectors were asked."""

    #: A hash of them.
    sha256: str


class AnswerJson(Shape, frozen=True, kw_only=True):
    """An input, and what came of it."""

    input: tuple[TensorJson, ...]
    #: null where nothing came back.
    got: tuple[TensorJson, ...] | None
    #: The runtime's own words where nothing came back.
    message: str


class LawJson(Shape, frozen=True, kw_only=True):
    """The laws that fit all answers to a kind of input, or of a disputed row the readings."""

    #: all, finite, infinite, NaN, or other calls.
    inputs: str
    #: The plainest first; empty where no simple law fits.
    fit: tuple[str, ...]


class FoundJson(Shape, frozen=True, kw_only=True):
    """What a backend did with the inputs of a row in a case."""

    #: Whether the case could not be put to it.
    unsupported: bool
    #: Inputs (or calls) asked.
    asked: Count
    #: Inputs that it refused.
    refused: Count
    #: Inputs that killed it.
    crashed: Count
    #: Of each kind of input apart where no law fits all. Empty where there was no answer.
    laws: tuple[LawJson, ...]
    #: Inputs that another placement answered otherwise.
    elsewhere: Count
    #: Answers that no law fits.
    odd: Count
    #: The runtime's own words for the first input without an answer.
    message: str
    #: Equal where the answers are equal; empty where the case could not be put.
    digest: str
    #: Answers that no law fits.
    examples: tuple[AnswerJson, ...]


class SurveyedCaseJson(Shape, frozen=True, kw_only=True):
    """A case of a row."""

    #: As in reports.
    id: str
    #: Whether backends that took the case do not answer alike; every NaN is the same.
    differ: bool
    #: One input with the answer of each backend (null for one that was not asked); empty where no
    #: such input was kept, null where they do not differ.
    difference: tuple[AnswerJson | None, ...] | None
    #: Of the inputs that were kept, how many are not answered alike; absent for none.
    differing: Count = 0
    #: What each backend did; null for one that was not asked.
    backends: tuple[FoundJson | None, ...]


class SurveyRowJson(Shape, frozen=True, kw_only=True):
    """A row of a spec; one that several versions of an operator share is one."""

    #: Its name.
    rule: str
    row: str
    level: Level
    #: File and line of the spec.
    place: str
    #: The sentence of the standard.
    cite: str
    #: Where it stands.
    source: str
    #: The sentence in English, where it is in another language: our translation; absent elsewhere.
    gloss: str = ""
    #: The readings of a disputed row; none of an undefined one.
    readings: tuple[str, ...]
    #: In the order of the plan.
    cases: tuple[SurveyedCaseJson, ...]


class SurveyShardJson(Shape, frozen=True, kw_only=True):
    """A part of a survey's plan, dealt out case by case."""

    #: From 1.
    index: Count
    of: Count
    #: A hash of the ids of all cases of the plan.
    plan: str
    #: The options that all shards have to share, as they were given; absent for none.
    options: dict[str, str] = field(default_factory=dict)
    #: The ids of the cases of the shard, in the order of the plan.
    cases: tuple[str, ...]


class SurveyJson(Shape, frozen=True, kw_only=True):
    """What backends do where the texts leave them free."""

    format: Literal["convcheck-survey/2"]
    #: The version of convcheck.
    convcheck: str
    #: In the order of the command line; the lists of each case have the same order.
    backends: tuple[ColumnJson, ...]
    #: Which vectors were asked.
    tier: str
    #: A hash of what was asked.
    corpus: SurveyCorpusJson
    environment: EnvironmentJson
    #: Whether the survey was stopped; then it has what was finished.
    interrupted: bool
    #: Remarks, and cases that could not be surveyed.
    notes: tuple[str, ...]
    #: Which part of a survey it is; left out of a whole one.
    shard: SurveyShardJson | None = None
    #: Undefined and disputed rows that at least one backend took; in a shard, those of none too.
    rows: tuple[SurveyRowJson, ...]


def survey_text(survey: SurveyJson) -> str:
    """Return the survey as JSON text."""
    return text_of(plain(survey))


def encoded(survey: merge.Survey) -> SurveyJson:
    """Return the survey as structs."""
    return SurveyJson(
        format=FORMAT,
        convcheck=__version__,
        backends=tuple(map(_column, survey.columns)),
        tier=survey.tier,
        corpus=SurveyCorpusJson(sha256=survey.corpus),
        environment=struct(environment(), EnvironmentJson),
        interrupted=survey.interrupted,
        notes=tuple(survey.notes),
        shard=_shard(survey.shard, survey.asked),
        rows=tuple(map(_row, survey.rows)),
    )


def _shard(shard: judged.Shard | None, asked: tuple[str, ...]) -> SurveyShardJson | None:
    if shard is None:
        return None
    return SurveyShardJson(
        index=shard.index, of=shard.of, plan=shard.plan, options=dict(shard.options), cases=asked
    )


def _column(column: merge.Column) -> ColumnJson:
    info = column.info
    return ColumnJson(
        address=column.address,
        name=info.name if info else None,
        version=info.version if info else None,
        error=column.error or None,
    )


def _row(row: merge.SurveyRow) -> SurveyRowJson:
    by = row.decision
    differences = {d.case: d for d in row.differences}
    pairs = zip(row.cases, row.answers, strict=True)
    return SurveyRowJson(
        rule=by.rule,
        row=by.row,
        level=by.level,
        place=str(by.place),
        cite=by.cite,
        source=by.source,
        gloss=by.gloss,
        readings=by.readings if by.level == "disputed" else (),
        cases=tuple(_case(case, here, differences.get(case)) for case, here in pairs),
    )


def _case(
    case: Case, here: tuple[Surveyed | None, ...], difference: merge.AnswerDifference | None
) -> SurveyedCaseJson:
    shown = None
    if difference is not None:
        shown = tuple(e if e is None else _answer(case, e) for e in difference.answers)
    return SurveyedCaseJson(
        id=case.id,
        differ=difference is not None,
        difference=shown,
        differing=difference.inputs if difference else 0,
        backends=tuple(None if one is None else _found(case, one) for one in here),
    )


def _found(case: Case, one: Surveyed) -> FoundJson:
    return FoundJson(
        unsupported=one.unsupported,
        asked=0 if one.unsupported else one.asked,
        refused=one.refused,
        crashed=one.crashed,
        laws=tuple(LawJson(inputs=kind or "all", fit=laws) for kind, laws in one.fits),
        elsewhere=one.elsewhere,
        odd=one.odd,
        message=one.message,
        digest=one.digest,
        examples=tuple(_answer(case, example) for example in one.examples),
    )


def _answer(case: Case, example: model.Shown) -> AnswerJson:
    if isinstance(example, CallExample):
        inputs = tuple(map(tensor, example.inputs))
        got = None if example.got is None else tuple(map(tensor, example.got))
    else:
        pairs = zip(case.inputs, example.inputs, strict=False)  # a companion has no word
        inputs = tuple(element(dtype, word) for dtype, word in pairs)
        got = None if example.got is None else (element(case.outputs[0], example.got),)
    return AnswerJson(input=inputs, got=got, message=example.message)
