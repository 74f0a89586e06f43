"""Choose a case's calls by the body of its spec."""

from collections.abc import Callable, Mapping, Sequence
from pkgutil import resolve_name

from convcheck.rules.model import Case, Spec
from convcheck.semantics.expected import Call
from convcheck.vectors.model import Coverage, Tier

# Body -> its chooser, imported on use. A table is tested by elements.
CHOOSERS: Mapping[str, str] = {
    "matrix": "convcheck.vectors.body.matrix:matrix_calls",
    "formula": "convcheck.vectors.body.formula:formula_calls",
    "steps": "convcheck.vectors.body.steps:steps_calls",
}
Chooser = Callable[[Spec, Case, Tier, int], tuple[Sequence[Call], Coverage]]


def calls_of(spec: Spec, case: Case, tier: Tier, seed: int) -> tuple[Sequence[Call], Coverage]:
    """Return a case's calls and their coverage."""
    choose: Chooser = resolve_name(CHOOSERS[spec.body.name])
    return choose(spec, case, tier, seed)
