"""Lint a spec by the body that it has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pkgutil import resolve_name

from convcheck.rules.cases import cases
from convcheck.rules.load import Catalog
from convcheck.rules.model import Spec
from convcheck.semantics.body import compile_calls
from convcheck.semantics.body.table_lint import Proof
from convcheck.semantics.program import compile_case

# Body -> its lint, imported when used.
LINTS: Mapping[str, str] = {
    "table": "convcheck.semantics.body.table_lint:lint_table",
    "matrix": "convcheck.semantics.body.matrix_lint:lint_matrix",
    "formula": "convcheck.semantics.body.formula_lint:lint_formula",
    "steps": "convcheck.semantics.body.steps_lint:lint_steps",
}


def check_decided(spec: Spec) -> None:
    """Raise SpecError for the first case that the spec does not decide."""
    decide = compile_calls if spec.body.whole_calls else compile_case
    for case in cases(spec):
        decide(spec, case)


def lint_spec(spec: Spec) -> Proof:
    """Return what linting a spec found, whatever its body."""
    check: Callable[[Spec], Proof] = resolve_name(LINTS[spec.body.name])
    return check(spec)


def lint(catalog: Catalog) -> list[Proof]:
    """Lint every spec of a catalog."""
    return [lint_spec(spec) for spec in catalog.specs.values()]
