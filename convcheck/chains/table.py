"""The verdicts on all chains of three types of a spec."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from convcheck.chains.judgement import ChainJudgement, judge_chain
from convcheck.chains.type_chain import CompiledCasts, rules_digest
from convcheck.numerics.format import Text
from convcheck.rules.cases import cases
from convcheck.rules.model import DType, Spec

Triple = tuple[str, str, str]


@dataclass(frozen=True, eq=False)
class ChainTable:
    """The verdicts on all chains of a spec."""

    spec: Spec
    #: NAME=VALUE
    attributes: tuple[str, ...]
    #: numeric types, in the spec's order
    types: tuple[DType, ...]
    #: type names -> judgement, in the order of types
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

    def judged() -> Iterator[tuple[Triple, ChainJudgement]]:
        for triple in chosen:
            yield triple, judge_chain(conversions.chain(triple), counted=False)
            advance()

    spec = conversions.spec
    types = numeric_types(spec)
    attributes = conversions.attributes([dtype.name for dtype in types])
    return ChainTable(spec, attributes, types, dict(judged()))
