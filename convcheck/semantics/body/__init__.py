"""(Spec, Case) -> what decides a case of whole calls, by the body that the spec has."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pkgutil import resolve_name
from typing import TYPE_CHECKING

from convcheck.rules.model import Case, Spec
from convcheck.semantics.expected_calls import Call, CompiledCalls, WrongCall

if TYPE_CHECKING:
    from convcheck.rules.causes import Cause


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


# Body -> what makes wrong implementations of some calls of a case.
WRONG: Mapping[str, str] = {
    "matrix": "convcheck.semantics.body.wrong_matrix:WrongMatrices",
    "formula": "convcheck.semantics.body.wrong_formula:WrongFormulas",
    "steps": "convcheck.semantics.body.wrong_steps:WrongSteps",
}


Edits = Callable[[Sequence["Cause"]], Iterable[WrongCall]]  # causes -> what calls become with them


def wrong_calls(spec: Spec, case: Case, calls: Sequence[Call]) -> Edits:
    """Return what makes wrong implementations of some calls of a case: what these become with the
    edits of causes, for each reading that they leave; nothing where the edits have no meaning for
    the case, or change nothing.
    """
    make: Callable[[Spec, Case, Sequence[Call]], Edits] = resolve_name(WRONG[spec.body.name])
    made = make(spec, case, calls)

    def edited(causes: Sequence[Cause]) -> Iterable[WrongCall]:
        strange = any(cause.call and cause.call.body != spec.body.name for cause in causes)
        if strange or any(cause.chain or cause.version for cause in causes):
            return ()
        return made(causes)

    return edited
