"""The chains of casts in a run."""

from __future__ import annotations

from collections.abc import Sequence

from convcheck.backends.protocol import takes
from convcheck.chains.asked import chain_case
from convcheck.chains.pairs import takes_pairs
from convcheck.chains.type_chain import CompiledCasts, takes_chains
from convcheck.cli.asking import corpus_of_run
from convcheck.cli.options import RunOptions
from convcheck.cli.progress import tracked
from convcheck.errors import UsageError
from convcheck.plan.chains import (
    AskedChain,
    Setting,
    asked_chain,
    asked_pairs,
    chosen_names,
    corpus_of_chains,
    in_settings,
    is_like,
    newest_answered,
    settings,
)
from convcheck.plan.select import select_of, select_specs, type_names
from convcheck.plan.selection import Selection
from convcheck.records import replace
from convcheck.rules.load import Catalog
from convcheck.rules.model import Case, Spec
from convcheck.vectors.corpus import Corpus


def chains_of_run(
    loaded: Catalog, selection: Selection, backends: Sequence[str], options: RunOptions
) -> tuple[list[Case], Corpus]:
    """Return the chains with all backend settings, and their inputs.

    Without specs, use the newest supported version of each operator. Raises UsageError for options
    that chains lack, and UnavailableError.
    """
    if len(set(backends)) != 1:
        raise UsageError("--chains works with one --backend", hint="--chains --backend ort")
    given = {"--inputs": options.inputs, "--samples": options.samples,
             "--consistency": options.consistency}  # fmt: skip
    if other := next((name for name, value in given.items() if value), None):
        raise UsageError(f"{other} does not go with --chains", hint=f"leave out {other}")
    if options.tier == "exhaustive":
        hint = "--tier boundary asks every chain of which some input tells"
        raise UsageError("--chains has no tier exhaustive", hint=hint)
    backend = backends[0]
    corpus = corpus_of_run(loaded, options, [])
    specs = _specs(loaded, selection, backend, corpus, options.timeout)
    each, named = settings(backend), bool(selection.specs)
    selection = replace(selection, specs=tuple(spec.id for spec in specs))
    asked = _casts(loaded, specs, selection, options.tier == "boundary", each)
    asked += _pairs(loaded, specs, selection, named, each)
    if not asked:
        hint = "or all of these together match no chain; other types are asked with --tier boundary"
        raise UsageError("no input tells whether a cast is left out", hint=hint)
    cases = in_settings(asked, backend)
    return select_of(loaded, cases, selection), corpus_of_chains(corpus, asked, backend)


def _specs(
    loaded: Catalog, selection: Selection, backend: str, corpus: Corpus, timeout: float
) -> list[Spec]:
    known = select_specs(loaded, selection.specs)
    specs = [spec for spec in known if takes_chains(spec) or takes_pairs(spec)]
    if not specs:
        raise UsageError("these specs convert no single input to one output: no chain is made of "
                         "them", hint="such as onnx.Cast-21")  # fmt: skip
    if selection.specs:
        return specs
    return newest_answered(backend, [s for s in specs if takes(backend, s)], corpus, timeout)


def _casts(
    loaded: Catalog,
    specs: Sequence[Spec],
    selection: Selection,
    every: bool,
    settings: Sequence[Setting],
) -> list[AskedChain]:
    """Return the selected chains of casts for which some input shows removed casts."""
    globs = selection.globs
    sources, targets = (type_names(loaded, w) for w in (selection.sources, selection.targets))
    todo = [
        (casts, names)
        for casts in (
            CompiledCasts(loaded, spec, selection.where) for spec in specs if takes_chains(spec)
        )
        for names in chosen_names(casts.spec, every)
        if (not sources or names[0] in sources) and (not targets or names[-1] in targets)
        if not globs or any(is_like(chain_case(casts, names), settings, g) for g in globs)
    ]
    found = [asked_chain(casts, names) for casts, names in tracked(todo, "chains", "chain")]
    return [one for one in found if one is not None]


def _pairs(
    loaded: Catalog,
    specs: Sequence[Spec],
    selection: Selection,
    every_version: bool,
    settings: Sequence[Setting],
) -> list[AskedChain]:
    """Return the selected pairs of a node and its inverse.

    With `every_version`, all versions are used, else the first spec that has the pair.
    """
    globs, seen = selection.globs, set[tuple[str, str]]()

    def wanted(pair: Case) -> bool:
        key = pair.op, pair.name
        new = key not in seen and (not globs or any(is_like(pair, settings, g) for g in globs))
        if new and not every_version:
            seen.add(key)
        return new

    paired = [spec for spec in specs if takes_pairs(spec)]
    each = tracked(paired, "pairs", "spec")
    return [asked for spec in each for asked in asked_pairs(loaded, spec, wanted)]
