"""What `lint` says of pairs: the operator that turns an output back is there."""

from __future__ import annotations

from convcheck.chains.pairs import takes_pairs, turned_back_by
from convcheck.errors import SpecError
from convcheck.rules.load import Catalog
from convcheck.rules.model import Spec
from convcheck.semantics.body.table_lint import Diagnostic


def turned_back_by_nothing(catalog: Catalog, spec: Spec) -> list[Diagnostic]:
    """Return what is wrong where no spec is that of the operator which a spec says turns its output
    back; nothing of a spec that says nothing of it.
    """
    try:
        if takes_pairs(spec):
            turned_back_by(catalog, spec)
    except SpecError as error:
        return [Diagnostic(error.place or spec.place, error.message, error.hint)]
    return []
