"""Lint a spec by the body that it has."""

from __future__ import annotations

from convcheck.semantics.lint import Proof, lint_spec
from convcheck.spec.cases import cases
from convcheck.spec.load import Catalog
from convcheck.spec.model import Spec


def lint_any(catalog: Catalog, spec: Spec) -> Proof:
    """Check one spec, be it of elements or of whole calls."""
    if spec.body == "table":
        return lint_spec(catalog, spec)
    if spec.body == "matrix":
        from convcheck.semantics.lint_matrix import lint_matrix as check
    elif spec.body == "formula":
        from convcheck.semantics.lint_formula import lint_formula as check
    else:
        from convcheck.semantics.lint_steps import lint_steps as check
    return Proof(spec.id, sum(1 for _ in cases(spec)), findings=check(spec))


def lint(catalog: Catalog) -> list[Proof]:
    """Lint every spec of a catalog."""
    return [lint_any(catalog, spec) for spec in catalog.specs.values()]
