"""(Spec, Case) -> what decides a case of whole calls, by the body that the spec has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pkgutil import resolve_name

from convcheck.rules.model import Case, Spec
from convcheck.semantics.expected_calls import CompiledCalls

# Body -> its compiler, imported when used. A table is compiled by `program.compile_case`.
COMPILERS: Mapping[str, str] = {
    "matrix": "convcheck.semantics.body.matrix:compile_matrix",
    "formula": "convcheck.semantics.body.formula:compile_formula",
    "steps": "convcheck.semantics.body.steps:compile_steps",
}


def compile_calls(spec: Spec, case: Case) -> CompiledCalls:
    """Compile a case of whole calls. Raises SpecError with the place of what is missing."""
    compiler: Callable[[Spec, Case], CompiledCalls] = resolve_name(COMPILERS[spec.body.name])
    return compiler(spec, case)
