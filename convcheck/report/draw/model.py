"""Draw the conversions of a model. Nodes with equal facts share lines."""

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

from convcheck.causes.gather import gathered
from convcheck.chains.judgement import ChainJudgement, judge_chain
from convcheck.chains.type_chain import CompiledCast, CompiledCasts, TypeChain
from convcheck.errors import ConvcheckError
from convcheck.judge.result import RunResult
from convcheck.judge.words import clean, value
from convcheck.models.calls import CLASSES, Argument, InputClass, Judged
from convcheck.models.conversions import (
    BackendFacts,
    ModelConversion,
    chains_in,
    differing_rows,
    facts_of,
)
from convcheck.models.graph import ModelGraph
from convcheck.models.known import KnownValues, ends_of_codes
from convcheck.records import grouped
from convcheck.report.blocks import BLANK, Block, Said, Table, Text, cut, styled, under
from convcheck.report.findings import said_of
from convcheck.rules.load import Catalog
from convcheck.streams import number, plural

_LONGEST = 8  # casts in a compared chain


@dataclass(frozen=True)
class ReportedConversion:
    """A conversion with its results in reports."""

    one: ModelConversion
    backends: tuple[BackendFacts, ...]
    differ: tuple[tuple[str, str], ...]  # two backends, and a row for which their answers differ


@dataclass(frozen=True)
class ModelChain:
    """A chain of conversions."""

    links: tuple[ModelConversion, ...]
    judgement: ChainJudgement | None  # None if the specs do not cover the chain

    @property
    def types(self) -> tuple[str, ...]:
        """The types from source to destination."""
        return (*(str(one.inputs[0]) for one in self.links), str(self.links[-1].outputs[0]))

    @property
    def verdict(self) -> str:
        """The comparison with the direct cast; '' if unknown."""
        return self.judgement.verdict if self.judgement else ""


@dataclass(frozen=True)
class ModelReport:
    """The facts about a model."""

    file: str
    graph: ModelGraph
    backends: tuple[str, ...]
    conversions: tuple[ReportedConversion, ...]
    chains: tuple[ModelChain, ...]


def model_report(
    file: str,
    graph: ModelGraph,
    found: Sequence[ModelConversion],
    runs: Sequence[tuple[str, RunResult]],
    catalog: Catalog,
) -> ModelReport:
    """Return the facts about a model from its conversions and named reports."""
    causes = [_causes_of(run) for _, run in runs]
    told = tuple(
        ReportedConversion(
            one,
            tuple(facts_of(one, *run, why) for run, why in zip(runs, causes, strict=True)),
            tuple(differing_rows(one, runs)),
        )
        for one in found
    )
    judged: dict[Hashable, ChainJudgement | None] = {}
    chains = []
    for links in chains_in(found):
        key = tuple(one.cases[0].id for one in links)
        if key not in judged:
            judged[key] = _compared(links, catalog)
        chains.append(ModelChain(links, judged[key]))
    return ModelReport(file, graph, tuple(name for name, _ in runs), told, tuple(chains))


def _causes_of(run: RunResult) -> dict[str, str]:
    explained = gathered(run.cases, run.causes).explanations
    return {case.case.id: said_of(one.causes) for one in explained for case in one.cases}


def _compared(links: Sequence[ModelConversion], catalog: Catalog) -> ChainJudgement | None:
    """Compare a chain with the direct cast, which takes the last node's attributes."""
    spec, casts = links[-1].spec, [one.cases[0] for one in links]
    if spec is None or len(links) > _LONGEST or any(one.spec != spec for one in links):
        return None
    types = (*(case.inputs[0] for case in casts), casts[-1].outputs[0])
    where = [f"{name}={value}" for name, value in casts[-1].attributes]
    try:
        direct = CompiledCasts(catalog, spec, where).direct(types[0].name, types[-1].name)
        hops = tuple(CompiledCast((c.inputs[0], c.outputs[0]), spec, c) for c in casts)
        return judge_chain(TypeChain(spec, types, hops, direct))
    except ConvcheckError:  # a chain of texts
        return None


_NODES, _ENDS, _LONG = 6, 4, 200  # nodes; nodes at ends of chains; characters
_STYLES: dict[InputClass, str] = {
    "exact": "green", "defined": "green", "disputed": "yellow", "undefined": "bold red",
}  # fmt: skip
_SAYS: dict[InputClass, str] = {
    "exact": "exact: every number that can occur is kept",
    "defined": "defined: a result is due for every input that can occur",
    "disputed": "disputed: the text can be read in several ways for inputs that can occur",
    "undefined": "undefined for inputs that can occur",
}
_DID: dict[InputClass, str] = {
    "exact": "every number is kept", "defined": "a result is due for each",
    "disputed": "disputed for some", "undefined": "undefined for some",
}  # fmt: skip


def model_page(found: ModelReport) -> Iterator[Block]:
    """Yield the facts about a model."""
    graph = found.graph
    said = [plural(len(graph.nodes), "node"), plural(len(found.conversions), "conversion")]
    if graph.functions:
        said.append(f"{plural(graph.functions, 'local function')} in the place of their calls")
    yield Text(clean(f"{found.file}: operator set {graph.opset}, {', '.join(said)}"))
    for remark in graph.remarks:
        yield under(clean(remark), "yellow", hang=2)
    if len(found.conversions) > 1:
        yield from (BLANK, _overview(found))
    alike = grouped((tuple(_facts(one)), clean(one.one.node.path)) for one in found.conversions)
    for facts, paths in alike.items():
        yield BLANK
        yield from (Text(path, "bold", hang=2) for path in paths[:_NODES])
        if len(paths) > _NODES:
            yield Text(f"and {plural(len(paths) - _NODES, 'more node')}", "bold")
        yield from facts
    for chain in found.chains:
        yield BLANK
        yield from _chain(chain)


def _overview(found: ModelReport) -> Table:
    rows = Counter(
        (_conversion(told.one), told.one.judged.kind if told.one.judged else "unknown",
         *(facts.verdict or "not asked" for facts in told.backends))
        for told in found.conversions
    )  # fmt: skip
    heads = ["conversion", "nodes", "result", *found.backends]
    said: list[list[Said]] = [[what, number(n), *rest] for (what, *rest), n in rows.items()]
    return Table([styled("dim", heads)], said, right=[1])


def _conversion(one: ModelConversion) -> str:
    sides = ([str(t or "?") for t in some] for some in (one.inputs, one.outputs))
    types = " → ".join(map(", ".join, sides))
    return f"{clean(one.node.op)} {types}"


def _facts(told: ReportedConversion) -> Iterator[Block]:
    one = told.one
    yield under(f"{_conversion(one)}  {_cases(one)}", "dim", hang=2)
    if one.known.is_bounded:
        yield under(f"input: {_known(one.known)}", hang=2)
    for argument in one.arguments:
        if argument.known.is_bounded:
            yield under(f"{argument.name}: {_argument(argument)}", hang=2)
    if one.judged is None:
        yield under(f"nothing is said of its inputs: {one.why_not}", hang=2)
    else:
        yield from _judged(one.judged, _SAYS[one.judged.kind])
    if one.occurred is not None:
        counts = ", ".join(f"{number(n)} {kind}" for kind, n in one.occurred.counts.items())
        different = plural(sum(one.occurred.counts.values()), f"different {one.occurred.of}")
        said = f"in the data, {_DID[one.occurred.kind]}: of {different}, {counts}"
        yield from _judged(one.occurred, said)
    for facts in told.backends:
        yield from _backend(facts)
    for names, row in told.differ:
        yield under(f"{names} answer differently: {row}", "bold", hang=2)


def _cases(one: ModelConversion) -> str:
    if not one.cases:
        return one.spec.id if one.spec else ""
    first = one.cases[0].id
    return first if len(one.cases) == 1 else f"{first} and {len(one.cases) - 1} more"


def _known(known: KnownValues) -> str:
    if known.codes is not None:
        return f"{plural(len(known.codes), 'value')}, constant"
    return f"{known.low:g} to {known.high:g}, by {known.why}"


def _argument(one: Argument) -> str:
    codes = one.known.codes
    if codes is None:
        return _known(one.known)
    low, high = (str(value(one.dtype.format, int(code))) for code in ends_of_codes(one.fmt, codes))
    return f"{low}, constant" if len(codes) == 1 else f"{_known(one.known)}, {low} to {high}"


def _judged(found: Judged, said: str) -> Iterator[Block]:
    loose = "" if found.proven else ", as far as the edge vectors tell"
    yield under(said + loose, _STYLES[found.kind], hang=2)
    worst = CLASSES.index("disputed")
    for row in found.rows:
        if CLASSES.index(row.kind) >= worst:
            said = f"{row.kind}: {row.name}, such as {cut(row.example, _LONG)}"
            yield Text(said, indent=8, hang=2)


def _backend(facts: BackendFacts) -> Iterator[Block]:
    if facts.verdict is None:
        yield under(f"{facts.name}: not asked", "dim", hang=2)
        return
    apart = "" if facts.fails or not facts.rows else ", on no input that can occur"
    style = "red" if facts.fails else ""
    yield under(f"{facts.name}: {facts.verdict}{apart}", style, hang=2)
    yield from (Text(cause, indent=8, hang=2) for cause in facts.causes)
    for row in facts.rows:
        if row.occurs and facts.unexplained:
            kind = cut(clean(row.kind), _LONG)
            said = f"{row.name}: {kind}, {number(row.count)} of {number(row.of)} asked"
            yield Text(said, indent=8, hang=2)


def _few(names: Sequence[str]) -> list[str]:
    left = len(names) - 2 * _ENDS
    if left <= 1:
        return [*names]
    return [*names[:_ENDS], f"… {number(left)} more …", *names[-_ENDS:]]


def _destination(one: ModelConversion) -> str:
    values = ", ".join(f"{name}={value}" for name, value in one.cases[0].attributes)
    return f"{one.outputs[0]} ({values})" if values else str(one.outputs[0])


def _chain(chain: ModelChain) -> Iterator[Block]:
    nodes = ", ".join(_few([clean(one.node.path) for one in chain.links]))
    types = " → ".join(_few([chain.types[0], *map(_destination, chain.links)]))
    yield Text(f"chain {types}: {nodes}", "bold", hang=2)
    direct = f"{chain.types[0]} → {chain.types[-1]}"
    told = f"{chain.verdict}, compared with {direct}" if chain.verdict else \
        "not compared with the direct cast: too long, or of other specs"  # fmt: skip
    proof = f" (proof: {chain.judgement.proof})" if chain.judgement else ""
    yield under(told + proof, hang=2)
