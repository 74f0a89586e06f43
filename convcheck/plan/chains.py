"""Select chains of casts to test as graphs.

A chain is tested if an input shows a dropped cast. Types with equal exponent and mantissa widths
count as one, as optimisers look at range and precision, and so do types below a byte of one kind.
Chains of four use the widest and narrowest type of each kind, of whole bytes.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import pairwise, product

from convcheck.backends.protocol import graph_options
from convcheck.causes.gather import named_of
from convcheck.chains.asked import (
    CAST_BY_CAST,
    ChainCorpus,
    chain_case,
    first_nodes,
    takes_pairs,
    telling_codes,
)
from convcheck.chains.cast import U64
from convcheck.chains.judgement import numeric_types, triples
from convcheck.chains.type_chain import CompiledCasts
from convcheck.judge.result import FAILURES, BackendInfo, CaseResult, Example
from convcheck.numerics.format import Bool, Float
from convcheck.plan.runner import execute
from convcheck.records import replace
from convcheck.rules.causes import cause_files
from convcheck.rules.load import Catalog, promises_of
from convcheck.rules.model import Case, DType, Spec
from convcheck.vectors.corpus import Corpus

HOW = (("input", ("fed", "constant")), ("middle", ("hidden", "exposed")))
Setting = tuple[tuple[str, str], ...]
Names = tuple[str, ...]
_BYTE = 8


@dataclass(frozen=True)
class AskedChain:
    """A chain and its inputs."""

    #: Without a setting.
    case: Case
    codes: U64


def settings(address: str) -> list[Setting]:
    """Return combinations of graph layouts and backend options, one empty without graphs."""
    options = graph_options(address)
    if options is None:
        return [()]
    named = [[(name, value) for value in values] for name, values in (*options.items(), *HOW)]
    return list(product(*named))


def chosen_names(spec: Spec, every: bool) -> list[Names]:
    """Return type names of chains of three and four. `every`: also types that count as one."""
    types = numeric_types(spec)
    kept = {dtype.name for dtype in (types if every else _told_apart(types))}
    pairs = _pairs(spec)
    short = [names for names in triples(spec) if kept.issuperset(names)]
    ends = _ends([dtype for dtype in types if dtype.name in kept])
    long = [n for n in product(ends, repeat=4) if all(map(pairs.__contains__, pairwise(n)))
            and all(a != b for a, b in pairwise(n))]  # fmt: skip
    return [*short, *long]


def _told_apart(types: Iterable[DType]) -> list[DType]:
    first: dict[object, DType] = {}
    for dtype in types:
        fmt = dtype.format
        key: object = (fmt.exponent, fmt.mantissa) if isinstance(fmt, Float) else dtype.name
        if not isinstance(fmt, Bool) and _bits(dtype) < _BYTE:
            key = type(fmt), getattr(fmt, "signed", False)
        first.setdefault(key, dtype)
    return list(first.values())


def _ends(types: Sequence[DType]) -> Names:
    kinds: dict[str, list[DType]] = {}
    for dtype in types:
        fmt = dtype.format
        if isinstance(fmt, Bool) or _bits(dtype) >= _BYTE:
            kinds.setdefault(type(fmt).__name__, []).append(dtype)
    found = (e for some in kinds.values() for e in (max(some, key=_bits), min(some, key=_bits)))
    return tuple(dict.fromkeys(dtype.name for dtype in found))


def _bits(dtype: DType) -> int:
    return int(getattr(dtype.format, "bits", 1))


def asked_chain(casts: CompiledCasts, names: Sequence[str]) -> AskedChain | None:
    """Return a chain, None if no undisputed input shows a dropped cast. Raises UsageError."""
    codes = telling_codes(casts, names)
    return AskedChain(chain_case(casts, names), codes) if len(codes) else None


def corpus_of_chains(corpus: Corpus, asked: Iterable[AskedChain], address: str) -> ChainCorpus:
    """Return the vectors of chains."""
    promises = promises_of(address.partition(":")[0], corpus.catalog.types)
    codes = {one.case.id: one.codes for one in asked}
    return ChainCorpus(corpus.catalog, corpus.tier, corpus.seed, (), codes=codes, promises=promises)


def in_settings(asked: Iterable[AskedChain], address: str) -> list[Case]:
    """Return chains' cases in every setting."""
    every = settings(address)
    return [replace(one.case, setting=setting) for one in asked for setting in every]


def is_like(case: Case, every: Sequence[Setting], pattern: str) -> bool:
    """Return whether a chain matches a pattern of ids in any setting."""
    some = (replace(case, setting=setting) for setting in every)
    return any(fnmatchcase(one.id, pattern) or fnmatchcase(one.name, pattern) for one in some)


def newest_answered(
    address: str, specs: Sequence[Spec], corpus: Corpus, timeout: float
) -> list[Spec]:
    """Return each operator's newest version with a cast that the backend answers.

    Operators with pairs return every such version, newest first. Raises UnavailableError or
    UsageError.
    """
    cases = [case for spec in specs for case in _probes(corpus.catalog, spec)]
    corpus = replace(corpus, tier="edge")
    done = execute(address, cases, corpus.only(cases), timeout=timeout, catalog=corpus.catalog)
    answered = {result.case.spec for result in done.cases if result.verdict != "unsupported"}
    newest: dict[str, Spec] = {}
    for spec in sorted(specs, key=lambda spec: spec.version, reverse=True):
        if spec.id in answered:
            newest.setdefault(spec.id if takes_pairs(spec) else spec.op, spec)
    return list(newest.values())


def _probes(catalog: Catalog, spec: Spec) -> Iterable[Case]:
    if takes_pairs(spec):
        return first_nodes(spec)
    ends, known = pairwise(_ends(numeric_types(spec))), _pairs(spec)
    casts = (CompiledCasts(catalog, spec).between(*pair).case for pair in ends if pair in known)
    return filter(None, casts)


def _pairs(spec: Spec) -> set[tuple[str, str]]:
    return {(a, c) for a, _, c in triples(spec)} | {(a, b) for a, b, _ in triples(spec)}


@dataclass(frozen=True)
class GraphAnswer:
    """The result of a chain in one setting."""

    setting: Setting
    #: CAST_BY_CAST, or the conversion that replaced the chain; '' if unknown.
    made: str
    count: int
    of: int
    message: str = ""
    #: Whether the backend documents the replacement.
    allowed: bool = False
    example: Example | None = None


@dataclass(frozen=True)
class ChainOfBackend:
    """The results of a chain in every setting."""

    #: Without a setting.
    case: Case
    answers: tuple[GraphAnswer, ...]

    @property
    def types(self) -> tuple[DType, ...]:
        """The types from source to destination."""
        return (self.case.inputs[0], *(hop.outputs[0] for hop in self.case.hops))

    @property
    def changed(self) -> tuple[GraphAnswer, ...]:
        """The answers with an undocumented dropped cast."""
        told = (one for one in self.answers if not one.message and not one.allowed)
        return tuple(one for one in told if one.made != CAST_BY_CAST)

    @property
    def untold(self) -> tuple[str, ...]:
        """Why the result is unknown in all settings; () if it is known in one."""
        messages = tuple(dict.fromkeys(one.message for one in self.answers))
        return () if "" in messages else messages


def ask_chains(
    address: str,
    asked: Sequence[AskedChain],
    timeout: float,
    catalog: Catalog,
    advance: Callable[[], None],
) -> tuple[BackendInfo, tuple[ChainOfBackend, ...]]:
    """Test chains on a backend in every setting. Calls `advance` after each. Raises as `run`."""
    files = cause_files(catalog)
    corpus = corpus_of_chains(Corpus(catalog, "edge", 0, ()), asked, address)
    done = execute(
        address, in_settings(asked, address), corpus, jobs=None, timeout=timeout, catalog=catalog,
        causes=files, on_result=lambda result: advance(),
    )  # fmt: skip
    if done.interrupted:
        raise KeyboardInterrupt
    says = {one.name: one.says for one in named_of(done.cases, files, catalog.types)}
    of: dict[str, list[GraphAnswer]] = {}
    for result in done.cases:
        of.setdefault(result.case.unset_id, []).append(_answer(result, says))
    return done.backend, tuple(ChainOfBackend(one.case, tuple(of[one.case.id])) for one in asked)


def _answer(result: CaseResult, says: Mapping[str, str]) -> GraphAnswer:
    setting, judged = result.case.setting, result.values_judged
    failing = [group for group in result.groups if group.verdict in FAILURES]
    other = next((group for group in failing if group.placement or group.verdict != "fail"), None)
    if not judged or other:
        how = f"{other.verdict} {other.placement or other.kind}" if other else result.message
        return GraphAnswer(setting, "", 0, judged, how or result.verdict)
    if not failing:
        right = next(group for group in result.groups if group.verdict != "undefined")
        made = right.reading or CAST_BY_CAST
        return GraphAnswer(setting, made, right.count, judged, allowed=made != CAST_BY_CAST)
    fits = result.diagnosis.fits[:1] if result.diagnosis else ()
    made = ", ".join(says[name] for fit in fits for name in fit)
    count = judged if made else judged - sum(group.count for group in failing)
    shown = next((e for e in failing[0].examples if isinstance(e, Example)), None)
    return GraphAnswer(setting, made, count, judged, example=shown)
