"""`convcheck-diagnosis/1`: the few causes of what fails. Equal answers give equal bytes."""

from __future__ import annotations

from functools import partial
from typing import Final, Literal

from convcheck import __version__
from convcheck.causes.gather import Diagnosis
from convcheck.judge.result import BackendInfo, CaseDiagnosis, CaseResult, Verdict
from convcheck.judge.words import clean
from convcheck.report.environment import environment
from convcheck.report.json.causes import causes_json
from convcheck.report.json.codec import Count, Shape, json_text, plain, struct
from convcheck.report.json.encode import backend
from convcheck.report.json.report import BackendJson, CauseJson, EnvironmentJson, NearJson

FORMAT: Final = "convcheck-diagnosis/1"
text_of = partial(json_text, rows="causes")


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
    near: tuple[NearJson, ...]


class DiagnosisJson(Shape, frozen=True, kw_only=True):
    """Why a backend fails."""

    format: Literal["convcheck-diagnosis/1"]
    #: The version of convcheck.
    convcheck: str
    backend: BackendJson
    #: Which inputs were asked, as of the run.
    tier: str
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
    causes: tuple[CauseJson, ...]


def diagnosis_text(found: Diagnosis, info: BackendInfo, tier: str, interrupted: bool) -> str:
    """Return a diagnosis as JSON text, a cause a line."""
    return text_of(plain(encoded_diagnosis(found, info, tier, interrupted)))


def encoded_diagnosis(
    found: Diagnosis, info: BackendInfo, tier: str, interrupted: bool
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
        causes=causes_json(found),
    )


def _unexplained(case: CaseResult) -> UnexplainedJson:
    tried = case.diagnosis or CaseDiagnosis(0, 0)
    return UnexplainedJson(
        case=case.case.id,
        verdict=case.verdict,
        message=clean(case.message),
        answers=tried.answers,
        wrong=tried.wrong,
        near=tuple(NearJson(cause=near.name, answers=near.count) for near in tried.near),
    )
