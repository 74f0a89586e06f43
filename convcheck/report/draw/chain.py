"""Draw a chain of casts compared with the direct cast: verdict, proof, counterexample."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from convcheck.chains.cast import Results
from convcheck.chains.compare import EXHAUSTIVE, INTERVALS, VECTORS, ChainComparison
from convcheck.chains.judgement import (
    DIFFERENT,
    DISPUTED,
    EQUAL,
    VERDICTS,
    WHERE_DEFINED,
    ChainJudgement,
    ChainTable,
    ChainVerdict,
    ReadAs,
    Telling,
)
from convcheck.chains.type_chain import TypeChain, rules_name
from convcheck.judge.words import pattern
from convcheck.report.blocks import BLANK, Block, Table, Text, field
from convcheck.report.draw.explain import code_block
from convcheck.rules.model import DType
from convcheck.semantics.expected import EXACT, PATTERNS
from convcheck.streams import number, plural

_STYLES: Mapping[ChainVerdict, str] = {
    EQUAL: "bold green",
    WHERE_DEFINED: "bold green",
    DISPUTED: "bold yellow",
    DIFFERENT: "bold red",
}


def arrows(types: Sequence[DType]) -> str:
    """Join the names of types by arrows."""
    return " → ".join(str(dtype) for dtype in types)


def chain_page(it: ChainJudgement, attributes: Sequence[str]) -> Iterator[Block]:
    """Yield the judgement of a chain."""
    yield Text(f"{rules_name(it.chain.spec, attributes)}: {arrows(it.chain.types)}", "bold")
    yield BLANK
    if len(it.ways) > 1:
        yield field("verdict", _in_all(it), _STYLES[it.verdict])
    for way in it.ways:
        if len(it.ways) > 1:
            yield BLANK
            for (rule, row), name in way.readings.items():
                yield field("reading", f"{name}, of {rule} / {row}", "bold")
        yield from _way(it.chain, way)
    if it.verdict in (EQUAL, WHERE_DEFINED):
        yield field("so", _stands_for(it))


def _in_all(it: ChainJudgement) -> str:
    if it.verdict == DISPUTED:
        return "disputed: whether it is the same depends on how the text is read"
    return f"{it.verdict}, in every reading of what is disputed"


def _direct(chain: TypeChain) -> str:
    ends = (chain.types[0], chain.types[-1])
    return "the identity" if chain.is_round_trip else arrows(ends)


def _way(chain: TypeChain, way: ReadAs) -> Iterator[Block]:
    yield field("verdict", _verdict(way, _direct(chain)), _STYLES[way.verdict])
    yield field("proof", _proof(way.comparison))
    if way.comparison.counts.open:
        yield field("undefined", _undefined(way.comparison))
    if way.shown is not None:
        yield from _input(chain, way.shown)


def _verdict(way: ReadAs, direct: str) -> str:
    counts, asked = way.comparison.counts, way.comparison.proof == VECTORS
    inputs = f"{plural(counts.inputs, 'input')}{' asked' if asked else ''}"
    if way.verdict == EQUAL:
        return f"equal to {direct}, for {'all' if counts.inputs > 1 else ''} {inputs}"
    if way.verdict == WHERE_DEFINED:
        return f"equal to {direct} where both are defined, for {number(counts.same)} of {inputs}"
    return f"different from {direct}, for {number(counts.different)} of {inputs}"


def _proof(comparison: ChainComparison) -> str:
    if comparison.proof == EXHAUSTIVE:
        return "exhaustive: each input was compared"
    if comparison.proof == INTERVALS:
        return "by intervals: codes are cut into parts until one thing holds of all codes of a part"
    if comparison.least is None:
        return "none: edge and boundary inputs were compared, and no other"
    return "the input below; it was counted on edge and boundary inputs alone"


def _undefined(comparison: ChainComparison) -> str:
    counts = comparison.counts
    each = ((counts.chain_open, "by the chain alone"), (counts.direct_open, "directly alone"),
            (counts.both_open, "both ways"))  # fmt: skip
    return ", ".join(f"{number(count)} {how}" for count, how in each if count)


def _stands_for(it: ChainJudgement) -> str:
    round_trip = it.chain.is_round_trip
    fuse = "be left out" if round_trip else "be fused into the direct cast"
    split = "be put in where there is none" if round_trip else "stand for that"
    if it.is_fused and it.is_split:
        return f"the chain may {fuse}, and {split}"
    if it.is_fused:
        return f"the chain may {fuse}; it may not {split}"
    if it.is_split:
        return f"the chain may not {fuse}; it may {split}"
    return f"the chain may neither {fuse} nor {split}"


def _input(chain: TypeChain, shown: Telling) -> Iterator[Block]:
    source, *middles, target = chain.types
    label = "least" if shown.is_least else "input"
    yield code_block(label, source.format, shown.code)
    for i, (dtype, found) in enumerate(zip([*middles, target], shown.hops, strict=True), 1):
        yield _result(f"hop {i}", dtype, found)
    label = "identity" if chain.is_round_trip else "direct"
    yield _result(label, target, shown.direct)


def _result(label: str, dtype: DType, found: Results) -> Block:
    if found.patterns[0] == EXACT:
        return code_block(label, dtype.format, int(found.codes[0]))
    return field(label, pattern(f"<{PATTERNS[found.patterns[0]]}>"))


def chain_table_page(found: Mapping[ChainVerdict, int], table: ChainTable) -> Iterator[Block]:
    """Yield how many chains of a table have each verdict."""
    chains = plural(sum(found.values()), "chain")
    name = rules_name(table.spec, table.attributes)
    yield Text(f"{name}: {chains} of {plural(len(table.types), 'type')}", "bold")
    counts = ((number(found.get(one, 0)), [(one, _STYLES[one])]) for one in VERDICTS)
    yield Table([], list(counts), right=(0,))
