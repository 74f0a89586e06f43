"""(Spec, Case) -> what decides a case of whole calls, by the body that the spec has."""

from __future__ import annotations

from convcheck.semantics.calls import CompiledCalls
from convcheck.spec.model import Case, Spec


def compile_calls(spec: Spec, case: Case) -> CompiledCalls:
    """Compile a case of a spec with a matrix, a formula or steps. Raises SpecError."""
    if spec.body == "matrix":
        from convcheck.semantics.matrix import compile_matrix

        return compile_matrix(spec, case)
    if spec.body == "formula":
        from convcheck.semantics.formula import compile_formula

        return compile_formula(spec, case)
    if spec.body == "steps":
        from convcheck.semantics.steps import compile_steps

        return compile_steps(spec, case)
    raise AssertionError(f"{spec.id} converts elements; see compile_case")
