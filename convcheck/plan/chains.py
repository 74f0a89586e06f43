"""Chains put to a backend as graphs: whether it makes every cast of them, one after the other.

A graph of casts is compared with the same casts one by one. It is asked inputs whose results tell
every cast: by the rules, the chain gives another result than without one of its middles. First
each cast is asked alone, on what reaches it. Only if the backend has all of these right, what a
graph gives tells what was made of it, and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise, product

import numpy as np
from numpy.typing import NDArray

from convcheck.chains.cast import U64, Chain
from convcheck.chains.compare import known_inputs
from convcheck.chains.type_chain import CompiledCast, CompiledCasts, TypeChain
from convcheck.judge.result import FAILURES, BackendInfo, CaseResult
from convcheck.judge.vectors import judge_vectors
from convcheck.plan.runner import execute
from convcheck.rules.load import Catalog
from convcheck.rules.model import Case
from convcheck.semantics.evaluate import evaluate
from convcheck.semantics.expected import EXACT, Decision, Expected, Reading
from convcheck.vectors.form import form_decision
from convcheck.vectors.model import VectorSet

MOST = 8  # inputs that tell a chain from a shorter one
CAST_BY_CAST = "cast by cast"
HOW = (("input", ("fed", "constant")), ("middle", ("hidden", "exposed")))
Setting = tuple[tuple[str, str], ...]
Hops = tuple[CompiledCast, ...]


@dataclass(frozen=True, eq=False)
class AskedChain:
    """What a chain is asked, and what it gives without some of its middles."""

    chain: TypeChain
    #: The inputs, with what is due of the chain, and of the shorter ones.
    vectors: VectorSet
    #: Of each cast, what reaches it.
    reaching: tuple[tuple[Case, U64], ...]


@dataclass(frozen=True)
class GraphAnswer:
    """What became of a chain in one setting."""

    setting: Setting
    #: CAST_BY_CAST, or the middles that were left out; '' for something else.
    made: str
    #: How many inputs were answered so.
    count: int
    #: How many inputs were asked.
    of: int
    #: Why there is no answer, '' where there is one.
    message: str = ""


@dataclass(frozen=True)
class ChainOfBackend:
    """What became of a chain in every setting."""

    #: What was asked.
    asked: AskedChain
    #: Empty where one of the casts alone is not right: then nothing can be told.
    answers: tuple[GraphAnswer, ...]
    #: The results of casts that are not right by themselves.
    wrong: tuple[CaseResult, ...]

    @property
    def changed(self) -> tuple[GraphAnswer, ...]:
        """The answers that are not those of all casts."""
        return tuple(one for one in self.answers if not one.message and one.made != CAST_BY_CAST)


@dataclass(frozen=True)
class _Corpus:
    """The vectors of chains and of casts, by the ids of their cases without a setting."""

    sets: Mapping[str, VectorSet]

    def vectors(self, case: Case) -> VectorSet:
        """Return what a case is asked."""
        return replace(self.sets[replace(case, setting=()).id], case=case)


def asked_chain(casts: CompiledCasts, names: Sequence[str]) -> AskedChain | None:
    """Return what to ask of a chain; None where no undisputed input tells whether a cast is left
    out.
    """
    chain, shorter = casts.chain(names), _shorter(casts, names)
    codes, shorter = _telling(chain.hops, shorter)
    if not shorter:
        return None
    cases = tuple(hop.case for hop in chain.hops if hop.case is not None)
    first, last = cases[0], cases[-1]
    whole = Case(first.spec, first.op, first.version, first.inputs, last.outputs, (), hops=cases)
    reaching = [codes]
    for hop in chain.hops[:-1]:
        reaching.append(hop.casts[0].raw(reaching[-1])[0])
    vectors = _vectors(casts, whole, codes, [(CAST_BY_CAST, chain.hops), *shorter])
    return AskedChain(chain, vectors, tuple(zip(cases, reaching, strict=True)))


def _shorter(casts: CompiledCasts, names: Sequence[str]) -> list[tuple[str, Hops]]:
    """Return what a chain is without one of its middles, and without all of them."""
    source, *middles, target = names
    left = {f"without {name}": [n for j, n in enumerate(middles) if j != i]
            for i, name in enumerate(middles)}  # fmt: skip
    left |= {"without " + ", ".join(middles): []}
    return [(said, _made(casts, [source, *kept, target])) for said, kept in left.items()]


def _made(casts: CompiledCasts, names: Sequence[str]) -> Hops:
    """Return the casts of a chain, of which one to the same type changes nothing."""
    made = []
    for source, target in pairwise(names):
        found = casts.between(source, target)
        same = CompiledCast((found.dtypes[0], found.dtypes[0]))
        made.append(same if source == target else found)
    return tuple(made)


def _telling(hops: Hops, shorter: Sequence[tuple[str, Hops]]) -> tuple[U64, list[tuple[str, Hops]]]:
    """Return inputs of which each cast gives an exact code, in every reading, and a shorter chain
    another one; and the chains that they tell.
    """
    codes = known_inputs(_chain(hops))
    every = (_certain(each, codes) for each in (hops, *dict(shorter).values()))
    codes = codes[np.logical_and.reduce([*every])]
    results = _chain(hops).results(codes)
    told = [np.flatnonzero(~results.same(_chain(short).results(codes))) for _, short in shorter]
    some = [each[np.linspace(0, len(each) - 1, MOST).astype(int)] for each in told if len(each)]
    chosen = codes[np.unique(np.concatenate(some))] if some else codes[:0]
    return chosen, [one for one, each in zip(shorter, told, strict=True) if len(each)]


def _chain(hops: Hops) -> Chain:
    """Return a chain by the first reading of each cast."""
    return Chain(tuple(hop.casts[0] for hop in hops))


def _certain(hops: Hops, codes: U64) -> NDArray[np.bool_]:
    """Return of which inputs every cast gives an exact code, the same in all its readings."""
    certain = np.ones(len(codes), bool)
    for hop in hops:
        first, *others = (Chain((cast,)).results(codes) for cast in hop.casts)
        certain &= first.patterns == EXACT
        for other in others:
            certain &= first.same(other)
        codes = hop.casts[0].raw(codes)[0]
    return certain


def _vectors(
    casts: CompiledCasts, case: Case, codes: U64, ways: Sequence[tuple[str, Hops]]
) -> VectorSet:
    source, target = case.inputs[0].format.storage, case.outputs[0].format.storage
    exact = np.zeros(len(codes), np.uint8)
    readings = tuple(
        Reading(_chain(hops).results(codes).codes.astype(target), exact) for _, hops in ways
    )
    said = Decision("chain", "every cast", "disputed", "", "", casts.spec.place,
                    tuple(name for name, _ in ways))  # fmt: skip
    expected = Expected(np.zeros(len(codes), np.int16), (said,), readings)
    return VectorSet(case, (codes.astype(source),), expected, "sampled", form_decision(casts.spec))


def settings(options: Mapping[str, tuple[str, ...]]) -> list[Setting]:
    """Return every way to build a graph and to set a backend."""
    named = [[(name, value) for value in values] for name, values in (*options.items(), *HOW)]
    return list(product(*named))


def ask_chains(
    address: str,
    asked: Sequence[AskedChain],
    options: Mapping[str, tuple[str, ...]],
    timeout: float,
    catalog: Catalog,
    advance: Callable[[], None],
) -> tuple[BackendInfo, tuple[ChainOfBackend, ...]]:
    """Put chains to a backend in every setting; `advance` is told of each graph. Raises
    UnavailableError or UsageError where it cannot be opened, and KeyboardInterrupt.
    """
    alone = _alone(asked, catalog)
    sets = {**alone, **{one.vectors.case.id: one.vectors for one in asked}}
    graphs = [replace(one.vectors.case, setting=s) for one in asked for s in settings(options)]
    cases = [*(vectors.case for vectors in alone.values()), *graphs]
    done = execute(
        address, cases, _Corpus(sets), jobs=None, timeout=timeout,
        judge=partial(judge_vectors, show_all=True), catalog=catalog,
        on_result=lambda result: advance() if result.case.hops else None,
    )  # fmt: skip
    if done.interrupted:
        raise KeyboardInterrupt
    results = {result.case.id: result for result in done.results}
    return done.backend, tuple(_told(one, results, settings(options)) for one in asked)


def _alone(asked: Sequence[AskedChain], catalog: Catalog) -> dict[str, VectorSet]:
    """Return every cast of the chains, with all that reaches it."""
    reaching: dict[Case, list[U64]] = {}
    for one in asked:
        for case, codes in one.reaching:
            reaching.setdefault(case, []).append(codes)
    found = {}
    for case, several in reaching.items():
        spec = catalog.specs[case.spec]
        bits = np.unique(np.concatenate(several)).astype(case.inputs[0].format.storage)
        expected = evaluate(spec, case, bits)
        found[case.id] = VectorSet(case, (bits,), expected, "sampled", form_decision(spec))
    return found


def _told(
    one: AskedChain, results: Mapping[str, CaseResult], every: Sequence[Setting]
) -> ChainOfBackend:
    alone = [results[name] for name in dict.fromkeys(case.id for case, _ in one.reaching)]
    wrong = tuple(result for result in alone if result.verdict not in ("pass", "tolerated"))
    if wrong:
        return ChainOfBackend(one, (), wrong)
    case = one.vectors.case
    answers = (_answer(results[replace(case, setting=s).id], s) for s in every)
    return ChainOfBackend(one, tuple(answers), ())


def _answer(result: CaseResult, setting: Setting) -> GraphAnswer:
    """Return what was made of a chain; where it was not answered everywhere, why."""
    failing = [group for group in result.groups if group.verdict in FAILURES]
    other = next((group for group in failing if group.placement or group.verdict != "fail"), None)
    if not result.groups or other:
        how = f"{other.verdict} {other.placement or other.kind}" if other else result.message
        return GraphAnswer(setting, "", 0, result.checked, how or result.verdict)
    right = next((group for group in result.groups if group.verdict not in FAILURES), None)
    if right is None or right.count < result.checked:
        return GraphAnswer(setting, "", right.count if right else 0, result.checked)
    return GraphAnswer(setting, right.reading, right.count, result.checked)
