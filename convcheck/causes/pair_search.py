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
from convcheck.semantics.expected_calls import Call
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
    call = (codes, *fixed_tensors(first))
    made = list(_made(causes, catalog, first, call))
    fits: list[Names] = [
        (name,) for name, codes in made if np.array_equal(_turned_back(catalog, second, codes), got)
    ]
    if not fits:
        right = evaluate(catalog.specs[first.spec], first, call[0]).readings[0].codes
        fits = [names[1:] for names in _both(causes, catalog, second, [("", right)], got)]
    fits = fits or list(_both(causes, catalog, second, made, got))
    return tuple(dict.fromkeys(fits))


def _made(
    causes: Sequence[Cause], catalog: Catalog, case: Case, call: Call
) -> Iterator[tuple[str, Bits]]:
    edited = wrong_calls(catalog.specs[case.spec], case.call, [call])
    for cause in causes:
        for made in edited((cause,)):
            given = made.answer(0)
            if given and given.outputs and (given.outputs[0].patterns == EXACT).all():
                yield cause.name, given.outputs[0].codes


def _both(
    causes: Sequence[Cause], catalog: Catalog, second: Case, made: Sequence[tuple[str, Bits]],
    got: Bits,
) -> Iterator[Names]:  # fmt: skip
    alike: dict[bytes, list[tuple[str, Bits]]] = {}
    for name, codes in made:
        alike.setdefault(codes.tobytes(), []).append((name, codes))
    for some in alike.values():
        codes = some[0][1]
        for other, results in _made(causes, catalog, second, (codes, *fixed_tensors(second))):
            if np.array_equal(results, got):
                yield from ((name, other) for name, _ in some)


def _turned_back(catalog: Catalog, second: Case, codes: Bits) -> Bits:
    return evaluate(catalog.specs[second.spec], second, codes).readings[0].codes
