"""Chains of a node and its inverse, with constants for their other inputs.

An optimiser that removes or fuses both changes the result. Each node is also tested alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from convcheck.chains.asked import hop_vectors
from convcheck.chains.cast import U64
from convcheck.errors import SpecError, UsageError
from convcheck.rules.body.steps import Steps
from convcheck.rules.cases import cases
from convcheck.rules.find import find_spec
from convcheck.rules.fixed import fixes_all
from convcheck.rules.load import Catalog
from convcheck.rules.model import Case, Spec
from convcheck.semantics.body.steps import layout_of
from convcheck.semantics.body.table_lint import Diagnostic
from convcheck.semantics.expected import EXACT
from convcheck.vectors.body.scaled import fixed_cases, fixed_inputs


def takes_pairs(spec: Spec) -> bool:
    """Return whether a spec names its inverse operator."""
    return isinstance(spec.body, Steps) and bool(spec.body.undone_by[0])


def turned_back_by(catalog: Catalog, spec: Spec) -> Spec:
    """Return the spec of the inverse operator, of the same version. Raises SpecError."""
    steps = spec.body_as(Steps)
    op, _ = steps.undone_by
    same = (s for s in catalog.specs.values() if (s.op, s.version) == (op, spec.version))
    back = next(same, None)
    if back is None:
        said = f"`undone-by`: there is no spec of {op}, version {spec.version}"
        raise SpecError(said, place=steps.place, hint="`convcheck show specs` has them")
    return back


def turned_back_by_nothing(catalog: Catalog, spec: Spec) -> list[Diagnostic]:
    """Return an error if a spec's inverse operator has no spec."""
    try:
        if takes_pairs(spec):
            turned_back_by(catalog, spec)
    except SpecError as error:
        return [Diagnostic(error.place or spec.place, error.message, error.hint)]
    return []


def pairs_of(
    catalog: Catalog, spec: Spec, wanted: Callable[[Case], bool] = lambda pair: True
) -> Iterator[tuple[Case, U64]]:
    """Yield the wanted pairs of a spec with their inputs, for each set of values in the spec.

    Inputs have one exact result of each node under every reading. Raises SpecError if the inverse
    has no spec.
    """
    back = turned_back_by(catalog, spec)
    for case in cases(spec):
        for first in fixed_cases(spec, case):
            pair = _paired(spec, back, first)
            if pair is None or not wanted(pair):
                continue
            codes = _telling(catalog, pair, np.asarray(fixed_inputs(spec, first, "edge", 0)[0]))
            if len(codes):
                yield pair, codes


def own_pair(catalog: Catalog, case: Case) -> Case:
    """Return the current case of a pair in a report. Raises UsageError."""
    spec = find_spec(catalog, case.spec)
    back = turned_back_by(catalog, spec)
    firsts = (replace(first, fixed=case.fixed) for first in first_nodes(spec))
    own = (_paired(spec, back, first) for first in firsts)
    found = next((pair for pair in own if pair and pair.id == case.unset_id), None)
    if found is None:
        hint = f"`convcheck run --chains {case.spec} --dry-run -v` has the pairs"
        raise UsageError(f"{case.spec} has no pair {case.unset_id}", hint=hint)
    return replace(found, setting=case.setting)


def first_nodes(spec: Spec) -> Iterator[Case]:
    """Return the cases of a spec whose inputs after the first may be fixed."""
    return (case for case in cases(spec) if fixes_all(layout_of(spec, case)))


def _paired(spec: Spec, back: Spec, first: Case) -> Case | None:
    """Return a node followed by its inverse with the same constants, if it exists."""
    second = _turned_back(spec, back, first)
    if second is None:
        return None
    return replace(first, inputs=first.inputs[:1], outputs=second.outputs, carried=(), ranks=(),
                   bound=False, hops=(first, second))  # fmt: skip


def _turned_back(spec: Spec, back: Spec, first: Case) -> Case | None:
    _, names = spec.body_as(Steps).undone_by
    values = dict(first.fixed)
    if len(values) != len(names):
        return None
    wanted = (first.outputs[0], *first.inputs[1:])
    fixed = tuple((name, values[own]) for name, own in names)
    fitting = (
        case
        for case in first_nodes(back)
        if (case.inputs, case.outputs) == (wanted, first.inputs[:1]) and not case.refusal
    )
    found = next(fitting, None)
    return replace(found, fixed=fixed) if found else None


def _telling(catalog: Catalog, pair: Case, codes: U64) -> U64:
    codes = codes.astype(np.uint64)
    certain = np.ones(len(codes), bool)
    for vectors in hop_vectors(catalog, pair, {pair.unset_id: codes}):
        first, *others = vectors.expected.readings
        certain &= first.patterns == EXACT
        for other in others:
            certain &= (other.patterns == EXACT) & (other.codes == first.codes)
    found: U64 = codes[certain]
    return found
