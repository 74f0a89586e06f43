"""Compile a case of whole calls by the body of its spec."""

from collections.abc import Callable, Iterable, Sequence
from pkgutil import resolve_name
from typing import TYPE_CHECKING

from convcheck.rules.model import Case, Spec
from convcheck.semantics.expected import Call, CompiledCalls, WrongCall

if TYPE_CHECKING:
    from convcheck.rules.causes import Cause


def compile_calls(spec: Spec, case: Case) -> CompiledCalls:
    """Compile a case of whole calls. Raises SpecError."""
    body = spec.body.name
    compiler: Callable[[Spec, Case], CompiledCalls]
    compiler = resolve_name(f"{__name__}.{body}:compile_{body}")
    return compiler(spec, case)


_WRONG = {"matrix": "matrix", "formula": "formula", "steps": "wrong_steps"}
# causes -> the answers of implementations with them
Edits = Callable[[Sequence["Cause"]], Iterable[WrongCall]]


def wrong_calls(spec: Spec, case: Case, calls: Sequence[Call]) -> Edits:
    """Return a function from causes to wrong calls, one per reading."""
    make: Callable[[Spec, Case, Sequence[Call]], Edits]
    make = resolve_name(f"{__name__}.{_WRONG[spec.body.name]}:WrongCalls")
    made, known = make(spec, case, calls), dict(case.attributes).keys()

    def edited(causes: "Sequence[Cause]") -> Iterable[WrongCall]:
        for cause in causes:
            under = dict(cause.under).keys() <= known
            if cause.chain or cause.version or not (under and cause.edits(spec)):
                return ()
        return made(causes)

    return edited
