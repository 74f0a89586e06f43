"""The verdict on a chain, and on all chains of a spec."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal

from convcheck.chains.cast import Chain, Results
from convcheck.chains.compare import ChainComparison, Proof, compare_chain
from convcheck.chains.type_chain import CompiledCasts, Dispute, TypeChain, rules_digest
from convcheck.numerics.format import Text
from convcheck.rules.cases import cases
from convcheck.rules.model import DType, Spec

ChainVerdict = Literal["equal", "equal where defined", "disputed", "different"]
EQUAL: ChainVerdict = "equal"
WHERE_DEFINED: ChainVerdict = "equal where defined"
DISPUTED: ChainVerdict = "disputed"
DIFFERENT: ChainVerdict = "different"
VERDICTS: tuple[ChainVerdict, ...] = (EQUAL, WHERE_DEFINED, DISPUTED, DIFFERENT)
Triple = tuple[str, str, str]
PROOFS: tuple[Proof, ...] = ("exhaustive", "intervals", "vectors")  # strongest first


@dataclass(frozen=True)
class Telling:
    """A counterexample: an input with different results."""

    code: int
    hops: tuple[Results, ...]
    direct: Results
    is_least: bool


@dataclass(frozen=True)
class ReadAs:
    """The comparison under one reading of disputed rows."""

    #: by rule and row
    readings: Mapping[Dispute, str]
    comparison: ChainComparison
    shown: Telling | None

    @property
    def verdict(self) -> ChainVerdict:
        """The verdict under this reading."""
        if self.comparison.least is not None:
            return DIFFERENT
        return WHERE_DEFINED if self.comparison.counts.open else EQUAL


@dataclass(frozen=True, eq=False)
class ChainJudgement:
    """The verdict on a chain under all readings."""

    chain: TypeChain
    ways: tuple[ReadAs, ...]

    @property
    def verdict(self) -> ChainVerdict:
        """The common verdict, `disputed` if only some readings differ."""
        found = {way.verdict for way in self.ways}
        if DIFFERENT in found:
            return DIFFERENT if len(found) == 1 else DISPUTED
        return max(found, key=VERDICTS.index)

    @property
    def proof(self) -> Proof:
        """The weakest proof of all readings."""
        return max((way.comparison.proof for way in self.ways), key=PROOFS.index)

    @property
    def is_fused(self) -> bool:
        """Whether the direct cast gives the chain's result wherever that is defined."""
        return self.verdict in (EQUAL, WHERE_DEFINED) and not any(
            way.comparison.counts.direct_open for way in self.ways
        )

    @property
    def is_split(self) -> bool:
        """Whether the chain may replace the direct cast."""
        return self.verdict in (EQUAL, WHERE_DEFINED) and not any(
            way.comparison.counts.chain_open for way in self.ways
        )


def judge_chain(chain: TypeChain, counted: bool = True) -> ChainJudgement:
    """Compare a chain with the direct cast; `counted` also counts the inputs that differ."""
    ways = []
    for way in chain.ways():
        found = compare_chain(way.chain, way.direct, counted)
        shown = None
        if found.least is not None:
            [direct] = Chain((way.direct,)).trail(found.least)
            hops = tuple(way.chain.trail(found.least))
            shown = Telling(found.least, hops, direct, found.is_least)
        ways.append(ReadAs(way.readings, found, shown))
    return ChainJudgement(chain, tuple(ways))


@dataclass(frozen=True, eq=False)
class ChainTable:
    """The verdicts on all chains of a spec."""

    spec: Spec
    #: NAME=VALUE
    attributes: tuple[str, ...]
    types: tuple[DType, ...]
    chains: dict[Triple, ChainJudgement]

    @property
    def digest(self) -> str:
        """The digest of the rules and attribute values."""
        return rules_digest(self.spec, self.attributes)


def numeric_types(spec: Spec) -> tuple[DType, ...]:
    """Return the distinct numeric types of a spec."""
    listed = (dtype for types in spec.types.values() for dtype in types)
    return tuple(dict.fromkeys(t for t in listed if not isinstance(t.format, Text)))


def triples(spec: Spec) -> tuple[Triple, ...]:
    """Return the chains of three types whose casts, the direct one included, all exist."""
    pairs = {(c.inputs[0].name, c.outputs[0].name) for c in cases(spec) if not c.outside}
    names = [dtype.name for dtype in numeric_types(spec)]
    return tuple(
        (a, b, c)
        for a, b, c in product(names, repeat=3)
        if (a, b) in pairs and (b, c) in pairs and (a == c or (a, c) in pairs)
    )


def chain_table(
    conversions: CompiledCasts, chosen: Sequence[Triple], advance: Callable[[], None]
) -> ChainTable:
    """Judge chains of three types, calling `advance` after each."""
    types = numeric_types(conversions.spec)
    attributes = conversions.attributes([dtype.name for dtype in types])
    judged = {}
    for triple in chosen:
        judged[triple] = judge_chain(conversions.chain(triple), counted=False)
        advance()
    return ChainTable(conversions.spec, attributes, types, judged)
