"""`convcheck-chain/1` and `convcheck-chains/1`: a chain of casts, and all chains of a spec."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Literal

from convcheck import __version__
from convcheck.chains.cast import Results
from convcheck.chains.compare import Proof
from convcheck.chains.judgement import ChainJudgement, ChainVerdict, ReadAs, Telling
from convcheck.chains.table import ChainTable
from convcheck.chains.type_chain import TypeChain, rules_digest
from convcheck.judge.words import code_text, value
from convcheck.report.json.codec import Count, Shape, json_text
from convcheck.rules.model import DType, Spec
from convcheck.semantics.expected import EXACT, PATTERNS

FORMAT: Final = "convcheck-chain/1"
TABLE_FORMAT: Final = "convcheck-chains/1"


class ResultJson(Shape, frozen=True, kw_only=True):
    """What comes of an input."""

    #: The name of the type.
    type: str
    #: The code in hexadecimal, or the word of a pattern: <nan>, <undefined>.
    result: str
    #: The value of the code, null for a pattern.
    value: str | None


class ShownJson(Shape, frozen=True, kw_only=True):
    """An input that shows a difference."""

    input: ResultJson
    #: Whether no lesser code shows one.
    least: bool
    #: What comes of each cast of the chain.
    hops: tuple[ResultJson, ...]
    #: What comes of the direct cast.
    direct: ResultJson


class WayJson(Shape, frozen=True, kw_only=True):
    """What holds if disputed texts are read in one way."""

    #: What is chosen: the reading by `rule / row`.
    readings: dict[str, str]
    #: Whether the chain is the direct cast.
    verdict: ChainVerdict
    #: How it is known.
    proof: Proof
    #: How many inputs were compared: where `proof` is not vectors, all of them.
    inputs: Count
    #: How many inputs give the same.
    same: Count
    #: How many inputs give something else.
    different: Count
    #: How many inputs the chain alone leaves undefined.
    chain_undefined: Count
    #: How many inputs the direct cast alone leaves undefined.
    direct_undefined: Count
    #: How many inputs both leave undefined.
    both_undefined: Count
    #: The least input that shows a difference, null where none does.
    shown: ShownJson | None


class ByRulesJson(Shape, frozen=True, kw_only=True):
    """By which rules an answer is given."""

    format: str
    #: The version of convcheck.
    convcheck: str
    #: The spec whose rules it goes by.
    spec: str
    #: A hash of the rules and the attribute values.
    digest: str
    #: Each attribute that applies, as NAME=VALUE.
    where: tuple[str, ...]


class ChainJson(ByRulesJson, frozen=True, kw_only=True):
    """A chain of casts, compared with the direct one."""

    format: Literal["convcheck-chain/1"]
    #: From the source to the destination.
    types: tuple[str, ...]
    #: Whether the chain is the direct cast.
    verdict: ChainVerdict
    #: Whether the direct cast may stand for the chain.
    fuse: bool
    #: Whether the chain may stand for the direct cast.
    split: bool
    #: Each way to read what is disputed.
    ways: tuple[WayJson, ...]


class TripleJson(Shape, frozen=True, kw_only=True):
    """The verdict on a chain of three types."""

    #: From the source to the destination.
    types: tuple[str, str, str]
    #: Whether the chain is the direct cast.
    verdict: ChainVerdict
    #: How it is known.
    proof: Proof
    #: Whether the direct cast may stand for the chain.
    fuse: bool
    #: Whether the chain may stand for the direct cast.
    split: bool
    #: An input that shows a difference, in some reading; left out where none does.
    shown: ShownJson | None = None


class ChainsJson(ByRulesJson, frozen=True, kw_only=True):
    """All chains of three types of a spec."""

    format: Literal["convcheck-chains/1"]
    #: In the order of the types of the spec.
    chains: tuple[TripleJson, ...]


def _rules(spec: Spec, where: Sequence[str]) -> dict[str, Any]:
    digest = rules_digest(spec, where)
    return {"convcheck": __version__, "spec": spec.id, "digest": digest, "where": tuple(where)}


def chain_text(answer: ChainJudgement, where: Sequence[str]) -> str:
    """Return an answer as JSON text, a way to read what is disputed a line."""
    chain = answer.chain
    made = ChainJson(
        format=FORMAT,
        **_rules(chain.spec, where),
        types=tuple(dtype.name for dtype in chain.types),
        verdict=answer.verdict,
        fuse=answer.is_fused,
        split=answer.is_split,
        ways=tuple(_way(chain, way) for way in answer.ways),
    )
    return json_text(made, "ways")


def chains_text(table: ChainTable) -> str:
    """Return a table as JSON text, a chain a line."""
    made = ChainsJson(
        format=TABLE_FORMAT,
        **_rules(table.spec, table.attributes),
        chains=tuple(_triple(names, each) for names, each in table.chains.items()),
    )
    return json_text(made, "chains")


def _triple(names: tuple[str, str, str], answer: ChainJudgement) -> TripleJson:
    shown = next((way.shown for way in answer.ways if way.shown), None)
    return TripleJson(
        types=names,
        verdict=answer.verdict,
        proof=answer.proof,
        fuse=answer.is_fused,
        split=answer.is_split,
        shown=_shown(answer.chain, shown) if shown else None,
    )


def _way(chain: TypeChain, way: ReadAs) -> WayJson:
    counts = way.comparison.counts
    return WayJson(
        readings={f"{rule} / {row}": name for (rule, row), name in way.readings.items()},
        verdict=way.verdict,
        proof=way.comparison.proof,
        inputs=counts.inputs,
        same=counts.same,
        different=counts.different,
        chain_undefined=counts.chain_open,
        direct_undefined=counts.direct_open,
        both_undefined=counts.both_open,
        shown=_shown(chain, way.shown) if way.shown else None,
    )


def _shown(chain: TypeChain, shown: Telling) -> ShownJson:
    source, *others = chain.types
    return ShownJson(
        input=_code(source, shown.code),
        least=shown.is_least,
        hops=tuple(_result(t, found) for t, found in zip(others, shown.hops, strict=True)),
        direct=_result(others[-1], shown.direct),
    )


def _result(dtype: DType, found: Results) -> ResultJson:
    if found.patterns[0] == EXACT:
        return _code(dtype, int(found.codes[0]))
    return ResultJson(type=dtype.name, result=f"<{PATTERNS[found.patterns[0]]}>", value=None)


def _code(dtype: DType, code: int) -> ResultJson:
    return ResultJson(
        type=dtype.name, result=code_text(dtype.format, code), value=value(dtype.format, code)
    )
