"""`convcheck run`: ask, judge, report."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from dataclasses import fields
from typing import TYPE_CHECKING

import click

from convcheck.cli.ask_run import ask_run, kept_until_done, opened_journal, shared
from convcheck.cli.certificate import Certificate, begin_certificate
from convcheck.cli.options import backends_option, catalog, selection_options, shard_option
from convcheck.cli.options import specs_option as specs
from convcheck.cli.outputs import check_outputs
from convcheck.cli.reports import (
    FAILED,
    INTERRUPTED,
    NOTHING_JUDGED,
    Reports,
    exit_code,
    hold_to_known,
    report_options,
    write_reports,
)
from convcheck.cli.run_options import (
    RunFiles,
    RunOptions,
    corpus_of_run,
    packed_options,
    run_options,
)
from convcheck.cli.turns import Turn, each, selected
from convcheck.errors import UsageError
from convcheck.pool.keeper import start_keeper
from convcheck.streams import say
from convcheck.wording import plural

if TYPE_CHECKING:
    from convcheck.gate.claims import Claims
    from convcheck.gate.known import KnownList
    from convcheck.judge.result import RunResult
    from convcheck.plan.selection import Selection
    from convcheck.plan.units import Unit
    from convcheck.report.json.journal import Journal
    from convcheck.rules.load import Catalog
    from convcheck.rules.model import Case
    from convcheck.vectors.corpus import Corpus

NOT_STARTED = 4
_FILES = (
    click.option(
        "--capabilities", metavar="FILE", help="A TOML file of what the backend claims to support."
    ),
    click.option(
        "--resume",
        metavar="FILE",
        help="Keep results in FILE as they come; resume from it after an interruption.",
    ),
    click.option(
        "--certificate",
        metavar="FILE",
        help="Write what was proved of each case, and by which code, command and vectors, as JSON.",
    ),
)
EXAMPLE = """\b
Examples:
  convcheck run --backend ort
  convcheck run --backend ort onnx.Cast-21 --to float8 --where saturate=0 --tier boundary
  convcheck run --backend ort --backend onnx-reference onnx.Cast-21
  convcheck run --backend 'process:./mine --flag' --known known.toml --html report.html
  convcheck run --backend mypackage.mymodule:MyBackend --fail-fast --json report.json
  convcheck run --backend ort --shard 3/16 --json shard-3.json
"""


@click.command("run", epilog=EXAMPLE)
@backends_option
@selection_options
@run_options
@shard_option
@packed_options(RunFiles, [field.name for field in fields(RunFiles)], _FILES, "files")
@click.option("--fail-fast", is_flag=True, help="Stop at the first failing case.")
@click.option(
    "--max-failures", type=click.IntRange(1), metavar="N", help="Stop when N cases have failed."
)
@click.option("--dry-run", is_flag=True, help="Print what would be asked, without asking it.")
@report_options
@specs
def command(
    selection: Selection,
    backends: tuple[str, ...],
    options: RunOptions,
    part: tuple[int, int] | None,
    files: RunFiles,
    fail_fast: bool,
    max_failures: int | None,
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
    _check_files(reports, files, options)
    _start_early(() if dry_run else backends, options)
    loaded = catalog(specs)
    cases = selected(loaded, selection, backends)
    claims, chosen = _claims(files.capabilities, loaded), len(cases)
    cases = _applying(claims, cases)
    corpus = corpus_of_run(loaded, options, cases)
    most = 1 if fail_fast else max_failures
    if dry_run:
        return _dry_run(cases, corpus, part)
    if not backends:
        raise UsageError("which backend?", hint="--backend ort; see `convcheck list backends`")
    if len(set(backends)) > 1:
        _one_only(reports, files)
        return _side_by_side(backends, cases, corpus, options, most, part, reports)
    known = _known(reports.known, loaded, options, fail_fast, max_failures)
    certified = begin_certificate(files, backends[0], corpus, cases, options)
    journal = _journal(files.resume, backends[0], cases, corpus, options, part, loaded)
    result = ask_run(backends[0], cases, corpus, options, most=most, part=part, journal=journal)
    code = _report(_claimed(claims, result, chosen), loaded, reports, known, certified)
    return kept_until_done([journal] if journal else [], code, [INTERRUPTED])


def _start_early(backends: Sequence[str], options: RunOptions) -> None:
    """Have the keeper of workers import what they need while the specs are read."""
    if backends and not options.executor:
        start_keeper()


def _check_files(reports: Reports, files: RunFiles, options: RunOptions) -> None:
    inputs = {"--known": reports.known, "--inputs": options.inputs,
              "--capabilities": files.capabilities}  # fmt: skip
    written = {"--resume": files.resume, "--certificate": files.certificate}
    check_outputs({**reports.outputs, **written}, inputs)


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


def _claims(path: str | None, loaded: Catalog) -> Claims | None:
    if path is None:
        return None
    from convcheck.gate.claims import read_claims

    return read_claims(path, loaded)


def _applying(claims: Claims | None, cases: list[Case]) -> list[Case]:
    """Return the cases that the backend claims to support. Raises UsageError where none is."""
    if claims is None:
        return cases
    from convcheck.gate.claims import claimed

    applying = claimed(claims, cases)
    if not applying:
        hint = "see `convcheck list cases`"
        raise UsageError(f"none of {plural(len(cases), 'selected case')} is claimed", hint=hint)
    return applying


def _claimed(claims: Claims | None, result: RunResult, chosen: int) -> RunResult:
    if claims is None:
        return result
    from convcheck.gate.claims import held_to

    return held_to(claims, result, chosen)


def _journal(
    path: str | None, backend: str, cases: Sequence[Case], corpus: Corpus, options: RunOptions,
    part: tuple[int, int] | None, loaded: Catalog,
) -> Journal | None:  # fmt: skip
    if path is None:
        return None
    from convcheck.plan.units import units

    plan, shard = shared(units(cases, corpus.spans), part)
    head = {
        "address": backend,
        "tier": corpus.tier,
        "consistency": options.consistency,
        "causes": options.causes,
        "shard": [shard.index, shard.of, shard.plan] if shard else None,
    }
    return opened_journal(path, head, plan, corpus, loaded.types.types)


def _dry_run(cases: Sequence[Case], corpus: Corpus, part: tuple[int, int] | None) -> int:
    from convcheck.plan.units import units

    counts: dict[str, list[int]] = {}
    whole: dict[str, bool] = {}  # a question is a call, not a value
    plan, _ = shared(units(cases, corpus.spans), part)
    for case, number in _asked(plan, corpus):
        counts.setdefault(case.spec, []).append(number)
        whole[case.spec] = case.whole_calls
    width = max(map(len, [*counts, "would ask"]))
    for spec, asked in counts.items():
        cases_of = plural(len(asked), "case")
        values = plural(sum(asked), "call" if whole[spec] else "value")
        say(f"{spec:<{width}}  {cases_of:>12}  {values:>17}")
    sums = {w: sum(sum(c) for spec, c in counts.items() if whole[spec] == w) for w in (False, True)}
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


def _report(
    result: RunResult, loaded: Catalog, reports: Reports, known: KnownList | None,
    certificate: Certificate | None,
) -> int:  # fmt: skip
    # a shard is held against the list as a part; `merge` does it with the whole
    held = hold_to_known(result, loaded, known)
    command = shlex.join(["convcheck", *sys.argv[1:]])
    return write_reports(held, reports, loaded.types, command, certificate)


def _one_only(reports: Reports, files: RunFiles) -> None:
    """Refuse what only goes with one backend."""
    given = {"--known": reports.known,
             **{f"--{name}": path for name, path in vars(files).items()},
             **{f"--{name}": path for name, path in reports.files.items() if name != "json"},
             "--github": reports.github}  # fmt: skip
    if option := next((name for name, value in given.items() if value), None):
        hint = "run them one at a time; side by side only the terminal and --json are written"
        raise UsageError(f"{option} works with one --backend only", hint=hint)


def _side_by_side(
    backends: tuple[str, ...], cases: list[Case], corpus: Corpus, options: RunOptions,
    most: int | None, part: tuple[int, int] | None, reports: Reports,
) -> int:  # fmt: skip
    """Ask several backends and report them at once. The gravest exit code is the run's."""

    def asked(backend: str) -> RunResult:
        return ask_run(backend, cases, corpus, options, most=most, part=part)

    def ends(result: RunResult) -> bool:
        return result.interrupted or (most == 1 and result.outcome == "fail")

    turns = each(backends, asked, ends)
    _show(turns, reports)
    codes = [NOT_STARTED if turn.done is None else exit_code(turn.done) for turn in turns]
    order = (INTERRUPTED, FAILED, NOT_STARTED, NOTHING_JUDGED, 0)
    return min(codes, key=order.index)


def _show(turns: Sequence[Turn[RunResult]], reports: Reports) -> None:
    from rich.console import Console

    from convcheck.files import write_all
    from convcheck.report.draw import side_by_side as sidebyside
    from convcheck.report.draw.console import is_terminal, put, room
    from convcheck.report.json import reports as reports_json
    from convcheck.report.short_names import short_names

    path = reports.files.get("json")
    names = short_names([turn.address for turn in turns])
    sides = [
        sidebyside.side_of(name, turn.done, turn.why_not)
        for name, turn in zip(names, turns, strict=True)
    ]
    console = Console(stderr=path == "-")

    def page() -> None:
        whole, wide = not is_terminal(console), room(console)
        put(sidebyside.side_by_side_lines(sides, wide, reports.verbose, whole), console)

    def made() -> str:
        done = [turn.done for turn in turns if turn.done]
        not_started = {turn.address: turn.why_not for turn in turns if turn.error}
        return reports_json.side_by_side_text(done, not_started)

    write_all([(path, made)] if path else [], page)
