"""(Spec, Case) -> what decides a case of whole calls, by the body that the spec has."""

from __future__ import annotations

from convcheck.rules.model import Case, Spec
from convcheck.semantics.expected_calls import CompiledCalls


def compile_calls(spec: Spec, case: Case) -> CompiledCalls:
    """Compile a case of a spec with a matrix, a formula or steps. Raises SpecError."""
    if spec.body == "matrix":
        from convcheck.semantics.body.matrix import compile_matrix

        return compile_matrix(spec, case)
    if spec.body == "formula":
        from convcheck.semantics.body.formula import compile_formula

        return compile_formula(spec, case)
    if spec.body == "steps":
        from convcheck.semantics.body.steps import compile_steps

        return compile_steps(spec, case)
    raise AssertionError(f"{spec.id} converts elements; see compile_case")
