"""Find the causes that explain every answer of a case, right and wrong. Runs in the worker."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice, pairwise, product
from typing import Any, cast

import numpy as np

from convcheck.causes.trial import LANES, CallTrial, Fits, Trial, Tried, judged_ones
from convcheck.chains.asked import chain_of, chain_types, made
from convcheck.chains.cast import U64
from convcheck.chains.type_chain import CompiledCasts
from convcheck.errors import UsageError, in_a_line
from convcheck.judge.answers import ANSWERED, NOT_ASKED, Answers, Index
from convcheck.judge.elements import unlike
from convcheck.judge.result import FAILURES, CaseDiagnosis, Example, Fit, Group, Names, Near, Tally
from convcheck.numerics.codec import decode
from convcheck.numerics.format import Format, Numeric
from convcheck.numerics.number import Bits, Codes
from convcheck.records import replace
from convcheck.rules.cases import fixed_tensors, is_listed
from convcheck.rules.causes import OWN, Cause, Links, found_together
from convcheck.rules.hop import Hop
from convcheck.rules.load import Catalog
from convcheck.rules.model import Case, DType
from convcheck.semantics.answers_at import points_of
from convcheck.semantics.body import wrong_calls
from convcheck.semantics.compile import compile_wrong, readings_at, rules_key
from convcheck.semantics.evaluate import evaluate
from convcheck.semantics.expected import EXACT, UNDEFINED
from convcheck.semantics.hops import gone_through
from convcheck.semantics.program import Program
from convcheck.semantics.runs import Affine, Constant, Piece, Unknown, in_chunks, runs
from convcheck.semantics.vocabulary import Mask, Points
from convcheck.vectors.model import CallSet, Vectors, VectorSet

AnyTrial = Trial | CallTrial
Ask = Callable[[Any], Any]  # inputs or calls -> answers, if any
CLOSEST = 3  # to report if none fits, and to combine
_PAIRS = 4
_KEPT = 64
_COMPLEMENTS = 40


@dataclass(frozen=True, eq=False)
class Search:
    """The causes to try, simplest first."""

    causes: tuple[Cause, ...]
    catalog: Catalog
    #: the last diagnoses, with further inputs and answers
    known: dict[Hashable, tuple[list[tuple[Bits, Bits | None]], CaseDiagnosis]] = field(
        default_factory=dict
    )

    @cached_property
    def between(self) -> tuple[DType, ...]:
        """All types that causes go through."""
        hops = (hop.type for cause in self.causes for hop in cause.hops)
        return tuple(dict.fromkeys(each for each in hops if isinstance(each, DType)))

    @cached_property
    def of_nodes(self) -> "PairSearch":
        """The search for chains with fixed inputs."""
        return PairSearch(self.causes, self.catalog)

    def named(self, names: Names) -> tuple[Cause, ...]:
        """Return causes by name."""
        by_name = {cause.name: cause for cause in self.causes}
        return tuple(by_name[name] for name in names)

    @cached_property
    def pairs(self) -> tuple[tuple[Cause, Cause], ...]:
        """Pairs observed together, and common causes with an ignored attribute."""
        common = [cause for cause in self.causes if cause.common]
        ignoring = [cause for cause in self.causes if cause.under and not cause.rules]
        return tuple(dict.fromkeys([*found_together(self.causes), *product(common, ignoring)]))


def diagnose(
    search: Search, vectors: Vectors, answers: Answers, ask: Ask | None = None
) -> CaseDiagnosis | None:
    """Return the causes of a failing case, None if no search applies. `ask` answers more inputs."""
    if isinstance(vectors, CallSet):
        calls = CallTrial.of(search.catalog, vectors, answers)
        return _searched(search, calls, ask) if calls else None
    trial = Trial.of_case(search.catalog, vectors, answers)
    return _known(search, trial, ask) if trial else None


def _known(search: Search, trial: Trial, ask: Ask | None) -> CaseDiagnosis:
    """Return a trial's diagnosis, from the cache if further answers are equal as well."""
    if ask is None:
        return _searched(search, trial, None)
    key = _key(search, trial)
    if key in search.known:
        asked, found = search.known[key]
        if all(_is_alike(ask(inputs), got) for inputs, got in asked):
            return found
    asked = list[tuple[Bits, Bits | None]]()

    def noted(inputs: Bits) -> Bits | None:
        asked.append((inputs, ask(inputs)))
        return asked[-1][1]

    found = _searched(search, trial, noted)
    if key is not None:
        if len(search.known) == _KEPT:
            search.known.clear()
        search.known[key] = asked, found
    return found


def _is_alike(one: Bits | None, other: Bits | None) -> bool:
    if one is None or other is None:
        return one is other
    return np.array_equal(one, other)


def _key(search: Search, trial: Trial) -> Hashable:
    """Return a cache key of rules, inputs and answers, None to search anew."""
    spec, case = trial.spec, trial.case
    if spec.pairs or case.outside:
        return None
    types = case.inputs[0], case.outputs[0], search.between
    rules = rules_key(spec, *types)
    versions = {cause.version for cause in search.causes} - {""}
    earlier = ((version, spec.earlier(version)) for version in versions)
    others = {
        (v, rules_key(one, *types)) for v, one in earlier if one and is_listed(one, *types[:2])
    }
    due = (array for each in trial.readings for array in (each.codes, each.patterns))
    arrays = (trial.points.bits, trial.got, trial.refused, *due)
    bits = (tuple(a) if a.dtype.hasobject else a.tobytes() for a in arrays)
    differing = frozenset(one for one in others if one[1] != rules)
    return types, case.attributes, rules, differing, trial.whole, *bits


def fits_of(
    search: Search, vectors: VectorSet, answers: Answers, ask: Ask | None = None
) -> tuple[Fit, ...] | None:
    """Return a swept case's causes with the readings they fit, None if no search applies."""
    trial = Trial.of_case(search.catalog, vectors, answers)
    if trial is None:
        return None
    found = _known(search, trial, ask)
    said = ((names, trial.said_by(search.named(names)) or ()) for names in found.fits)
    return tuple(
        Fit(names, number, trial.whole)
        for names, readings in said
        for number, reading in enumerate(readings)
        if trial.as_due(reading).all()
    )


def _searched(search: Search, trial: AnyTrial, ask: Ask | None) -> CaseDiagnosis:
    """Return the causes that explain all answers. Repeats if further answers refute all."""
    trials, beside = [trial], 0
    formats = tuple(dtype.format for dtype in search.catalog.types.types.values())
    while True:
        fits, near = _found(search, trials)
        more = trial.further(formats, ask, fits) if fits and ask else None
        left = [fit for fit in fits if more is None or more.explains(fit)]
        beside = more.beside if more else beside
        if more is None or left:
            names = tuple(tuple(cause.name for cause in fit) for fit in left)
            return CaseDiagnosis(
                int(trial.sizes.sum()), trial.wrong, names, near, beside=beside,
                whole_vectors=trial.whole,
            )  # fmt: skip
        trials.append(more)


def _found(search: Search, trials: Sequence[AnyTrial]) -> tuple[Fits, tuple[Near, ...]]:
    """Return the causes that fit all trials, or the closest ones."""
    first = trials[0]
    asked = [first.few, *trials]

    def explains(causes: Sequence[Cause]) -> bool:
        return all(trial.explains(causes) for trial in asked)

    causes = [cause for cause in search.causes if first.applies((cause,))]
    fits = _alone_or_found(causes, search.pairs, first, explains)
    if fits:
        return fits, ()
    masks = ((cause, first.sample.given_by((cause,))) for cause in causes)
    tried = [(cause, given) for cause, given in masks if given is not None]
    fits = _together(first.sample, tried, explains)
    if fits:
        return fits, ()
    near = []
    for cause, _ in _promising(first.sample, tried)[:CLOSEST]:
        given = first.given_by((cause,))
        near.append(Near(cause.name, 0 if given is None else int(first.sizes[given].sum())))
    return fits, tuple(sorted(near, key=lambda one: -one.count))


def _alone_or_found(
    causes: Sequence[Cause],
    pairs: Sequence[tuple[Cause, Cause]],
    trial: AnyTrial,
    explains: Callable[[Sequence[Cause]], bool],
) -> Fits:
    """Return single causes that fit, observed ones first, or observed pairs."""
    found = [cause for cause in causes if cause.common and explains((cause,))]
    rest = [cause for cause in causes if not cause.common]
    if found:
        rest = [cause for cause in rest if cause.under or cause.version]
    else:
        fits = [pair for pair in pairs if trial.applies(pair) and explains(pair)]
        if fits := [pair for pair in fits if not any(explains((one,)) for one in pair)]:
            return list(fits)
    both = {*found, *(cause for cause in rest if explains((cause,)))}
    return [(cause,) for cause in causes if cause in both]


def _together(
    trial: AnyTrial, tried: Sequence[Tried], explains: Callable[[Sequence[Cause]], bool]
) -> Fits:
    """Return the first few pairs that together explain all, in the simpler order if it fits."""
    for pairs in (_complements(trial, tried), _promising_pairs(trial, tried)):
        orders = (
            next((each for each in (pair, pair[::-1]) if explains(each)), None) for pair in pairs
        )
        if found := dict.fromkeys(islice(filter(None, orders), _PAIRS)):
            return list(found)
    return []


def _promising(trial: AnyTrial, tried: Sequence[Tried]) -> list[Tried]:
    return sorted(_acting(trial, tried), key=lambda each: -np.count_nonzero(each[1]))


def _acting(trial: AnyTrial, tried: Sequence[Tried]) -> list[Tried]:
    return [(cause, given) for cause, given in tried if (given & ~trial.right).any()]


def _complements(trial: AnyTrial, tried: Sequence[Tried]) -> Iterator[tuple[Cause, Cause]]:
    if some := _acting(trial, tried):
        missed = np.array([~given for _, given in some], np.float32)
        pairs = np.argwhere(np.triu(missed @ missed.T == 0, 1))
        yield from ((some[i][0], some[j][0]) for i, j in pairs[:_COMPLEMENTS].tolist())


def _promising_pairs(trial: AnyTrial, tried: Sequence[Tried]) -> Iterator[tuple[Cause, Cause]]:
    place = {cause: n for n, (cause, _) in enumerate(tried)}
    for first, given in _promising(trial, tried)[:CLOSEST]:
        rest = sorted(tried, key=lambda each: -np.count_nonzero(each[1] & ~given))
        for other, _ in rest:
            if other is not first:
                low, high = sorted((first, other), key=place.__getitem__)
                yield low, high


def given_alone(
    search: Search, case: Case, groups: Sequence[Group], fits: Sequence[Names]
) -> tuple[tuple[str, Names], ...]:
    """Return the causes that explain each failing group's example, by its digest."""
    names = tuple(dict.fromkeys(name for fit in fits if len(fit) > 1 for name in fit))
    failing = [group for group in groups if group.verdict in FAILURES and group.examples]
    shown = [one for group in failing if isinstance(one := group.examples[0], Example)]
    if not names or len(shown) < len(failing):
        return ()
    spec = search.catalog.specs[case.spec]
    bits = np.array([one.inputs[0] for one in shown], case.inputs[0].format.storage)
    got = np.array([one.got or 0 for one in shown], case.outputs[0].format.storage)
    refused = np.array([one.got is None for one in shown])
    trial = replace(Trial.answered(spec, case, bits, got), refused=refused)
    masks = {}
    for cause in search.named(names):
        given = trial.given_by((cause,))
        masks[cause.name] = np.zeros(len(shown), bool) if given is None else given
    return tuple(
        (group.digest, tuple(name for name in names if masks[name][i]))
        for i, group in enumerate(failing)
    )


_BLOCK = 1 << 14  # codes that fit the CPU cache


@dataclass
class _Candidate:
    fit: Fit
    program: Program
    chunks: dict[int, list[Piece]] = field(default_factory=dict)  # first code -> its pieces


class Held:
    """Causes that fit every answer of a sweep so far. An error costs only the causes."""

    def __init__(self, search: Search, case: Case, fits: Iterable[Fit]) -> None:
        self.spec, self.case = search.catalog.specs[case.spec], case
        self.source = cast(Numeric, case.inputs[0].format)
        self.target = cast(Numeric, case.outputs[0].format)
        self.left: list[_Candidate] = []
        self.fault = ""  # the error that ended the search
        with self._at_no_cost():
            named = ((fit, search.named(fit.names)) for fit in fits)
            programs = ((fit, compile_wrong(self.spec, case, causes)) for fit, causes in named)
            self.left = [_Candidate(fit, program) for fit, program in programs if program]

    @contextmanager
    def _at_no_cost(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            self.left, self.fault = [], in_a_line(error)

    def fitted(self, tally: Tally) -> Tally:
        """Return the tally with causes left, none if a call failed or was declined."""
        crashed = any(key.sort == "crashed" for key, _ in tally.entries)
        if crashed or tally.faults or tally.declined or self.fault:
            return replace(tally, search_fault=self.fault)
        return replace(tally, fits=tuple(candidate.fit for candidate in self.left))

    def expect(self, first: int, end: int, size: int, tile: int) -> None:
        """Compute the candidates' runs for codes in chunks of one size."""
        with self._at_no_cost():
            for candidate in self.left:
                said = runs(candidate.program, self.source, self.target, first, end - first, tile)
                chunks = in_chunks(said, first, end, size)
                candidate.chunks.update(zip(range(first, end, size), chunks, strict=True))

    def chunk(self, at: int, due: Iterable[Piece], got: Codes) -> None:
        """Drop causes that miss answers to codes from `at` on, expected as `due`."""
        with self._at_no_cost():
            if self.left:
                free = [slice(a - at, b - at) for run, a, b in due if _is_free(run)]
                self.left = [one for one in self.left if self._gives_chunk(one, at, free, got)]

    def elements(self, vectors: VectorSet, answers: Answers) -> None:
        """Drop causes that miss answers to codes asked one by one."""
        with self._at_no_cost():
            index = judged_ones(vectors, answers)
            if index is None:
                self.left = []
            elif self.left and len(index):
                trial = Trial.of(self.spec, vectors, answers, index)
                whole = len(vectors) // LANES * LANES  # without the tail of whole vectors
                counts = (whole if one.fit.whole_vectors else len(vectors) for one in self.left)
                tails = [(one, index >= n) for one, n in zip(self.left, counts, strict=True)]
                self.left = [one for one, tail in tails if (tail | _said(one, trial)).all()]

    def _gives_chunk(self, one: _Candidate, at: int, free: list[slice], got: Codes) -> bool:
        differs = np.empty(len(got), bool)
        for piece in one.chunks.pop(at):
            part = slice(piece[1] - at, piece[2] - at)
            reading = one.fit.reading
            differs[part] = unlike(piece, got[part], self.source, self.target, reading)
        for part in free:
            differs[part] = False
        index = np.flatnonzero(differs)
        codes, got = (at + index).astype(self.source.storage), got[index]
        blocks = (slice(i, i + _BLOCK) for i in range(0, len(codes), _BLOCK))
        return all(self._gives_block(one, codes[block], got[block]) for block in blocks)

    def _gives_block(self, one: _Candidate, codes: Codes, got: Codes) -> bool:
        answered = np.zeros(len(codes), bool)
        trial = Trial(self.spec, self.case, points_of(self.case, codes), got, answered, ())
        missed = np.flatnonzero(~_said(one, trial))
        if not len(missed):
            return True
        due = evaluate(self.spec, self.case, codes[missed]).readings
        return bool(np.any([reading.patterns == UNDEFINED for reading in due], axis=0).all())


def _said(one: _Candidate, trial: Trial) -> Mask:
    readings = readings_at(one.program, trial.points)
    return trial.as_due(readings[min(one.fit.reading, len(readings) - 1)])


def _is_free(run: Constant | Affine | Unknown) -> bool:
    return isinstance(run, Constant) and any(p == UNDEFINED for _, p in run.outcomes)


AskCasts = Callable[[Sequence[Case]], U64 | None]  # casts one by one on a backend


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
    """Return the edits that explain a chain, None if nothing is wrong or an answer is missing.

    An edited chain is run by the rules, and must give every answer. If none does, edited chains are
    run on the backend, cast by cast: an inserted cast may be wrong itself.
    """
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
