"""`convcheck-score/1`: what the vectors catch. Equal specs give equal bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

from msgspec import field

from convcheck import __version__
from convcheck.causes.score import Score
from convcheck.report.json.codec import Count, Named, Shape, derived, json_text
from convcheck.vectors.model import Tier

FORMAT: Final = "convcheck-score/1"


class MutantJson(Shape, frozen=True, kw_only=True):
    """A wrong conversion that a case can show."""

    #: The name of the cause.
    cause: Named
    #: What it does otherwise than the rules, in words.
    says: str
    case: Named
    #: How many vectors catch it; of whole calls, how many calls.
    caught: Count = field(name="vectors")
    #: An input that shows it, or the inputs of a call, where no vector does; else null.
    witness: str | None = field(name="input")


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
    made = ScoreJson(
        format=FORMAT,
        convcheck=__version__,
        tier=tier,
        causes=causes,
        specs=derived(tuple[SpecScoreJson, ...], found),
    )
    return json_text(made, "specs")
