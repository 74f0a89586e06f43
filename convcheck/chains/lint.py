"""Check that the inverse operator of a spec exists."""

from __future__ import annotations

from convcheck.chains.pairs import takes_pairs, turned_back_by
from convcheck.errors import SpecError
from convcheck.rules.load import Catalog
from convcheck.rules.model import Spec
from convcheck.semantics.body.table_lint import Diagnostic


def turned_back_by_nothing(catalog: Catalog, spec: Spec) -> list[Diagnostic]:
    """Return an error if a spec's inverse operator has no spec."""
    try:
        if takes_pairs(spec):
            turned_back_by(catalog, spec)
    except SpecError as error:
        return [Diagnostic(error.place or spec.place, error.message, error.hint)]
    return []
