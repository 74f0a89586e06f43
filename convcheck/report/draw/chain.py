"""A chain of casts beside the direct one, for a terminal: the verdict, its proof, what shows it."""

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
    ChainVerdict,
    ReadAs,
    Telling,
)
from convcheck.chains.table import ChainTable
from convcheck.chains.type_chain import TypeChain, rules_name
from convcheck.judge.words import pattern
from convcheck.report.draw.explain import code_lines, line
from convcheck.report.draw.layout import to_margins
from convcheck.report.draw.styled import StyledText
from convcheck.rules.model import DType
from convcheck.semantics.expected import EXACT, PATTERNS
from convcheck.wording import number, plural

_STYLES: Mapping[ChainVerdict, str] = {
    EQUAL: "bold green",
    WHERE_DEFINED: "bold green",
    DISPUTED: "bold yellow",
    DIFFERENT: "bold red",
}


def arrows(types: Sequence[DType]) -> str:
    """Name a chain of types."""
    return " → ".join(str(dtype) for dtype in types)


def chain_lines(it: ChainJudgement, attributes: Sequence[str], width: int) -> Iterator[StyledText]:
    """Yield the lines of an answer."""
    yield StyledText(f"{rules_name(it.chain.spec, attributes)}: {arrows(it.chain.types)}", "bold")
    yield StyledText()
    if len(it.ways) > 1:
        yield from line("verdict", _in_all(it), width, _STYLES[it.verdict])
    for way in it.ways:
        if len(it.ways) > 1:
            yield StyledText()
            for (rule, row), name in way.readings.items():
                yield from line("reading", f"{name}, of {rule} / {row}", width, "bold")
        yield from _way(it.chain, way, width)
    if it.verdict in (EQUAL, WHERE_DEFINED):
        yield from line("so", _stands_for(it), width)


def _in_all(it: ChainJudgement) -> str:
    if it.verdict == DISPUTED:
        return "disputed: whether it is the same depends on how the text is read"
    return f"{it.verdict}, in every reading of what is disputed"


def _direct(chain: TypeChain) -> str:
    ends = (chain.types[0], chain.types[-1])
    return "the identity" if chain.is_round_trip else arrows(ends)


def _way(chain: TypeChain, way: ReadAs, width: int) -> Iterator[StyledText]:
    said = _verdict(way, _direct(chain))
    yield from line("verdict", said, width, _STYLES[way.verdict])
    yield from line("proof", _proof(way.comparison), width)
    if way.comparison.counts.open:
        yield from line("undefined", _undefined(way.comparison), width)
    if way.shown is not None:
        yield from _input(chain, way.shown, width)


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


def _input(chain: TypeChain, shown: Telling, width: int) -> Iterator[StyledText]:
    source, *middles, target = chain.types
    label = "least" if shown.is_least else "input"
    yield from code_lines(label, source.format, shown.code, "", width)
    for i, (dtype, found) in enumerate(zip([*middles, target], shown.hops, strict=True), 1):
        yield from _result(f"hop {i}", dtype, found, width)
    label = "identity" if chain.is_round_trip else "direct"
    yield from _result(label, target, shown.direct, width)


def _result(label: str, dtype: DType, found: Results, width: int) -> Iterator[StyledText]:
    if found.patterns[0] == EXACT:
        yield from code_lines(label, dtype.format, int(found.codes[0]), "", width)
    else:
        yield from line(label, pattern(f"<{PATTERNS[found.patterns[0]]}>"), width)


def chain_table_lines(
    found: Mapping[ChainVerdict, int], table: ChainTable, width: int
) -> Iterator[StyledText]:
    """Yield how many chains of a table have each verdict."""
    chains = plural(sum(found.values()), "chain")
    name = rules_name(table.spec, table.attributes)
    yield StyledText(f"{name}: {chains} of {plural(len(table.types), 'type')}", "bold")
    for verdict in VERDICTS:
        count = StyledText(number(found.get(verdict, 0)))
        yield from to_margins(StyledText(verdict, _STYLES[verdict]), count, min(width, 40))
