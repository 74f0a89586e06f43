"""Draw chains of casts, compared with the direct cast or run as graphs."""

from collections.abc import Iterator, Mapping, Sequence

from convcheck.chains.asked import CAST_BY_CAST
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
from convcheck.judge.result import BackendInfo, Example, Word
from convcheck.judge.words import pattern
from convcheck.numerics.format import Format
from convcheck.plan.chains import ChainOfBackend, GraphAnswer
from convcheck.report.blocks import BLANK, Block, Table, Text, field, under
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
UNTOLD = Text("no input tells whether a cast is left out: the chain is equal, or disputed")


def _arrows(types: Sequence[DType]) -> str:
    return " → ".join(str(dtype) for dtype in types)


def chain_page(it: ChainJudgement, attributes: Sequence[str]) -> Iterator[Block]:
    """Yield the judgement of a chain."""
    yield Text(f"{rules_name(it.chain.spec, attributes)}: {_arrows(it.chain.types)}", "bold")
    yield BLANK
    if len(it.ways) > 1:
        said = f"{it.verdict}, in every reading of what is disputed"
        if it.verdict == DISPUTED:
            said = "disputed: whether it is the same depends on how the text is read"
        yield field("verdict", said, _STYLES[it.verdict])
    for way in it.ways:
        if len(it.ways) > 1:
            yield BLANK
            for (rule, row), name in way.readings.items():
                yield field("reading", f"{name}, of {rule} / {row}", "bold")
        yield from _way(it.chain, way)
    if it.verdict in (EQUAL, WHERE_DEFINED):
        yield field("so", _stands_for(it))


def _way(chain: TypeChain, way: ReadAs) -> Iterator[Block]:
    ends = (chain.types[0], chain.types[-1])
    direct = "the identity" if chain.is_round_trip else _arrows(ends)
    yield field("verdict", _verdict(way, direct), _STYLES[way.verdict])
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


def graph_page(info: BackendInfo, found: Sequence[ChainOfBackend]) -> Iterator[Block]:
    """Yield how one backend runs chains."""
    yield field("backend", f"{info.name} {info.version}".strip(), "bold")
    told = [one for one in found if not one.untold]
    changed = [one for one in told if one.changed]
    said = _of_one(found[0]) if len(found) == 1 else _of_several(found, told, changed)
    yield field("graphs", said, "bold red" if changed else "bold green")
    for one in changed:
        yield BLANK
        yield Text(_arrows(one.types), "bold")
        yield from (under(_removed(answer), "red", hang=2) for answer in one.changed)
        yield from _others(one)
        example = next((each.example for each in one.changed if each.example), None)
        if example is not None:
            yield from _example(example, one.types[0].format, one.types[-1].format)
    if len(found) == 1 and told and not changed:
        yield from _others(told[0])


def _of_one(one: ChainOfBackend) -> str:
    every = plural(len(one.answers), "setting")
    if one.untold:
        return f"nothing can be told: {', '.join(one.untold)}"
    if one.changed:
        return f"the casts are not all made in {len(one.changed)} of {every}"
    right = sum(answer.made == CAST_BY_CAST for answer in one.answers)
    return f"every cast is made in {right} of {every}"


def _of_several(
    found: Sequence[ChainOfBackend], told: Sequence[ChainOfBackend], changed: Sequence[object]
) -> str:
    said = f"{plural(len(told), 'chain')} asked; of {len(changed)}, the casts are not all made"
    if len(told) < len(found):
        said += f"; {len(found) - len(told)} not judged, since a cast alone is wrong or unsupported"
    return said


def _setting(answer: GraphAnswer) -> str:
    return ", ".join(f"{name} {value}" for name, value in answer.setting) or "cast by cast"


def _removed(answer: GraphAnswer) -> str:
    if not answer.made:
        count = f"{answer.count} of {plural(answer.of, 'answer')}"
        return f"{_setting(answer)}: no cast that is left out or added explains it ({count} right)"
    return f"{_setting(answer)}: {answer.made}, {answer.count} of {plural(answer.of, 'answer')}"


def _example(example: Example, source: Format, target: Format) -> Iterator[Block]:
    words: tuple[tuple[str, Format, Word | None], ...] = (
        ("input", source, example.inputs[0]), ("due", target, example.expected),
        ("got", target, example.got),
    )  # fmt: skip
    for said, fmt, word in words:
        if isinstance(word, int):
            yield code_block(said, fmt, word)


def _others(one: ChainOfBackend) -> Iterator[Block]:
    right = sum(answer.made == CAST_BY_CAST for answer in one.answers)
    yield under(f"cast by cast in {plural(right, 'setting')}", "dim")
    for answer in one.answers:
        if answer.allowed:
            said = f"{_setting(answer)}: {answer.made}, as it says that it may"
            yield under(said, "dim", hang=2)
    for message in dict.fromkeys(answer.message for answer in one.answers if answer.message):
        count = sum(answer.message == message for answer in one.answers)
        yield under(f"no answer in {plural(count, 'setting')}: {message}", hang=2)
