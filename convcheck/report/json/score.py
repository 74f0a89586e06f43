"""`convcheck-score/1`: what the vectors catch. Equal specs give equal bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

from convcheck import __version__
from convcheck.causes.score import Mutant, Score
from convcheck.report.json.codec import Count, Shape, json_text
from convcheck.vectors.model import Tier

FORMAT: Final = "convcheck-score/1"


class MutantJson(Shape, frozen=True, kw_only=True):
    """A wrong conversion that a case can show."""

    #: The name of the cause.
    cause: str
    #: What it does otherwise than the rules, in words.
    says: str
    case: str
    #: How many vectors catch it; of whole calls, how many calls.
    vectors: Count
    #: An input that shows it, or the inputs of a call, where no vector does; else null.
    input: str | None


class SpecScoreJson(Shape, frozen=True, kw_only=True):
    """How many wrong conversions the vectors of a spec catch."""

    spec: str
    #: How many of its cases were looked at.
    cases: Count
    #: How many mutants can be observed: pairs of a cause and a case.
    observable: Count
    #: How many of them some vector catches.
    caught: Count
    #: Those that no vector catches.
    missed: tuple[MutantJson, ...]
    #: Of each cause the mutant that the fewest vectors catch, that of the fewest first.
    weakest: tuple[MutantJson, ...]


class ScoreJson(Shape, frozen=True, kw_only=True):
    """How many wrong conversions the vectors catch."""

    format: Literal["convcheck-score/1"]
    #: The version of convcheck.
    convcheck: str
    #: That of the vectors.
    tier: Tier
    #: How many causes there are.
    causes: Count
    #: In the order of the catalogue.
    specs: tuple[SpecScoreJson, ...]


def score_text(found: Sequence[Score], tier: Tier, causes: int) -> str:
    """Return scores as JSON text, a spec a line."""
    return json_text(encoded_scores(found, tier, causes), "specs")


def encoded_scores(found: Sequence[Score], tier: Tier, causes: int) -> ScoreJson:
    """Return scores as structs."""
    return ScoreJson(
        format=FORMAT,
        convcheck=__version__,
        tier=tier,
        causes=causes,
        specs=tuple(map(_spec, found)),
    )


def _spec(score: Score) -> SpecScoreJson:
    return SpecScoreJson(
        spec=score.spec,
        cases=score.cases,
        observable=score.observable,
        caught=score.caught,
        missed=tuple(map(_mutant, score.missed)),
        weakest=tuple(map(_mutant, score.weakest)),
    )


def _mutant(mutant: Mutant) -> MutantJson:
    return MutantJson(
        cause=mutant.cause.name,
        says=mutant.cause.says,
        case=mutant.case.id,
        vectors=mutant.caught,
        input=mutant.witness,
    )
