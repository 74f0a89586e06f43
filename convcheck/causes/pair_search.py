"""Answers to a node and the one that turns it back -> what was made of the first one in the graph.

What an edit of its steps makes of the first node is turned back by the rules. It is told only if
that gives every answer.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from convcheck.causes.chain_search import to_explain
from convcheck.judge.answers import Answers
from convcheck.judge.result import CaseDiagnosis
from convcheck.numerics.codes import Bits
from convcheck.rules.causes import Cause
from convcheck.rules.fixed import fixed_tensors
from convcheck.rules.load import Catalog
from convcheck.rules.model import Case
from convcheck.semantics.body import wrong_calls
from convcheck.semantics.evaluate import evaluate
from convcheck.semantics.expected import EXACT
from convcheck.vectors.model import VectorSet


def diagnose_pair(
    causes: Sequence[Cause], catalog: Catalog, vectors: VectorSet, answers: Answers
) -> CaseDiagnosis | None:
    """Return what explains the answers to a pair; None where nothing is wrong, or an input was not
    answered.
    """
    index, wrong = to_explain(vectors, answers)
    if not wrong:
        return None
    got = answers.got[index]
    first, second = vectors.case.hops
    call = (vectors.inputs[0][index], *fixed_tensors(first))
    edited = wrong_calls(catalog.specs[first.spec], first.call, [call])
    fits = [
        (cause.name,)
        for cause in causes
        if cause.call and cause.is_for(first.inputs[0], first.outputs[0])
        for made in edited((cause,))
        if (given := made.answer(0)) is not None
        and given.outputs
        and (given.outputs[0].patterns == EXACT).all()
        and np.array_equal(_turned_back(catalog, second, given.outputs[0].codes), got)
    ]
    return CaseDiagnosis(len(got), wrong, tuple(dict.fromkeys(fits)))


def _turned_back(catalog: Catalog, second: Case, codes: Bits) -> Bits:
    """Return what the second node gives, by the first reading."""
    return evaluate(catalog.specs[second.spec], second, codes).readings[0].codes
