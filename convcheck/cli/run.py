"""`convcheck run`: ask, judge, report."""

from __future__ import annotations

import contextlib
import os
import shlex
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from convcheck.cli.ask_run import ask_run, kept_until_done, opened_journal, planned, shared
from convcheck.cli.chain_run import chains_of_run
from convcheck.cli.options import backends_option, catalog, selection_options, shard_option
from convcheck.cli.options import specs_option as specs
from convcheck.cli.outputs import check_outputs
from convcheck.cli.reports import (
    INTERRUPTED,
    Reports,
    hold_to_known,
    report_options,
    write_reports,
)
from convcheck.cli.run_options import RunOptions, corpus_of_run, run_options
from convcheck.cli.several import refuse_what_is_of_one, show_side_by_side
from convcheck.cli.turns import each, selected
from convcheck.errors import UsageError
from convcheck.pool.forkserver import start_server
from convcheck.streams import say
from convcheck.wording import plural

if TYPE_CHECKING:
    from convcheck.gate.known import KnownList
    from convcheck.judge.result import RunResult
    from convcheck.plan.selection import Selection
    from convcheck.plan.units import Unit
    from convcheck.report.json.journal import Journal
    from convcheck.rules.load import Catalog
    from convcheck.rules.model import Case
    from convcheck.vectors.corpus import Corpus

EXAMPLE = """\b
Examples:
  convcheck run --backend ort
  convcheck run --backend ort onnx.Cast-21 --to float8 --where saturate=0 --tier boundary
  convcheck run --backend ort --backend onnx-reference onnx.Cast-21
  convcheck run --backend 'process:./mine --flag' --known known.toml --html report.html
  convcheck run --backend mypackage.mymodule:MyBackend --fail-fast --json report.json
  convcheck run --backend ort --shard 3/16 --json shard-3.json
  convcheck run --backend ort --chains onnx.Cast-21 --from float64
"""


@click.command("run", epilog=EXAMPLE)
@backends_option
@selection_options
@run_options
@shard_option
@click.option(
    "--resume", metavar="FILE",
    help="Keep results in FILE as they come; resume from it after an interruption.",
)  # fmt: skip
@click.option("--fail-fast", is_flag=True, help="Stop at the first failing case.")
@click.option(
    "--max-failures", type=click.IntRange(1), metavar="N", help="Stop when N cases have failed."
)
@click.option(
    "--chains", is_flag=True,
    help="Ask chains of two and three casts, as graphs in every setting of the backend, and not "
    "single casts; with --tier boundary, all of which some input tells.",
)  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Print what would be asked, without asking it.")
@report_options
@specs
def command(
    selection: Selection,
    backends: tuple[str, ...],
    options: RunOptions,
    part: tuple[int, int] | None,
    resume: str | None,
    fail_fast: bool,
    max_failures: int | None,
    chains: bool,
    dry_run: bool,
    reports: Reports,
    specs: tuple[str, ...],
) -> int:
    """Run test vectors against a backend and report where it departs from the standard.

    Without SPEC, run every spec of the standard that the backend implements. SPEC may be a glob:
    'onnx.*'. A pattern that matches nothing is an error. Exit codes: 0 everything judged passed
    (or is a known failure, unchanged), 1 a failure, 2 bad input, 3 nothing was judged, 4 the
    backend could not be started. Of several backends, the gravest counts: 1 before 4 before 3.
    """
    inputs = {"--known": reports.known, "--inputs": options.inputs}
    check_outputs({**reports.outputs, "--resume": resume}, inputs)
    _start_early(() if dry_run else backends, options)
    loaded = catalog(specs)
    cases, corpus = _asked_of(loaded, selection, backends, options, chains)
    _start_others(() if dry_run else backends, options, len(cases) // (part[1] if part else 1))
    most = 1 if fail_fast else max_failures
    if dry_run:
        return _dry_run(cases, corpus, part)
    if not backends:
        raise UsageError("which backend?", hint="--backend ort; see `convcheck list backends`")
    if len(set(backends)) > 1:
        refuse_what_is_of_one(reports, {"--resume": resume}, "--backend")
        return _side_by_side(backends, cases, corpus, options, most, part, reports)
    known = _known(reports.known, loaded, options, fail_fast, max_failures)
    journal = _journal(resume, backends[0], cases, corpus, options, part, loaded)
    result = ask_run(backends[0], cases, corpus, options, most=most, part=part, journal=journal)
    code = _report(result, loaded, reports, known)
    return kept_until_done([journal] if journal else [], code, [INTERRUPTED])


def _asked_of(
    loaded: Catalog, selection: Selection, backends: Sequence[str], options: RunOptions,
    chains: bool,
) -> tuple[list[Case], Corpus]:  # fmt: skip
    """Return the cases that are asked, and their vectors."""
    if chains:
        return chains_of_run(loaded, selection, backends, options)
    cases = selected(loaded, selection, backends, options.tier)
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
    path: str | None, loaded: Catalog, options: RunOptions, fail_fast: bool, most: int | None
) -> KnownList | None:
    """Read the list before the run, and once: what is wrong in it is better said at once, and a
    pipe has it only once.
    """
    if path is None:
        return None
    given = {"--inputs": options.inputs, "--fail-fast": fail_fast, "--max-failures": most}
    if other := next((name for name, value in given.items() if value), None):
        hint = f"leave out {other}: a list is for all inputs of a tier"
        raise UsageError(f"--known does not go with {other}", hint=hint)
    from convcheck.gate.known import read_known, refuse_causes

    known = read_known(path, loaded)
    if options.causes == "none":
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
