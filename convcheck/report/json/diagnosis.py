"""`convcheck-diagnosis/1`: the few causes of what fails. Equal answers give equal bytes."""

from __future__ import annotations

from functools import partial
from typing import Final, Literal

from convcheck import __version__
from convcheck.causes.gather import Diagnosis, Explanation
from convcheck.causes.model import CaseDiagnosis
from convcheck.judge.result import BackendInfo, Verdict
from convcheck.judge.words import clean
from convcheck.report.environment import environment
from convcheck.report.json.codec import Count, Shape, json_text, plain, struct
from convcheck.report.json.encode import backend
from convcheck.report.json.report import BackendJson, EnvironmentJson
from convcheck.rules.causes import Cause
from convcheck.vectors.model import Tier

FORMAT: Final = "convcheck-diagnosis/1"
text_of = partial(json_text, rows="causes")


class WrongConversionJson(Shape, frozen=True, kw_only=True):
    """A cause of the catalogue."""

    #: Its name there.
    name: str
    #: What it does otherwise than the rules, in words.
    says: str


class ExplainedCaseJson(Shape, frozen=True, kw_only=True):
    """A case of which a cause gives every answer."""

    case: str
    #: How many answers a rule decides.
    answers: Count
    #: How many of them are wrong.
    wrong: Count


class ExplanationJson(Shape, frozen=True, kw_only=True):
    """A cause with the cases that it explains."""

    #: What is at work together, mostly one.
    together: tuple[WrongConversionJson, ...]
    #: What gives every answer of all of these cases, too: each is a list as `together` is.
    others: tuple[tuple[WrongConversionJson, ...], ...]
    cases: tuple[ExplainedCaseJson, ...]


class CloseJson(Shape, frozen=True, kw_only=True):
    """A cause that does not give every answer of a case."""

    #: The cause's name.
    cause: str
    #: How many it gives.
    answers: Count


class UnexplainedJson(Shape, frozen=True, kw_only=True):
    """A case that fails and that no cause explains."""

    case: str
    verdict: Verdict
    #: The runtime's own words where the case could not be asked; else ''.
    message: str
    #: How many answers a rule decides; 0 where no cause was tried.
    answers: Count
    #: How many of them are wrong.
    wrong: Count
    #: What comes closest.
    near: tuple[CloseJson, ...]


class DiagnosisJson(Shape, frozen=True, kw_only=True):
    """Why a backend fails."""

    format: Literal["convcheck-diagnosis/1"]
    #: The version of convcheck.
    convcheck: str
    backend: BackendJson
    tier: Tier
    environment: EnvironmentJson
    #: Whether it was ended before all cases were asked.
    interrupted: bool
    #: Cases that were judged.
    judged: Count
    #: Cases that fail.
    failing: Count
    #: Those that no cause explains.
    unexplained: tuple[UnexplainedJson, ...]
    #: That of most cases first.
    causes: tuple[ExplanationJson, ...]


def diagnosis_text(found: Diagnosis, info: BackendInfo, tier: Tier, interrupted: bool) -> str:
    """Return a diagnosis as JSON text, a cause a line."""
    return text_of(plain(encoded_diagnosis(found, info, tier, interrupted)))


def encoded_diagnosis(
    found: Diagnosis, info: BackendInfo, tier: Tier, interrupted: bool
) -> DiagnosisJson:
    """Return a diagnosis as structs."""
    return DiagnosisJson(
        format=FORMAT,
        convcheck=__version__,
        backend=backend(info),
        tier=tier,
        environment=struct(environment(), EnvironmentJson),
        interrupted=interrupted,
        judged=found.judged,
        failing=found.failing,
        unexplained=tuple(map(_unexplained, found.unexplained)),
        causes=tuple(map(_explanation, found.explanations)),
    )


def _explanation(one: Explanation) -> ExplanationJson:
    return ExplanationJson(
        together=_named(one.causes),
        others=tuple(map(_named, one.others)),
        cases=tuple(
            ExplainedCaseJson(case=case.case.id, answers=case.answers, wrong=case.wrong)
            for case in one.cases
        ),
    )


def _named(causes: tuple[Cause, ...]) -> tuple[WrongConversionJson, ...]:
    return tuple(WrongConversionJson(name=cause.name, says=cause.says) for cause in causes)


def _unexplained(case: CaseDiagnosis) -> UnexplainedJson:
    return UnexplainedJson(
        case=case.case.id,
        verdict=case.verdict,
        message=clean(case.message),
        answers=case.answers,
        wrong=case.wrong,
        near=tuple(CloseJson(cause=near.name, answers=near.count) for near in case.near),
    )
