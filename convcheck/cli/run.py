"""`convcheck run`."""

import os
import shlex
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from convcheck.backends.protocol import takes
from convcheck.chains.asked import chain_case, pairs_of, takes_pairs
from convcheck.chains.type_chain import CompiledCasts, takes_chains
from convcheck.cli.asking import (
    Asking,
    cases_and_corpus,
    corpus_of_run,
    each,
    kept_until_done,
    selected,
)
from convcheck.cli.options import ANSWERS, Reports, RunOptions, catalog, refuse_given
from convcheck.cli.outputs import check_outputs, named, tracked
from convcheck.cli.reports import (
    INTERRUPTED,
    NOT_STARTED,
    hold_to_known,
    refuse_what_is_of_one,
    show_side_by_side,
    show_survey,
    write_list,
    write_reports,
)
from convcheck.documents.journal import Journal
from convcheck.errors import Place, UsageError
from convcheck.files import MOST_OF_LIST, read_file, read_within
from convcheck.gate.baseline import KnownList, is_judged, read_known, refuse_causes
from convcheck.judge.answers import ANSWERED, REFUSED, Answers
from convcheck.judge.calls import judge
from convcheck.judge.result import BackendInfo, Required, RunResult
from convcheck.plan.chains import (
    AskedChain,
    Setting,
    asked_chain,
    chosen_names,
    corpus_of_chains,
    in_settings,
    is_like,
    newest_answered,
    settings,
)
from convcheck.plan.select import select_of, select_specs, type_names
from convcheck.plan.selection import Selection
from convcheck.pool.local import worth_workers
from convcheck.pool.process import start_ahead
from convcheck.records import grouped, replace
from convcheck.rules.load import Catalog, data_dir
from convcheck.rules.model import Case, Spec
from convcheck.rules.requirements import named_requirements
from convcheck.semantics.evaluate import compile_case
from convcheck.streams import plural, say
from convcheck.survey.survey import OPEN
from convcheck.vectors.corpus import Corpus, open_corpus
from convcheck.vectors.lines import read_answers
from convcheck.vectors.model import VectorSet


def _chains_of_run(
    loaded: Catalog, selection: Selection, backends: Sequence[str], options: RunOptions
) -> tuple[list[Case], Corpus]:
    if len(set(backends)) != 1:
        raise UsageError("--chains works with one --backend", hint="--chains --backend ort")
    given = {"--inputs": options.inputs, "--samples": options.samples,
             "--consistency": options.consistency}  # fmt: skip
    refuse_given(given, "does not go with --chains", "leave out {}")
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
    globs, seen = selection.globs, set[tuple[str, str]]()

    def wanted(pair: Case) -> bool:
        key = pair.op, pair.name
        new = key not in seen and (not globs or any(is_like(pair, settings, g) for g in globs))
        if new and not every_version:
            seen.add(key)
        return new

    paired = [spec for spec in specs if takes_pairs(spec)]
    each = tracked(paired, "pairs", "spec")
    return [AskedChain(*pair) for spec in each for pair in pairs_of(loaded, spec, wanted)]


Part = tuple[int, int] | None  # K and N of a shard


def main(
    selection: Selection,
    backends: tuple[str, ...],
    options: RunOptions,
    part: Part,
    resume: str | None,
    fail_fast: bool,
    max_failures: int | None,
    chains: bool,
    is_open: bool,
    dry_run: bool,
    update: bool,
    reports: Reports,
) -> int:
    """Run vectors, and report."""
    if is_open:
        others = {"-x": fail_fast, "--maxfail": max_failures, "--chains": chains,
                  "--dry-run": dry_run, "--update": update}  # fmt: skip
        return _survey(selection, backends, options, part, resume, reports, others)
    asked = [one for one in backends if not one.startswith(ANSWERS)]
    answers = next((one.removeprefix(ANSWERS) for one in backends if one not in asked), None)
    inputs = {"--known": reports.known, "--inputs": options.inputs, "the answers": answers}
    check_outputs({**named(reports.files), "--resume": resume}, inputs)
    begun = update and _is_new(reports.known, part)
    loaded = catalog()
    required = None
    if options.require:
        cases, required = _required(loaded, options.require, options, selection, chains)
        corpus = corpus_of_run(loaded, options, cases)
    elif chains:
        cases, corpus = _chains_of_run(loaded, selection, backends, options)
    else:
        cases, corpus = cases_and_corpus(loaded, selection, asked, options)
    most = 1 if fail_fast else max_failures
    asking = Asking(cases, corpus, options, most, part, required=required)
    if dry_run:
        return _dry_run(asking)
    if not backends:
        raise UsageError("which backend?", hint="--backend ort; see `convcheck show backends`")
    if asked and not options.executor:  # start further workers in advance
        worth = worth_workers(len(cases) // (part[1] if part else 1))
        for _ in range(1, min(options.jobs or os.cpu_count() or 1, worth)):
            start_ahead(asked[0])
    if len(set(backends)) > 1:
        refuse_what_is_of_one(reports, {"--resume": resume}, "--backend")
        turns = each(backends, asking.ask, lambda run: run.interrupted
                     or (most == 1 and run.outcome == "fail"))  # fmt: skip
        return show_side_by_side(turns, reports)
    known = _known(reports.known, loaded, options, most, begun=begun)
    journal = asking.journal(backends[0], resume) if resume else None
    if asked:
        result = asking.ask(backends[0], journal)
    else:
        result = _answered_run(backends[0], cases, corpus, options)
    if update and reports.known and not result.interrupted:
        if any(map(is_judged, result.cases)):
            write_list(result, loaded, reports.known, update=not begun)
        known = read_known(reports.known, loaded) if os.path.exists(reports.known) else None
    held = hold_to_known(result, loaded, known)
    code = write_reports(held, reports, loaded.types, shlex.join(["convcheck", *sys.argv[1:]]))
    return kept_until_done([journal] if journal else [], code, [INTERRUPTED])


def _required(
    loaded: Catalog, name: str, options: RunOptions, selection: Selection, chains: bool
) -> tuple[list[Case], Required]:
    if chains or selection != Selection():
        hint = "leave out SPEC, --from, --to, --where, --case and --chains"
        raise UsageError("--require selects its cases itself", hint=hint)
    if options.tier != "edge" or options.inputs:
        hint = "leave out --tier and --inputs"
        raise UsageError("a requirement set is scored on edge inputs", hint=hint)
    cases, later = named_requirements(loaded, name).cases(loaded)
    return cases, Required(name, len(cases), later)


def _is_new(path: str | None, part: Part) -> bool:
    if path is None or path == "-":
        raise UsageError("--update needs --known FILE", hint="--known known.toml --update")
    if part:
        hint = "`convcheck known FILE REPORT --update` takes the merged report"
        raise UsageError("--update does not go with --shard", hint=hint)
    check_outputs({"--known": path})
    return not os.path.exists(path)


def _known(
    path: str | None, loaded: Catalog, options: RunOptions, most: int | None, *, begun: bool
) -> KnownList | None:
    if path is None:
        return None
    given = {"--inputs": options.inputs, "--fail-fast or --maxfail": most}
    if other := next((name for name, value in given.items() if value), None):
        hint = f"leave out {other}: a list is for all inputs of a tier"
        raise UsageError(f"--known does not go with {other}", hint=hint)
    if begun:
        return None
    known = read_known(path, loaded)
    if options.no_causes:
        refuse_causes(known, options.tier)
    return known


def _dry_run(asking: Asking) -> int:
    plan, _ = asking.plan
    values = Counter[Case]()
    for unit in plan:
        values[unit.case] += unit.span.count if unit.span else asking.corpus.count(unit.case)
    counts = grouped(((case.spec, case.whole_calls), n) for case, n in values.items())
    width = max(map(len, [*(spec for spec, _ in counts), "would ask"]))
    for (spec, whole), asked in counts.items():
        questions = plural(sum(asked), "call" if whole else "value")
        say(f"{spec:<{width}}  {plural(len(asked), 'case'):>12}  {questions:>17}")
    sums = {w: sum(sum(c) for (_, whole), c in counts.items() if whole == w) for w in (False, True)}
    total = " and ".join(plural(sums[w], "call" if w else "value") for w in sums if sums[w])
    say(f"{'would ask':<{width}}  {plural(len(values), 'case'):>12}  {total:>17}")
    return 0


def _answered_run(
    address: str, cases: Sequence[Case], corpus: Corpus, options: RunOptions
) -> RunResult:
    path = address.removeprefix(ANSWERS)
    if not path:
        raise UsageError("which file of answers?", hint="answers:FILE, or answers:- for stdin")
    if len(cases) != 1:
        hint = f"run {cases[0].id}, or another one"
        raise UsageError(f"{path} has answers to one case, not to {len(cases):,}", hint=hint)
    [case] = cases
    if case.whole_calls:
        said = f"{case.id} has no text form: the question is a whole call, not one input per line"
        raise UsageError(said, hint="`convcheck export --as json` writes it")
    notes = corpus.check(cases)
    vectors = corpus.vectors(case)
    assert isinstance(vectors, VectorSet)  # noqa: S101 no whole call
    file = "stdin" if path == "-" else path
    got, refused = read_answers(_read(path, file), file, case.outputs[0].format)
    if len(got) != len(vectors):
        raise UsageError(
            f"{plural(len(got), 'answer')}, but {case.id} has {plural(len(vectors), 'input')} "
            f"in the {corpus.tier} tier with seed {corpus.seed}",
            place=Place(file, min(len(got), len(vectors)) + (len(got) > len(vectors))),
            hint="write one line for each line read; give the --tier and --seed of the export",
        )
    state = np.where(refused, REFUSED, ANSWERED).astype(np.uint8)
    said_of = {int(i): "the program answered: refused" for i in np.flatnonzero(refused)}
    judged = judge(vectors, Answers(got, state, said_of))
    backend = BackendInfo("answers", f"from {file}", address=address)
    digests = corpus.digests(cases)
    return RunResult(
        backend, corpus.tier, options.level, digests, (judged,), notes, without_causes=True
    )


def _read(path: str, file: str) -> bytes:
    try:
        if path != "-":
            return read_file(Path(path), MOST_OF_LIST)
        if sys.stdin is None:  # closed by the parent process
            raise OSError("it is closed")
        return read_within(sys.stdin.buffer, MOST_OF_LIST)
    except OSError as error:
        said = f"cannot read {file}: {error.strerror or error}"
        raise UsageError(said, hint="answers:FILE, or answers:- for stdin") from None


def _survey(
    selection: Selection, backends: tuple[str, ...], options: RunOptions, part: Part,
    resume: str | None, reports: Reports, others: Mapping[str, object],
) -> int:  # fmt: skip
    given = {**others, **reports.besides_log, "--known": reports.known,
             "--require": options.require,
             "--inputs": options.inputs, "--samples": options.samples,
             "--consistency": options.consistency}  # fmt: skip
    hint = "what is open is printed, and written to -o FILE.jsonl"
    refuse_given(given, "does not go with --open", hint)
    if not backends:
        raise UsageError("which backends?", hint="--backend ort; see `convcheck show backends`")
    kept = {one: f"{resume}.{n}" for n, one in enumerate(dict.fromkeys(backends), 1) if resume}
    check_outputs({**named(reports.files), **{f"--resume {path}": path for path in kept.values()}})
    loaded = catalog()
    cases = [c for c in selected(loaded, selection, backends) if _may_be_open(loaded, c)]
    corpus = open_corpus(loaded, options.tier, options.seed, data_dir("vectors"))
    options = replace(options, no_causes=True)
    asking = Asking(cases, corpus, options, part=part, survey=True)
    journals: list[Journal] = []

    def ask(address: str) -> RunResult:
        journal = asking.journal(address, kept[address]) if resume else None
        journals.extend([journal] if journal else [])
        return asking.ask(address, journal)

    turns = each(backends, ask, lambda done: done.interrupted)
    code = show_survey(turns, reports, loaded.types)
    return kept_until_done(journals, code, [INTERRUPTED, NOT_STARTED])


def _may_be_open(loaded: Catalog, case: Case) -> bool:
    spec = loaded.specs[case.spec]
    if spec.body.whole_calls:  # its rows depend on its calls
        return True
    return any(d.level in OPEN for d in compile_case(spec, case).decisions)
