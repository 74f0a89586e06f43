"""The causes of a catalogue, each of which has a meaning."""

from __future__ import annotations

from convcheck.errors import SpecError
from convcheck.rules.causes import Cause, load_causes
from convcheck.rules.load import Catalog
from convcheck.rules.source import refuse
from convcheck.semantics.program import unknown_words_of


def causes_of(catalog: Catalog) -> tuple[Cause, ...]:
    """Return the causes, the plainest first.

    Raises SpecError for what cannot be read, and for a word that is not in the vocabulary.
    """
    causes = load_causes(catalog)
    errors: list[SpecError] = []
    for cause in causes:
        errors += unknown_words_of(cause.rules, {})
    refuse(errors)
    return causes
