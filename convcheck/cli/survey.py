"""`convcheck run --open`: what backends do where the texts leave them free."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from convcheck.cli.ask_run import ask_run, kept_until_done, opened_journal, planned
from convcheck.cli.options import catalog
from convcheck.cli.outputs import check_outputs, show
from convcheck.cli.run_options import RunOptions
from convcheck.cli.turns import each, selected
from convcheck.errors import UsageError
from convcheck.judge.result import RunResult
from convcheck.plan.runner import Turn
from convcheck.plan.selection import Selection
from convcheck.report.draw.survey import survey_page
from convcheck.report.json.encode import text_of_several
from convcheck.report.json.journal import Journal
from convcheck.rules.load import Catalog, data_dir
from convcheck.rules.model import Case
from convcheck.rules.types import Types
from convcheck.semantics.evaluate import compile_case
from convcheck.survey.model import OPEN
from convcheck.survey.view import Survey
from convcheck.vectors.corpus import open_corpus

NOTHING_SURVEYED, NOT_STARTED, INTERRUPTED = 3, 4, 130


def survey(
    backends: Sequence[str], selection: Selection, options: RunOptions,
    part: tuple[int, int] | None, resume: str | None, json_path: str | None,
) -> int:  # fmt: skip
    """Run backends where the standard leaves the answer open, print what they do, and write it as
    JSON if that is asked for. Return the exit code.
    """
    loaded = catalog()
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
    survey = Survey(tuple(turns))
    show(survey_page(survey, types), (json_path, partial(text_of_several, turns)))
    if survey.interrupted:
        return INTERRUPTED
    if any(turn.run is None for turn in turns):
        return NOT_STARTED
    return 0 if survey.rows else NOTHING_SURVEYED
