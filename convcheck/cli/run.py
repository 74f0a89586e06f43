"""`convcheck run`: ask, judge, report."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from convcheck.cli.options import backends_option, catalog, selection_options, spec_arguments
from convcheck.cli.options import specs_option as specs
from convcheck.cli.several import Turn, each, selected, writable
from convcheck.errors import UsageError

if TYPE_CHECKING:
    from convcheck.run.result import RunResult
    from convcheck.spec.load import Catalog
    from convcheck.spec.model import Case, Level
    from convcheck.vectors.corpus import Corpus

FAILED, NOTHING_JUDGED, NOT_STARTED, INTERRUPTED = 1, 3, 4, 130
EXAMPLE = """\b
Examples:
  convcheck run --backend ort
  convcheck run --backend ort onnx.Cast-21 --to float8 --where saturate=0 --tier boundary
  convcheck run --backend ort --backend onnx-reference onnx.Cast-21
  convcheck run --backend mypackage.mymodule:MyBackend --fail-fast --json report.json
"""


@click.command("run", epilog=EXAMPLE)
@spec_arguments
@backends_option
@selection_options
@click.option("--inputs", metavar="FILE", help="Your own bit patterns, hex, one a line.")
@click.option(
    "--tier",
    type=click.Choice(["edge", "boundary", "exhaustive"]),
    default="edge",
    show_default=True,
    help="How many inputs: the notable ones; every rounding boundary; "
    "every bit pattern of sources up to 16 bits.",
)
@click.option(
    "--level",
    default="disputed",
    show_default=True,
    type=click.Choice(["normative", "implied", "disputed"]),
    help="Fail on rules of this level and stronger.",
)
@click.option("--jobs", "-j", type=click.IntRange(1), help="Worker processes; one per core.")
@click.option(
    "--timeout",
    type=click.FloatRange(0.1),
    default=30.0,
    show_default=True,
    help="Seconds that one call of the backend may take.",
)
@click.option(
    "--seed",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="Seed of the random part of the inputs.",
)
@click.option(
    "--max-elements",
    type=click.IntRange(1),
    envvar="CONVCHECK_MAX_ELEMENTS",
    default=1 << 24,
    show_default=True,
    help="The largest output that is asked for, or fetched.",
)
@click.option("--fail-fast", is_flag=True, help="Stop at the first failing case.")
@click.option("--dry-run", is_flag=True, help="Say what would be asked, and ask nothing.")
@click.option("--json", "json_path", metavar="FILE", help="Write the report as JSON; - for stdout.")
@click.option("--verbose", "-v", is_flag=True, help="Show every matrix, case and message.")
@specs
def command(
    patterns: tuple[str, ...],
    backends: tuple[str, ...],
    sources: tuple[str, ...],
    targets: tuple[str, ...],
    where: tuple[str, ...],
    globs: tuple[str, ...],
    inputs: str | None,
    tier: str,
    level: Level,
    jobs: int | None,
    timeout: float,
    seed: int,
    max_elements: int,
    fail_fast: bool,
    dry_run: bool,
    json_path: str | None,
    verbose: bool,
    specs: tuple[str, ...],
) -> int:
    """Put test vectors to a backend and report where it departs from the standard.

    Without SPEC, every spec of the standard that the backend implements. SPEC may be a glob:
    'onnx.*'. A pattern that matches nothing is an
    error. Exit codes: 0 everything judged passed, 1 a failure, 2 bad input, 3 nothing was judged,
    4 the backend could not be started. Of several backends, the others are asked all the same, and
    the gravest exit code counts: 1 before 4 before 3.
    """
    from convcheck.backends.protocol import LIMIT_VARIABLE
    from convcheck.run.plan import Selection

    os.environ[LIMIT_VARIABLE] = str(max_elements)  # where workers see it
    loaded = catalog(specs)
    selection = Selection(patterns, sources, targets, where, globs)
    cases = selected(loaded, selection, backends)
    corpus = _corpus(loaded, tier, seed, inputs, cases)
    if dry_run:
        return _dry_run(cases, corpus)
    if not backends:
        raise UsageError("which backend?", hint="--backend ort; see `convcheck list backends`")
    writable(json_path)

    def asked(backend: str) -> RunResult:
        return _run(backend, cases, corpus, jobs or os.cpu_count() or 1, timeout, fail_fast, level)

    if len(set(backends)) == 1:
        return _report(asked(backends[0]), json_path, verbose)
    return _side_by_side(each(backends, asked, lambda r: _ends(r, fail_fast)), json_path, verbose)


def _corpus(
    loaded: Catalog, tier: str, seed: int, inputs: str | None, cases: Sequence[Case]
) -> Corpus:
    from dataclasses import replace
    from typing import cast

    from convcheck.spec.load import data_dir
    from convcheck.vectors.corpus import open_corpus, read_words
    from convcheck.vectors.model import Tier

    corpus = open_corpus(loaded, cast(Tier, tier), seed, data_dir("vectors"))
    if inputs is None:
        return corpus
    sources = {case.inputs[0] for case in cases}
    whole = [case.whole_calls for case in cases]
    if all(whole) or (any(whole) and len(sources) == 1):
        hint = "choose such a SPEC; `convcheck explain` asks one call of the others"
        raise UsageError("--inputs is for operators that convert elements", hint=hint)
    if len(sources) > 1:
        names = ", ".join(sorted(t.name for t in sources))
        hint = f"choose one source with --from; selected are {names}"
        raise UsageError("--inputs has bit patterns of one type", hint=hint)
    return replace(corpus, words=read_words(Path(inputs), sources.pop().format))


def _dry_run(cases: Sequence[Case], corpus: Corpus) -> int:
    counts: dict[str, list[int]] = {}
    whole: dict[str, bool] = {}  # a question is a call, not a value
    for case in cases:
        counts.setdefault(case.spec, []).append(corpus.count(case))
        whole[case.spec] = case.whole_calls
    width = max(map(len, [*counts, "would ask"]))
    for spec, asked in counts.items():
        what = "calls" if whole[spec] else "values"
        click.echo(f"{spec:<{width}}  {len(asked):>6,} cases  {sum(asked):>10,} {what}")
    sums = {w: sum(sum(c) for spec, c in counts.items() if whole[spec] == w) for w in (False, True)}
    parts = ((sums[False], "values"), (sums[True], "calls"))
    total = " and ".join(f"{number:,} {what}" for number, what in parts if number)
    click.echo(f"{'would ask':<{width}}  {len(cases):>6,} cases  {total}")
    return 0


def _run(
    backend: str,
    cases: Sequence[Case],
    corpus: Corpus,
    jobs: int,
    timeout: float,
    fail_fast: bool,
    level: Level,
) -> RunResult:
    from convcheck.cli.progress import progress
    from convcheck.run.execute import execute
    from convcheck.run.result import FAILURES, RunResult

    notes = corpus.check(cases)
    with progress(len(cases), backend) as advance:
        done = execute(
            backend, cases, corpus,
            jobs=jobs, timeout=timeout, fail_fast=fail_fast,
            on_result=lambda result: advance(result.verdict in FAILURES),
        )  # fmt: skip
    return RunResult(
        done.backend, corpus.tier, level, corpus.digests(cases), done.results,
        notes, done.interrupted, done.restarts,
    )  # fmt: skip


def _report(result: RunResult, json_path: str | None, verbose: bool) -> int:
    from rich.console import Console

    from convcheck.report import json, terminal

    # With the JSON on stdout, the report for people goes to stderr.
    terminal.report(result, Console(stderr=json_path == "-"), verbose)
    if json_path:
        json.write(result, json_path)
    return _exit_code(result)


def _exit_code(result: RunResult) -> int:
    if result.interrupted:
        return INTERRUPTED
    return {"fail": FAILED, "nothing": NOTHING_JUDGED}.get(result.outcome, 0)


def _ends(result: RunResult, fail_fast: bool) -> bool:
    """Tell whether no other backend is to be asked after this one."""
    return result.interrupted or (fail_fast and any(c.gates(result.level) for c in result.cases))


def _side_by_side(turns: Sequence[Turn[RunResult]], json_path: str | None, verbose: bool) -> int:
    """Report several backends at once. The gravest exit code is the run's."""
    from rich.console import Console

    from convcheck.report import reports_json, sidebyside
    from convcheck.report.naming import short_names
    from convcheck.report.page import put

    names = short_names([turn.address for turn in turns])
    sides = [sidebyside.Side(name, turn.done, turn.why_not)
             for name, turn in zip(names, turns, strict=True)]  # fmt: skip
    console = Console(stderr=json_path == "-")
    put(sidebyside.show(sides, console.width, verbose), console)
    if json_path:
        done = [turn.done for turn in turns if turn.done]
        reports_json.write(done, _not_started(turns), json_path)
    codes = [NOT_STARTED if turn.done is None else _exit_code(turn.done) for turn in turns]
    order = (INTERRUPTED, FAILED, NOT_STARTED, NOTHING_JUDGED, 0)
    return min(codes, key=order.index)


def _not_started(turns: Sequence[Turn[RunResult]]) -> dict[str, str]:
    return {turn.address: turn.why_not for turn in turns if turn.error}
