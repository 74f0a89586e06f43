"""The causes of a catalogue, each of which has a meaning."""

from __future__ import annotations

from collections.abc import Sequence

from convcheck.errors import SpecError
from convcheck.rules.cause_files import CauseFile, cause_files
from convcheck.rules.causes import Cause, read_causes
from convcheck.rules.load import Catalog
from convcheck.rules.source import refuse
from convcheck.rules.types import Types
from convcheck.semantics.program import unknown_words_of


def causes_of(catalog: Catalog) -> tuple[Cause, ...]:
    """Return the causes of a catalogue, the plainest first. Raises as `causes_in` does."""
    return causes_in(cause_files(catalog), catalog.types)


def causes_in(files: Sequence[CauseFile], types: Types) -> tuple[Cause, ...]:
    """Return the causes of files, the plainest first.

    Raises SpecError for what cannot be read, and for a word that is not in the vocabulary.
    """
    causes = read_causes(files, types)
    errors: list[SpecError] = []
    for cause in causes:
        errors += unknown_words_of(cause.rules, {})
    refuse(errors)
    return causes
