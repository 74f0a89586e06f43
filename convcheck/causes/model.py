"""What is told of a case: which causes give every answer of it."""

from __future__ import annotations

from dataclasses import dataclass, fields

from convcheck.judge.result import CaseResult

Names = tuple[str, ...]  # of causes that are at work together, the one that comes first first


@dataclass(frozen=True)
class Near:
    """How many answers of a case a cause gives that does not give them all."""

    #: The name of the cause.
    name: str
    #: How many answers it gives.
    count: int


@dataclass(frozen=True)
class CaseDiagnosis(CaseResult):
    """A case's result with the causes that give every one of its answers."""

    #: How many answers a rule decides: these a cause has to give.
    answers: int = 0
    #: How many of them are wrong.
    wrong: int = 0
    #: What gives them all, the plainest first; () where nothing does, or nothing is wrong.
    fits: tuple[Names, ...] = ()
    #: What comes closest where nothing does.
    near: tuple[Near, ...] = ()


def diagnosis_of(
    result: CaseResult,
    answers: int = 0,
    wrong: int = 0,
    fits: tuple[Names, ...] = (),
    near: tuple[Near, ...] = (),
) -> CaseDiagnosis:
    """Return a case's result with what explains it."""
    if isinstance(result, CaseDiagnosis):
        return result
    whole = {f.name: getattr(result, f.name) for f in fields(CaseResult)}
    return CaseDiagnosis(**whole, answers=answers, wrong=wrong, fits=fits, near=near)
