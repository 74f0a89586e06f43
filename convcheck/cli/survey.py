"""`convcheck survey`: what backends do where the texts leave them free."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from convcheck.cli.ask_run import ask_run, kept_until_done, opened_journal, planned
from convcheck.cli.options import (
    JOBS,
    SEED,
    TIMEOUT,
    backends_option,
    catalog,
    selection_options,
    shard_option,
)
from convcheck.cli.options import specs_option as specs
from convcheck.cli.outputs import check_outputs, show
from convcheck.cli.progress import progress_option
from convcheck.cli.run_options import EXECUTOR, RunOptions, packed_options
from convcheck.cli.turns import each, selected
from convcheck.errors import UsageError

if TYPE_CHECKING:
    from convcheck.judge.result import RunResult
    from convcheck.plan.runner import Turn
    from convcheck.plan.selection import Selection
    from convcheck.report.json.journal import Journal
    from convcheck.rules.load import Catalog
    from convcheck.rules.model import Case
    from convcheck.rules.types import Types

NOTHING_SURVEYED, NOT_STARTED, INTERRUPTED = 3, 4, 130
EXAMPLE = """\b
Examples:
  convcheck survey --backend ort --backend onnx-reference onnx.Cast-21
  convcheck survey --backend ort --from float32 --to int8 --json survey.json
"""


def _options(**given: Any) -> RunOptions:
    """Return the options of a run that a survey is."""
    return RunOptions(**given, no_causes=True)


_NAMES = ("tier", "jobs", "timeout", "seed", "executor")
_TIER = click.option(
    "--tier",
    type=click.Choice(["edge", "boundary", "exhaustive"]),
    default="edge",
    show_default=True,
    help="Which inputs, as for `run`.",
)


@click.command("survey", epilog=EXAMPLE)
@backends_option
@selection_options
@packed_options(_options, _NAMES, (_TIER, JOBS, TIMEOUT, SEED, EXECUTOR))
@click.option(
    "--resume", metavar="FILE",
    help="Keep results in FILE.1, FILE.2 and so on, one per backend; resume from them after an "
    "interruption.",
)  # fmt: skip
@shard_option
@progress_option
@click.option("--json", "json_path", metavar="FILE", help="Write the survey as JSON; - for stdout.")
@specs
def command(
    selection: Selection,
    backends: tuple[str, ...],
    options: RunOptions,
    resume: str | None,
    part: tuple[int, int] | None,
    json_path: str | None,
    specs: tuple[str, ...],
) -> int:
    """Show what backends do where the standard leaves it open.

    For every undefined and every disputed row of the specs: the cause that gives all answers of a
    backend (it wraps round, it clamps) or the reading of the text that does, examples where none
    does, and where backends differ although both may. Nothing is judged. Exit codes: 0 something
    was surveyed, 2 bad input, 3 nothing was, 4 a backend could not be started.
    """
    from convcheck.rules.load import data_dir
    from convcheck.vectors.corpus import open_corpus

    loaded = catalog(specs)
    if not backends:
        raise UsageError("which backends?", hint="--backend ort; see `convcheck show backends`")
    kept = {one: f"{resume}.{n}" for n, one in enumerate(dict.fromkeys(backends), 1) if resume}
    check_outputs({"--json": json_path, **{f"--resume {path}": path for path in kept.values()}})
    cases = _open(loaded, selected(loaded, selection, backends))
    corpus = open_corpus(loaded, options.tier, options.seed, data_dir("vectors"))
    journals: list[Journal] = []

    def ask(address: str) -> RunResult:
        if address in kept:
            plan, asked = planned(address, cases, corpus, options, part, survey=True)
            journals.append(opened_journal(kept[address], asked, plan, loaded.types.types))
        journal = journals[-1] if address in kept else None
        return ask_run(address, cases, corpus, options, part=part, journal=journal, survey=True)

    turns = each(backends, ask, lambda done: done.interrupted)
    code = report_survey(turns, loaded.types, json_path)
    return kept_until_done(journals, code, [INTERRUPTED, NOT_STARTED])


def _open(loaded: Catalog, cases: Sequence[Case]) -> list[Case]:
    """Keep the cases that have an undefined or a disputed row, or may have one."""
    from convcheck.semantics.evaluate import compile_case
    from convcheck.survey.model import OPEN

    def has_one(case: Case) -> bool:
        spec = loaded.specs[case.spec]
        if spec.body.whole_calls:  # its rows are known when its calls are
            return True
        return any(d.level in OPEN for d in compile_case(spec, case).decisions)

    return [case for case in cases if has_one(case)]


def report_survey(turns: Sequence[Turn], types: Types, json_path: str | None) -> int:
    """Write a survey as JSON where that is asked for, print it for people (on stderr where stdout
    has the JSON), and return the exit code.
    """
    from convcheck.report.draw.survey import survey_page
    from convcheck.report.json.encode import text_of_several
    from convcheck.survey.view import Survey

    survey = Survey(tuple(turns))
    show(survey_page(survey, types), (json_path, partial(text_of_several, turns)))
    if survey.interrupted:
        return INTERRUPTED
    if any(turn.run is None for turn in turns):
        return NOT_STARTED
    return 0 if survey.rows else NOTHING_SURVEYED
