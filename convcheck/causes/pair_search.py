"""Find the edit that explains the answers of a node followed by its inverse.

Edits of the first node are tried first, then of the second, then one of each.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from convcheck.causes.chain_search import to_explain
from convcheck.judge.answers import Answers
from convcheck.judge.result import CaseDiagnosis, Names
from convcheck.numerics.codes import Bits
from convcheck.rules.causes import Cause
from convcheck.rules.fixed import fixed_tensors
from convcheck.rules.load import Catalog
from convcheck.rules.model import Case
from convcheck.semantics.body import wrong_calls
from convcheck.semantics.evaluate import evaluate
from convcheck.semantics.expected import EXACT
from convcheck.vectors.model import VectorSet


class PairSearch:
    """Searches for causes of pairs. Caches results, because settings mostly agree."""

    def __init__(self, causes: Sequence[Cause], catalog: Catalog) -> None:
        self._causes = [cause for cause in causes if cause.call]
        self._catalog, self._hops = catalog, tuple[Case, ...]()
        self._known: dict[tuple[bytes, bytes], tuple[Names, ...]] = {}

    def diagnose(self, vectors: VectorSet, answers: Answers) -> CaseDiagnosis | None:
        """Return the edits that explain the answers to a pair.

        Return None if nothing is wrong or an answer is missing.
        """
        index, wrong = to_explain(vectors, answers)
        if not wrong:
            return None
        if vectors.case.hops != self._hops:
            self._hops, self._known = vectors.case.hops, {}
        codes, got = vectors.inputs[0][index], answers.got[index]
        key = codes.tobytes(), got.tobytes()
        if key not in self._known:
            self._known[key] = _fits(self._causes, self._catalog, self._hops, codes, got)
        return CaseDiagnosis(len(got), wrong, self._known[key])


def _fits(
    causes: Sequence[Cause], catalog: Catalog, hops: Sequence[Case], codes: Bits, got: Bits
) -> tuple[Names, ...]:
    first, second = hops
    edited = list(_edited(causes, catalog, first, codes))
    known: dict[bytes, list[tuple[Names, Bits]]] = {}

    def followed(some: Sequence[tuple[Names, Bits]]) -> Iterator[Names]:
        for names, codes in some:
            key = codes.tobytes()
            if key not in known:
                known[key] = list(_edited(causes, catalog, second, codes))
            yield from (
                (*names, *more) for more, results in known[key] if np.array_equal(results, got)
            )

    by_rules = ((names, _by_rules(catalog, second, codes)) for names, codes in edited)
    fits = [names for names, results in by_rules if np.array_equal(results, got)]
    fits = fits or [*followed([((), _by_rules(catalog, first, codes))])] or [*followed(edited)]
    return tuple(dict.fromkeys(fits))


def _edited(
    causes: Sequence[Cause], catalog: Catalog, case: Case, codes: Bits
) -> Iterator[tuple[Names, Bits]]:
    """Yield each edit of a node with its codes."""
    edits = wrong_calls(catalog.specs[case.spec], case.call, [(codes, *fixed_tensors(case))])
    for cause in causes:
        for made in edits((cause,)):
            given = made.answer(0)
            if given and given.outputs and (given.outputs[0].patterns == EXACT).all():
                yield (cause.name,), given.outputs[0].codes


def _by_rules(catalog: Catalog, case: Case, codes: Bits) -> Bits:
    return evaluate(catalog.specs[case.spec], case, codes).readings[0].codes
