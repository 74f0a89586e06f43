"""A node and the one that turns it back, with constants for their other inputs: as a chain of two.

An optimiser that takes them for nothing, or for one node of its own, gives other bits. Each is
asked alone first, as the casts of a chain are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from convcheck.chains.asked import hop_vectors
from convcheck.chains.cast import U64
from convcheck.errors import SpecError
from convcheck.rules.body.steps import Steps
from convcheck.rules.cases import cases
from convcheck.rules.fixed import fixes_all
from convcheck.rules.load import Catalog
from convcheck.rules.model import Case, Spec
from convcheck.semantics.body.steps import layout_of
from convcheck.semantics.expected import EXACT
from convcheck.vectors.body.scaled import fixed_cases, fixed_inputs


def takes_pairs(spec: Spec) -> bool:
    """Return whether a spec says which operator turns its output back."""
    return isinstance(spec.body, Steps) and bool(spec.body.undone_by[0])


def turned_back_by(catalog: Catalog, spec: Spec) -> Spec:
    """Return the spec of the operator that turns the output of another back, of the same version.

    Raises SpecError, with its place, where there is none.
    """
    steps = spec.body_as(Steps)
    op, _ = steps.undone_by
    same = (s for s in catalog.specs.values() if (s.op, s.version) == (op, spec.version))
    back = next(same, None)
    if back is None:
        said = f"`undone-by`: there is no spec of {op}, version {spec.version}"
        raise SpecError(said, place=steps.place, hint="`convcheck list specs` has them")
    return back


def pairs_of(catalog: Catalog, spec: Spec) -> Iterator[tuple[Case, U64]]:
    """Yield the pairs of a spec, under each set of values that it names, and their inputs: those of
    which each node gives one code under every reading.

    Raises SpecError where no spec is that of the operator which turns the output back.
    """
    back = turned_back_by(catalog, spec)
    for case in cases(spec):
        for first in fixed_cases(spec, case):
            second = _turned_back(spec, back, first)
            if second is None:
                continue
            pair = replace(first, inputs=first.inputs[:1], outputs=second.outputs, carried=(),
                           ranks=(), bound=False, hops=(first, second))  # fmt: skip
            codes = _telling(catalog, pair, np.asarray(fixed_inputs(spec, first, "edge", 0)[0]))
            if len(codes):
                yield pair, codes


def _turned_back(spec: Spec, back: Spec, first: Case) -> Case | None:
    """Return the case that turns back what another gives, with the same constants."""
    _, names = spec.body_as(Steps).undone_by
    values = dict(first.fixed)
    if len(values) != len(names):
        return None
    wanted = (first.outputs[0], *first.inputs[1:])
    fixed = tuple((name, values[own]) for name, own in names)
    fitting = (
        case for case in cases(back)
        if (case.inputs, case.outputs) == (wanted, first.inputs[:1])
        and fixes_all(layout_of(back, case)) and not case.refusal
    )  # fmt: skip
    found = next(fitting, None)
    return replace(found, fixed=fixed) if found else None


def _telling(catalog: Catalog, pair: Case, codes: U64) -> U64:
    """Return the codes of which each node gives one code under every reading."""
    codes = codes.astype(np.uint64)
    certain = np.ones(len(codes), bool)
    for vectors in hop_vectors(catalog, pair, {pair.unset_id: codes}):
        first, *others = vectors.expected.readings
        certain &= first.patterns == EXACT
        for other in others:
            certain &= (other.patterns == EXACT) & (other.codes == first.codes)
    found: U64 = codes[certain]
    return found
