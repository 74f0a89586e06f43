"""`convcheck-score/1`: the wrong conversions that vectors catch. Equal specs give equal bytes."""

from collections.abc import Sequence
from typing import Final, Literal

from msgspec import field

from convcheck import __version__
from convcheck.causes.score import Score
from convcheck.documents.report import Named, derived, json_text
from convcheck.records import Count, Record
from convcheck.vectors.model import Tier

FORMAT: Final = "convcheck-score/1"


class MutantJson(Record, frozen=True, kw_only=True):
    """A wrong conversion planted in a case."""

    cause: Named
    #: Its effect in words.
    says: str
    case: Named
    #: How many vectors catch it, or calls for whole calls.
    caught: Count = field(name="vectors")
    #: An input or call that exposes it although no vector does; else null.
    witness: str | None = field(name="input")


class SpecScoreJson(Record, frozen=True, kw_only=True):
    """How many wrong conversions a spec's vectors catch."""

    spec: str
    #: How many of its cases were evaluated.
    cases: Count
    #: How many mutants (pairs of cause and case) are observable.
    observable: Count
    #: How many mutants at least one vector catches.
    caught: Count
    #: Mutants that no vector catches.
    missed: tuple[MutantJson, ...]
    #: For each cause, the mutant caught by the fewest vectors; the fewest first.
    weakest: tuple[MutantJson, ...]


class ScoreJson(Record, frozen=True, kw_only=True):
    """How many wrong conversions the vectors catch."""

    format: Literal["convcheck-score/1"]
    convcheck: str
    tier: Tier
    causes: Count
    specs: tuple[SpecScoreJson, ...]


def score_text(found: Sequence[Score], tier: Tier, causes: int) -> str:
    """Return scores as JSON text, a spec per line."""
    made = ScoreJson(
        format=FORMAT,
        convcheck=__version__,
        tier=tier,
        causes=causes,
        specs=derived(tuple[SpecScoreJson, ...], found),
    )
    return json_text(made, "specs")
