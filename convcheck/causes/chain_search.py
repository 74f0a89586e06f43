"""Find the edits that explain a chain's answers: casts removed, inserted or moved.

An edited chain is run by the rules, and must give every answer. If none does, edited chains are run
on the backend, cast by cast: an inserted cast may be wrong itself.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import cast

import numpy as np

from convcheck.chains.asked import chain_of, chain_types, made
from convcheck.chains.cast import U64
from convcheck.chains.type_chain import CompiledCasts
from convcheck.errors import UsageError
from convcheck.judge.answers import ANSWERED, NOT_ASKED, Answers, Index
from convcheck.judge.result import CaseDiagnosis, Names, Near
from convcheck.numerics.codec import decode
from convcheck.numerics.format import Format, Numeric
from convcheck.numerics.number import Bits, Codes
from convcheck.rules.cases import fixed_tensors
from convcheck.rules.causes import OWN, Cause, Links
from convcheck.rules.hop import Hop
from convcheck.rules.load import Catalog
from convcheck.rules.model import Case, DType
from convcheck.semantics.body import wrong_calls
from convcheck.semantics.evaluate import evaluate
from convcheck.semantics.expected import EXACT
from convcheck.semantics.hops import gone_through
from convcheck.semantics.vocabulary import Mask, Points
from convcheck.vectors.model import VectorSet

AskCasts = Callable[[Sequence[Case]], U64 | None]  # casts one by one on a backend
CLOSEST = 3


def to_explain(vectors: VectorSet, answers: Answers) -> tuple[Index, int]:
    """Return elements with an exact expectation, and the number of wrong ones, 0 with gaps."""
    due = vectors.expected.readings[0]
    index = np.flatnonzero((due.patterns == EXACT) & (answers.state < NOT_ASKED))
    if answers.declined or answers.faults or (answers.state[index] != ANSWERED).any():
        return index, 0
    return index, int(np.count_nonzero(answers.got[index] != due.codes[index]))


def diagnose_chain(
    causes: Sequence[Cause],
    casts: CompiledCasts,
    vectors: VectorSet,
    answers: Answers,
    ask: AskCasts | None = None,
) -> CaseDiagnosis | None:
    """Return the edits that explain a chain, None if nothing is wrong or an answer is missing."""
    index, wrong = to_explain(vectors, answers)
    if not wrong:
        return None
    codes, got = (each[index].astype(np.uint64) for each in (vectors.inputs[0], answers.got))
    names, edits = chain_types(vectors.case), [cause for cause in causes if cause.chain]
    tried = [(cause, *_given(casts, _edited((cause,), names), codes, got)) for cause in edits]
    whole = [(cause, size) for cause, count, size in tried if count == len(got)]
    least = min((size for _, size in whole), default=0)
    # prefer fewer casts: optimisers insert none without effect
    fits: tuple[Names, ...] = tuple((cause.name,) for cause, size in whole if size == least)
    fits = fits or next(_pairs(edits, names, casts, codes, got), ())
    if ask and not fits:
        fits = next(_own(edits, names, casts, ask, index, got), ())
    right = len(got) - wrong
    near = [Near(cause.name, count) for cause, count, _ in tried if count > right]
    told = () if fits else tuple(sorted(near, key=lambda one: -one.count)[:CLOSEST])
    return CaseDiagnosis(len(got), wrong, fits, told)


def _pairs(
    edits: Sequence[Cause], names: Links, casts: CompiledCasts, codes: U64, got: U64
) -> Iterator[tuple[Names, ...]]:
    for first in edits:
        if any(first.chain.edited(names) if first.chain else ()):
            for other in edits:
                made_of = _edited((first, other), names)
                if other is not first and _given(casts, made_of, codes, got)[0] == len(got):
                    yield ((first.name, other.name),)


def _own(
    edits: Sequence[Cause], names: Links, casts: CompiledCasts, ask: AskCasts, index: Index,
    got: U64,
) -> Iterator[tuple[Names, ...]]:  # fmt: skip
    own = [cause for cause in edits if cause.chain and cause.chain.word == OWN]
    chains = {links: cause for cause in edits[::-1] for links in _edited((cause,), names)}
    for links, cause in sorted(chains.items(), key=lambda each: (len(each[0]), str(each[0]))):
        try:
            hops = made(casts, cast(Names, links)) if _is_typed(links) else ()
        except UsageError:  # the spec lacks this cast
            continue
        results = ask([hop.case for hop in hops if hop.case]) if own and hops else None
        if results is not None and np.array_equal(results[index], got):
            yield tuple((cause.name, one.name) for one in own)


def _is_typed(links: Links) -> bool:
    return all(isinstance(link, str) for link in links)


def _edited(causes: Sequence[Cause], names: Links) -> set[Links]:
    found = {names}
    for cause in causes:
        found = {one for each in found for one in (cause.chain.edited(each) if cause.chain else ())}
    return found - {names}


def _given(casts: CompiledCasts, chains: set[Links], codes: U64, got: U64) -> tuple[int, int]:
    """Return the most answers that an edited chain explains, and its number of types."""
    found = [(0, 0)]
    for names in sorted(chains, key=str):
        try:
            results, known = _results(casts, names, codes)
        except UsageError:  # the spec lacks this cast
            continue
        found.append((int(np.count_nonzero(known & (results == got))), len(names)))
    return max(found, key=lambda each: (each[0], -each[1]))


def _results(casts: CompiledCasts, links: Links, codes: U64) -> tuple[U64, Mask]:
    if _is_typed(links):
        found = chain_of(made(casts, cast(Names, links))).results(codes)
        return found.codes, found.patterns == EXACT
    known = np.ones(len(codes), bool)
    types = {t.name: t for listed in casts.spec.types.values() for t in listed}
    for before, link in pairwise(links):
        source = before if isinstance(before, str) else cast(DType, before.type).name
        if isinstance(link, str):
            found = chain_of(made(casts, (source, link))).results(codes)
            codes, known = found.codes, known & (found.patterns == EXACT)
        else:
            codes = _held(types[source].format, link, codes)
    return codes, known


def _held(source: Format, hop: Hop, codes: U64) -> U64:
    bits = codes.astype(source.storage)
    points = Points(source, cast(DType, hop.type).format, bits, decode(cast(Numeric, source), bits))
    return cast(Codes, gone_through(points, hop, retyped=True).bits).astype(np.uint64)


class PairSearch:
    """Searches for causes of pairs. Caches results: settings mostly agree."""

    def __init__(self, causes: Sequence[Cause], catalog: Catalog) -> None:
        self._causes = [cause for cause in causes if cause.call]
        self._catalog, self._hops = catalog, tuple[Case, ...]()
        self._known: dict[tuple[bytes, bytes], tuple[Names, ...]] = {}

    def diagnose(self, vectors: VectorSet, answers: Answers) -> CaseDiagnosis | None:
        """Return the edits that explain a pair, None without a wrong or with a missing answer."""
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
    edited = list(_edited_pair(causes, catalog, first, codes))
    known: dict[bytes, list[tuple[Names, Bits]]] = {}

    def followed(some: Sequence[tuple[Names, Bits]]) -> Iterator[Names]:
        for names, codes in some:
            key = codes.tobytes()
            if key not in known:
                known[key] = list(_edited_pair(causes, catalog, second, codes))
            yield from (
                (*names, *more) for more, results in known[key] if np.array_equal(results, got)
            )

    by_rules = ((names, _by_rules(catalog, second, codes)) for names, codes in edited)
    fits = [names for names, results in by_rules if np.array_equal(results, got)]
    fits = fits or [*followed([((), _by_rules(catalog, first, codes))])] or [*followed(edited)]
    return tuple(dict.fromkeys(fits))


def _edited_pair(
    causes: Sequence[Cause], catalog: Catalog, case: Case, codes: Bits
) -> Iterator[tuple[Names, Bits]]:
    edits = wrong_calls(catalog.specs[case.spec], case.call, [(codes, *fixed_tensors(case))])
    for cause in causes:
        for edit in edits((cause,)):
            given = edit.answer(0)
            if given and given.outputs and (given.outputs[0].patterns == EXACT).all():
                yield (cause.name,), given.outputs[0].codes


def _by_rules(catalog: Catalog, case: Case, codes: Bits) -> Bits:
    return evaluate(catalog.specs[case.spec], case, codes).readings[0].codes
