"""Lint a spec by the body that it has."""

from __future__ import annotations

from convcheck.rules.cases import cases
from convcheck.rules.load import Catalog
from convcheck.rules.model import Spec
from convcheck.semantics.body import compile_calls
from convcheck.semantics.body.table_lint import Proof, lint_spec
from convcheck.semantics.program import compile_case


def check_decided(spec: Spec) -> None:
    """Raise SpecError for the first case that the spec does not decide."""
    decide = compile_case if spec.body == "table" else compile_calls
    for case in cases(spec):
        decide(spec, case)


def lint_any(catalog: Catalog, spec: Spec) -> Proof:
    """Check one spec, be it of elements or of whole calls."""
    if spec.body == "table":
        return lint_spec(catalog, spec)
    if spec.body == "matrix":
        from convcheck.semantics.body.matrix_lint import lint_matrix as check
    elif spec.body == "formula":
        from convcheck.semantics.body.formula_lint import lint_formula as check
    else:
        from convcheck.semantics.body.steps_lint import lint_steps as check
    return Proof(spec.id, sum(1 for _ in cases(spec)), findings=check(spec))


def lint(catalog: Catalog) -> list[Proof]:
    """Lint every spec of a catalog."""
    return [lint_any(catalog, spec) for spec in catalog.specs.values()]
