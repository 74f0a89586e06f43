"""Load and check the causes of a catalogue."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from convcheck.errors import SpecError
from convcheck.rules.cause_files import CauseFile, cause_files
from convcheck.rules.causes import Cause, read_causes
from convcheck.rules.load import Catalog
from convcheck.rules.model import op_and_version, version_key
from convcheck.rules.source import refuse
from convcheck.rules.types import Types
from convcheck.semantics.compile import unknown_words
from convcheck.wording import meant


def causes_of(catalog: Catalog) -> tuple[Cause, ...]:
    """Return the causes of a catalogue, simplest first.

    Raises SpecError as `causes_in` does, and for an unknown operator or earlier version.
    """
    causes = causes_in(cause_files(catalog), catalog.types)
    refuse(list(_strange(causes, catalog)))
    return causes


def causes_in(files: Sequence[CauseFile], types: Types) -> tuple[Cause, ...]:
    """Return the causes of files, simplest first. Cached.

    Raises SpecError for unreadable entries and unknown words.
    """
    return _read(tuple(files), types)


@lru_cache(2)
def _read(files: tuple[CauseFile, ...], types: Types) -> tuple[Cause, ...]:
    causes = read_causes(files, types)
    errors: list[SpecError] = []
    for cause in causes:
        errors += unknown_words(cause.rules, {})
    refuse(errors)
    return causes


def _strange(causes: Sequence[Cause], catalog: Catalog) -> Iterator[SpecError]:
    versions = {op_and_version(spec)[1] for spec in catalog.specs} - {""}
    operators = {spec.op for spec in catalog.specs.values()} | {""}
    hint = f"known: {', '.join(sorted(versions, key=version_key))}"
    for cause in causes:
        if cause.version and cause.version not in versions:
            said = f"no spec has the version {cause.version!r}"
            yield SpecError(said, place=cause.place, hint=hint)
        if cause.of not in operators:
            said, known = f"no spec is of {cause.of!r}", meant(cause.of, operators)
            yield SpecError(said, place=cause.place, hint=known)
