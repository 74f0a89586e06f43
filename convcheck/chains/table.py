"""Every chain of three types of a spec, with the verdict on each."""

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
    #: Each attribute as NAME=VALUE.
    attributes: tuple[str, ...]
    #: The types of numbers, in the spec's order.
    types: tuple[DType, ...]
    #: The answers by the names of their types, in the order of these.
    chains: dict[Triple, ChainJudgement]

    @property
    def digest(self) -> str:
        """The digest of the rules and the attribute values."""
        return rules_digest(self.spec, self.attributes)


def numeric_types(spec: Spec) -> tuple[DType, ...]:
    """Return the types of numbers that a spec converts, each once."""
    listed = (dtype for types in spec.types.values() for dtype in types)
    return tuple(dict.fromkeys(t for t in listed if not isinstance(t.format, Text)))


def triples(spec: Spec) -> tuple[Triple, ...]:
    """Return the chains of a spec: three types of which it converts each to the next, and the first
    to the last.
    """
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
    """Judge chains of three types; `advance` is told of each."""

    def judged() -> Iterator[tuple[Triple, ChainJudgement]]:
        for triple in chosen:
            yield triple, judge_chain(conversions.chain(triple), counted=False)
            advance()

    spec = conversions.spec
    types = numeric_types(spec)
    attributes = conversions.attributes([dtype.name for dtype in types])
    return ChainTable(spec, attributes, types, dict(judged()))
