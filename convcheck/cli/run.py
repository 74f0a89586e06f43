"""`convcheck run`: ask, judge, report."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from convcheck.cli.options import backend_option, catalog, selection_options, spec_arguments
from convcheck.cli.options import specs_option as specs
from convcheck.errors import UsageError

if TYPE_CHECKING:
    from convcheck.run.result import RunResult
    from convcheck.spec.model import Case, Level
    from convcheck.vectors.corpus import Corpus

NOTHING_JUDGED, INTERRUPTED = 3, 130
EXAMPLE = """\b
Examples:
  convcheck run --backend ort
  convcheck run --backend ort onnx.Cast-21 --to float8 --where saturate=0 --tier boundary
  convcheck run --backend mypackage.mymodule:MyBackend --fail-fast --json report.json
"""


@click.command("run", epilog=EXAMPLE)
@spec_arguments
@backend_option
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
@click.option("--fail-fast", is_flag=True, help="Stop at the first failing case.")
@click.option("--dry-run", is_flag=True, help="Say what would be asked, and ask nothing.")
@click.option("--json", "json_path", metavar="FILE", help="Write the report as JSON; - for stdout.")
@click.option("--verbose", "-v", is_flag=True, help="Show every matrix, case and message.")
@specs
def command(
    patterns: tuple[str, ...],
    backend: str | None,
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
    fail_fast: bool,
    dry_run: bool,
    json_path: str | None,
    verbose: bool,
    specs: tuple[str, ...],
) -> int:
    """Put test vectors to a backend and report where it departs from the standard.

    Without SPEC, every spec. SPEC may be a glob: 'onnx.*'. A pattern that matches nothing is an
    error. Exit codes: 0 everything judged passed, 1 a failure, 2 bad input, 3 nothing was judged,
    4 the backend could not be started.
    """
    from convcheck.run.plan import Selection, select

    loaded = catalog(specs)
    cases = select(loaded, Selection(patterns, sources, targets, where, globs))
    corpus = _corpus(loaded, tier, seed, inputs, cases)
    if dry_run:
        return _dry_run(cases, corpus)
    if backend is None:
        raise UsageError("which backend?", hint="--backend ort; see `convcheck list backends`")
    _writable(json_path)
    result = _run(backend, cases, corpus, jobs or os.cpu_count() or 1, timeout, fail_fast, level)
    return _report(result, json_path, verbose)


def _corpus(
    loaded: object, tier: str, seed: int, inputs: str | None, cases: Sequence[Case]
) -> Corpus:
    from dataclasses import replace
    from typing import cast

    from convcheck.spec.load import Catalog, data_dir
    from convcheck.vectors.corpus import open_corpus, read_words
    from convcheck.vectors.model import Tier

    corpus = open_corpus(cast(Catalog, loaded), cast(Tier, tier), seed, data_dir("vectors"))
    if inputs is None:
        return corpus
    sources = {case.inputs[0] for case in cases}
    if len(sources) > 1:
        names = ", ".join(sorted(t.name for t in sources))
        hint = f"choose one source with --from; selected are {names}"
        raise UsageError("--inputs has bit patterns of one type", hint=hint)
    return replace(corpus, words=read_words(Path(inputs), sources.pop().format))


def _dry_run(cases: Sequence[Case], corpus: Corpus) -> int:
    values: dict[str, list[int]] = {}
    for case in cases:
        values.setdefault(case.spec, []).append(corpus.count(case))
    for spec, counts in values.items():
        click.echo(f"{spec:<24} {len(counts):>5} cases  {sum(counts):>12,} values")
    total = sum(map(sum, values.values()))
    click.echo(f"{'would ask':<24} {len(cases):>5} cases  {total:>12,} values")
    return 0


def _writable(path: str | None) -> None:
    """Refuse a report file that cannot be written before the run, not after it."""
    folder = Path(path).absolute().parent if path not in (None, "-") and path else None
    if folder and not (folder.is_dir() and os.access(folder, os.W_OK)):
        raise UsageError(f"cannot write {path}", hint=f"is {folder} a folder you may write to?")


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
        done.backend, corpus.tier, level, corpus.digest(cases), done.results,
        (*notes, *done.notes), done.interrupted,
    )  # fmt: skip


def _report(result: RunResult, json_path: str | None, verbose: bool) -> int:
    from rich.console import Console

    from convcheck.report import json, terminal
    from convcheck.run.result import FAILURES

    # With the JSON on stdout, the report for people goes to stderr.
    terminal.report(result, Console(stderr=json_path == "-"), verbose)
    if json_path:
        json.write(result, json_path)
    if result.interrupted:
        return INTERRUPTED
    if any(case.gates(result.level) for case in result.cases):
        return 1
    judged = {"pass", "tolerated", *FAILURES}
    return 0 if any(case.verdict in judged for case in result.cases) else NOTHING_JUDGED
