"""A backend with a bug that a whole run has to show: it truncates where it should round."""

from __future__ import annotations

from dataclasses import replace

from convcheck.backends.reference import Reference
from convcheck.rules.load import Catalog
from convcheck.rules.model import Rounding, Rule, Spec


def truncating(rule: Rule) -> Rule:
    """The same rule with rounding toward zero."""
    return replace(rule, rounding=Rounding("toward-zero")) if rule.rounding.mode else rule


class Truncating(Reference):
    """Rounds every conversion toward zero."""

    name = "truncating"

    def __init__(self, catalog: Catalog) -> None:
        specs: dict[str, Spec] = {
            name: replace(spec, rules=tuple(map(truncating, spec.rules)))
            for name, spec in catalog.specs.items()
        }
        super().__init__(Catalog(catalog.types, specs))
