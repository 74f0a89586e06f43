"""`convcheck run`: ask, judge, report. What is heavy is imported once workers are started."""

from __future__ import annotations

import contextlib
import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import click

from convcheck.cli.ask_run import ask_run, kept_until_done, opened_journal, planned, shared
from convcheck.cli.options import catalog
from convcheck.cli.outputs import check_outputs
from convcheck.cli.reports import (
    INTERRUPTED,
    Reports,
    hold_to_known,
    write_reports,
)
from convcheck.cli.run_options import RunOptions, corpus_of_run
from convcheck.cli.several import refuse_what_is_of_one, show_side_by_side
from convcheck.cli.turns import each, selected
from convcheck.errors import UsageError
from convcheck.pool.forkserver import start_server
from convcheck.records import replace
from convcheck.streams import say
from convcheck.wording import plural

ANSWERS = "answers:"
if TYPE_CHECKING:
    from convcheck.gate.known import KnownList
    from convcheck.judge.result import RunResult
    from convcheck.plan.selection import Selection
    from convcheck.plan.units import Unit
    from convcheck.report.json.journal import Journal
    from convcheck.rules.load import Catalog
    from convcheck.rules.model import Case
    from convcheck.vectors.corpus import Corpus


def main(
    selection: Selection,
    backends: tuple[str, ...],
    options: RunOptions,
    part: tuple[int, int] | None,
    resume: str | None,
    fail_fast: bool,
    max_failures: int | None,
    chains: bool,
    is_open: bool,
    dry_run: bool,
    update: bool,
    reports: Reports,
) -> int:
    """Put vectors to backends, and report."""
    if is_open:
        others = {"-x": fail_fast, "--maxfail": max_failures, "--chains": chains,
                  "--dry-run": dry_run, "--update": update}  # fmt: skip
        return _open(selection, backends, options, part, resume, reports, others)
    answers = (one.removeprefix(ANSWERS) for one in backends if one.startswith(ANSWERS))
    inputs = {"--known": reports.known, "--inputs": options.inputs,
              "the answers": next(answers, None)}  # fmt: skip
    check_outputs({**reports.outputs, "--resume": resume}, inputs)
    begun = update and _is_new(reports.known, part)
    started = () if dry_run else [one for one in backends if not one.startswith(ANSWERS)]
    _start_early(started, options)
    loaded = catalog()
    cases, corpus = _asked_of(loaded, selection, backends, options, chains)
    _start_others(started, options, len(cases) // (part[1] if part else 1))
    most = 1 if fail_fast else max_failures
    if dry_run:
        return _dry_run(cases, corpus, part)
    if not backends:
        raise UsageError("which backend?", hint="--backend ort; see `convcheck show backends`")
    if len(set(backends)) > 1:
        refuse_what_is_of_one(reports, {"--resume": resume}, "--backend")
        return _side_by_side(backends, cases, corpus, options, most, part, reports)
    known = _known(reports.known, loaded, options, most, begun)
    journal = _journal(resume, backends[0], cases, corpus, options, part, loaded)
    result = _asked_backend(backends[0], cases, corpus, options, most, part, journal)
    if update and reports.known and not result.interrupted:
        known = _updated(result, loaded, reports.known, not begun)
    code = _report(result, loaded, reports, known)
    return kept_until_done([journal] if journal else [], code, [INTERRUPTED])


def _open(
    selection: Selection, backends: tuple[str, ...], options: RunOptions,
    part: tuple[int, int] | None, resume: str | None, reports: Reports,
    others: Mapping[str, object],
) -> int:  # fmt: skip
    """Show what backends do where nothing is due. Raises UsageError for options of runs alone."""
    given = {**others, **reports.outputs, "--known": reports.known, "--github": reports.github,
             "--inputs": options.inputs, "--samples": options.samples,
             "--consistency": options.consistency}  # fmt: skip
    given.pop("--json", None)
    if option := next((name for name, value in given.items() if value), None):
        hint = "what is open is printed, and written by --json"
        raise UsageError(f"{option} does not go with --open", hint=hint)
    from convcheck.cli.survey import survey

    options = replace(options, no_causes=True)
    return survey(backends, selection, options, part, resume, reports.files.get("json"))


def _asked_backend(
    backend: str, cases: Sequence[Case], corpus: Corpus, options: RunOptions, most: int | None,
    part: tuple[int, int] | None, journal: Journal | None,
) -> RunResult:  # fmt: skip
    if backend.startswith(ANSWERS):
        from convcheck.cli.answers import answered_run

        return answered_run(backend, cases, corpus, options)
    return ask_run(backend, cases, corpus, options, most=most, part=part, journal=journal)


def _is_new(path: str | None, part: tuple[int, int] | None) -> bool:
    """Return whether --update begins a list. Raises UsageError if it has no file to write to."""
    if path is None or path == "-":
        raise UsageError("--update needs --known FILE", hint="--known known.toml --update")
    if part:
        hint = "`convcheck known FILE REPORT --update` takes the merged report"
        raise UsageError("--update does not go with --shard", hint=hint)
    check_outputs({"--known": path})
    return not os.path.exists(path)


def _updated(result: RunResult, loaded: Catalog, path: str, update: bool) -> KnownList | None:
    """Bring the list in a file up to date, and return it; None if there is none."""
    from convcheck.cli.known import is_judged, write_list
    from convcheck.gate.known import read_known

    if is_judged(result):
        write_list(result, loaded, path, update)
    return read_known(path, loaded) if os.path.exists(path) else None


def _asked_of(
    loaded: Catalog, selection: Selection, backends: Sequence[str], options: RunOptions,
    chains: bool,
) -> tuple[list[Case], Corpus]:  # fmt: skip
    """Return the cases that are asked, and their vectors."""
    if chains:
        from convcheck.cli.chain_run import chains_of_run

        return chains_of_run(loaded, selection, backends, options)
    asked = [one for one in backends if not one.startswith(ANSWERS)]
    cases = selected(loaded, selection, asked, options.tier)
    return cases, corpus_of_run(loaded, options, cases)


def _start_early(backends: Sequence[str], options: RunOptions) -> None:
    """Have the fork server import what workers need while the specs are read, and the first worker
    what its backend needs.
    """
    if backends and not options.executor:
        with contextlib.suppress(OSError):  # the first worker will tell
            start_server()
        from convcheck.pool.process import end_ahead, start_ahead

        start_ahead(backends[0])
        click.get_current_context().call_on_close(end_ahead)


def _start_others(backends: Sequence[str], options: RunOptions, cases: int) -> None:
    """Start the other workers that so many cases are worth, while a plan is made of them."""
    if backends and not options.executor:
        from convcheck.pool.local import worth_workers
        from convcheck.pool.process import start_ahead

        for _ in range(1, min(options.jobs or os.cpu_count() or 1, worth_workers(cases))):
            start_ahead(backends[0])


def _known(
    path: str | None, loaded: Catalog, options: RunOptions, most: int | None, begun: bool
) -> KnownList | None:
    """Read the list before the run, and once: what is wrong in it is better said at once, and a
    pipe has it only once. There is none yet where it is `begun`.
    """
    if path is None:
        return None
    given = {"--inputs": options.inputs, "--fail-fast or --maxfail": most}
    if other := next((name for name, value in given.items() if value), None):
        hint = f"leave out {other}: a list is for all inputs of a tier"
        raise UsageError(f"--known does not go with {other}", hint=hint)
    if begun:
        return None
    from convcheck.gate.known import read_known, refuse_causes

    known = read_known(path, loaded)
    if options.no_causes:
        refuse_causes(known, options.tier)
    return known


def _journal(
    path: str | None, backend: str, cases: Sequence[Case], corpus: Corpus, options: RunOptions,
    part: tuple[int, int] | None, loaded: Catalog,
) -> Journal | None:  # fmt: skip
    if path is None:
        return None
    plan, asked = planned(backend, cases, corpus, options, part)
    return opened_journal(path, asked, plan, loaded.types.types)


def _dry_run(cases: Sequence[Case], corpus: Corpus, part: tuple[int, int] | None) -> int:
    from convcheck.plan.units import units

    # a question is a call, or a value
    counts: dict[tuple[str, bool], list[int]] = {}
    plan, _ = shared(units(cases, corpus.spans), part)
    for case, number in _asked(plan, corpus):
        counts.setdefault((case.spec, case.whole_calls), []).append(number)
    width = max(map(len, [*(spec for spec, _ in counts), "would ask"]))
    for (spec, whole), asked in counts.items():
        cases_of = plural(len(asked), "case")
        values = plural(sum(asked), "call" if whole else "value")
        say(f"{spec:<{width}}  {cases_of:>12}  {values:>17}")
    sums = {w: sum(sum(c) for (_, whole), c in counts.items() if whole == w) for w in (False, True)}
    parts = ((sums[False], "value"), (sums[True], "call"))
    total = " and ".join(plural(number, what) for number, what in parts if number)
    say(
        f"{'would ask':<{width}}  {plural(sum(map(len, counts.values())), 'case'):>12}  {total:>17}"
    )
    return 0


def _asked(plan: Sequence[Unit], corpus: Corpus) -> list[tuple[Case, int]]:
    """Count what is asked of each case: its vectors, and the codes of its spans."""
    cases = {unit.case.id: unit.case for unit in plan}
    counts = dict.fromkeys(cases, 0)
    for unit in plan:
        counts[unit.case.id] += unit.span.count if unit.span else corpus.count(unit.case)
    return [(case, counts[name]) for name, case in cases.items()]


def _report(result: RunResult, loaded: Catalog, reports: Reports, known: KnownList | None) -> int:
    # a shard is held against the list as a part; `report` does it with the whole
    held = hold_to_known(result, loaded, known)
    command = shlex.join(["convcheck", *sys.argv[1:]])
    return write_reports(held, reports, loaded.types, command)


def _side_by_side(
    backends: tuple[str, ...], cases: list[Case], corpus: Corpus, options: RunOptions,
    most: int | None, part: tuple[int, int] | None, reports: Reports,
) -> int:  # fmt: skip
    """Ask several backends and report them at once. The gravest exit code is the run's."""

    def asked(backend: str) -> RunResult:
        return ask_run(backend, cases, corpus, options, most=most, part=part)

    def ends(result: RunResult) -> bool:
        return result.interrupted or (most == 1 and result.outcome == "fail")

    return show_side_by_side(each(backends, asked, ends), reports)
