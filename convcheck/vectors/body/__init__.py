"""(Spec, Case) -> the calls worth asking, by the body that the spec has."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pkgutil import resolve_name

from convcheck.rules.model import Case, Spec
from convcheck.semantics.expected_calls import Call
from convcheck.vectors.model import Coverage, Tier

# Body -> what chooses its calls, imported when used. A table is asked elements.
CHOOSERS: Mapping[str, str] = {
    "matrix": "convcheck.vectors.body.matrix:matrix_calls",
    "formula": "convcheck.vectors.body.formula:formula_calls",
    "steps": "convcheck.vectors.body.steps:steps_calls",
}
Chooser = Callable[[Spec, Case, Tier, int], tuple[Sequence[Call], Coverage]]


def calls_of(spec: Spec, case: Case, tier: Tier, seed: int) -> tuple[Sequence[Call], Coverage]:
    """Return the calls to ask of a case, and how far they cover what can be asked."""
    choose: Chooser = resolve_name(CHOOSERS[spec.body.name])
    return choose(spec, case, tier, seed)
