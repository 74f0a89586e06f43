"""The facts about a model's conversions."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from convcheck.causes.gather import gathered
from convcheck.chains.judgement import ChainJudgement, judge_chain
from convcheck.chains.type_chain import CompiledCast, CompiledCasts, TypeChain
from convcheck.errors import ConvcheckError
from convcheck.judge.result import RunResult
from convcheck.models.conversions import (
    BackendFacts,
    ModelConversion,
    chains_in,
    differing_rows,
    facts_of,
)
from convcheck.models.graph import ModelGraph
from convcheck.report.causes import said_of
from convcheck.rules.load import Catalog

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
            judged[key] = _judged(links, catalog)
        chains.append(ModelChain(links, judged[key]))
    return ModelReport(file, graph, tuple(name for name, _ in runs), told, tuple(chains))


def _causes_of(run: RunResult) -> dict[str, str]:
    explained = gathered(run.cases, run.causes).explanations
    return {case.case.id: said_of(one.causes) for one in explained for case in one.cases}


def _judged(links: Sequence[ModelConversion], catalog: Catalog) -> ChainJudgement | None:
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
