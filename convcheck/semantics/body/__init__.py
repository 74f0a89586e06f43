"""Compile a case of whole calls by the body of its spec."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pkgutil import resolve_name
from typing import TYPE_CHECKING

from convcheck.rules.model import Case, Spec
from convcheck.semantics.expected import Call, CompiledCalls, WrongCall

if TYPE_CHECKING:
    from convcheck.rules.causes import Cause


# Body -> its compiler, imported on use. `program.compile_case` compiles tables.
COMPILERS: Mapping[str, str] = {
    "matrix": "convcheck.semantics.body.matrix:compile_matrix",
    "formula": "convcheck.semantics.body.formula:compile_formula",
    "steps": "convcheck.semantics.body.steps:compile_steps",
}


def compile_calls(spec: Spec, case: Case) -> CompiledCalls:
    """Compile a case of whole calls. Raises SpecError."""
    compiler: Callable[[Spec, Case], CompiledCalls] = resolve_name(COMPILERS[spec.body.name])
    return compiler(spec, case)


# body -> wrong implementations of its calls
WRONG: Mapping[str, str] = {
    "matrix": "convcheck.semantics.body.wrong_matrix:WrongMatrices",
    "formula": "convcheck.semantics.body.wrong_formula:WrongFormulas",
    "steps": "convcheck.semantics.body.wrong_steps:WrongSteps",
}


# causes -> the answers of implementations with them
Edits = Callable[[Sequence["Cause"]], Iterable[WrongCall]]


def wrong_calls(spec: Spec, case: Case, calls: Sequence[Call]) -> Edits:
    """Return a function from causes to wrong calls, one per reading; none without effect."""
    make: Callable[[Spec, Case, Sequence[Call]], Edits] = resolve_name(WRONG[spec.body.name])
    made = make(spec, case, calls)

    def edited(causes: Sequence[Cause]) -> Iterable[WrongCall]:
        if any(cause.chain or cause.version or not cause.edits(spec) for cause in causes):
            return ()
        return made(causes)

    return edited
