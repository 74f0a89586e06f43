"""`convcheck-diagnosis/2`: the few causes of what fails. Equal answers give equal bytes."""

from __future__ import annotations

from typing import Final, Literal

from convcheck import __version__
from convcheck.causes.gather import Diagnosis
from convcheck.causes.search import CLOSEST
from convcheck.judge.result import (
    BackendInfo,
    CaseDiagnosis,
    CaseResult,
    Environment,
    Names,
    Near,
    Verdict,
)
from convcheck.judge.words import clean
from convcheck.report.environment import environment
from convcheck.report.json.causes import explained_causes
from convcheck.report.json.codec import Count, Shape, json_text
from convcheck.report.json.report import ExplainedCause

FORMAT: Final = "convcheck-diagnosis/2"


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
    near: tuple[Near, ...]
    #: The error of convcheck's own in which the search ended.
    fault: str = ""


class TriedJson(Shape, frozen=True, kw_only=True):
    """The only case that was asked, and what was tried on it."""

    case: str
    #: How many answers a rule decides.
    answers: Count
    #: How many of them are wrong: the rules give the others.
    wrong: Count
    #: What gives every answer, the plainest first; with names of causes that are at work together.
    fits: tuple[Names, ...]
    #: Each cause that gives a wrong answer, that first which gives the most answers of all.
    tried: tuple[Near, ...]


class DiagnosisJson(Shape, frozen=True, kw_only=True):
    """Why a backend fails."""

    format: Literal["convcheck-diagnosis/2"]
    #: The version of convcheck.
    convcheck: str
    backend: BackendInfo
    #: Which inputs were asked, as of the run.
    tier: str
    environment: Environment
    #: Whether it was ended before all cases were asked.
    interrupted: bool
    #: Cases that were judged.
    judged: Count
    #: Cases that fail.
    failing: Count
    #: Those that no cause explains.
    unexplained: tuple[UnexplainedJson, ...]
    #: That of most cases first.
    causes: tuple[ExplainedCause, ...]
    #: Where a single case was asked, and fails.
    alone: TriedJson | None = None


def diagnosis_text(
    found: Diagnosis, info: BackendInfo, tier: str, interrupted: bool, alone: CaseResult | None
) -> str:
    """Return a diagnosis as JSON text, a cause a line. `alone`: the only case that was asked."""
    return json_text(encoded_diagnosis(found, info, tier, interrupted, alone), "causes")


def encoded_diagnosis(
    found: Diagnosis, info: BackendInfo, tier: str, interrupted: bool, alone: CaseResult | None
) -> DiagnosisJson:
    """Return a diagnosis as structs."""
    return DiagnosisJson(
        format=FORMAT,
        convcheck=__version__,
        backend=info,
        tier=tier,
        environment=environment(),
        interrupted=interrupted,
        judged=len(found.judged),
        failing=found.failing,
        unexplained=tuple(map(_unexplained, found.unexplained)),
        causes=explained_causes(found),
        alone=_tried(alone) if alone else None,
    )


def _tried(case: CaseResult) -> TriedJson | None:
    found = case.diagnosis
    if found is None:
        return None
    return TriedJson(
        case=case.case.id,
        answers=found.answers,
        wrong=found.wrong,
        fits=found.fits,
        tried=found.near,
    )


def _unexplained(case: CaseResult) -> UnexplainedJson:
    tried = case.diagnosis or CaseDiagnosis(0, 0)
    return UnexplainedJson(
        case=case.case.id,
        verdict=case.verdict,
        message=clean(case.message),
        answers=tried.answers,
        wrong=tried.wrong,
        near=tried.near[:CLOSEST],
        fault=tried.fault,
    )
