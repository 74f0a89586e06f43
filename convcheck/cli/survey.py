"""`convcheck survey`: what backends do where the texts leave them free."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import TYPE_CHECKING

import click

from convcheck.cli.ask_run import dealt, kept_until_done, opened_journal
from convcheck.cli.options import (
    backends_option,
    catalog,
    selection_options,
    shard_option,
)
from convcheck.cli.options import specs_option as specs
from convcheck.cli.outputs import check_outputs, show
from convcheck.cli.progress import progress, progress_option
from convcheck.cli.run_options import EXECUTOR, JOBS, SEED, TIMEOUT, packed_options
from convcheck.cli.turns import Turn, each, selected
from convcheck.errors import UsageError

if TYPE_CHECKING:
    from convcheck.judge.result import Shard
    from convcheck.plan.runner import Execution
    from convcheck.plan.selection import Selection
    from convcheck.report.json.journal import Journal
    from convcheck.rules.load import Catalog
    from convcheck.rules.model import Case
    from convcheck.rules.types import Types
    from convcheck.survey.merge import Survey
    from convcheck.vectors.corpus import Corpus
    from convcheck.vectors.model import Tier

NOTHING_SURVEYED, NOT_STARTED, INTERRUPTED = 3, 4, 130
EXAMPLE = """\b
Examples:
  convcheck survey --backend ort --backend onnx-reference onnx.Cast-21
  convcheck survey --backend ort --from float32 --to int8 --json survey.json
"""


@dataclass(frozen=True)
class SurveyOptions:
    """How cases are asked for a survey."""

    tier: Tier
    #: How many worker processes there are; None for one a core.
    jobs: int | None
    #: Seconds that one call to the backend may take.
    timeout: float
    #: Of the random part of the inputs.
    seed: int
    #: The address of a cluster, None for processes on this machine.
    executor: str | None
    #: What the names of the files begin with that keep the results so far, None for none.
    resume: str | None

    def kept(self, backends: Sequence[str]) -> list[str]:
        """Return the files that keep the results so far, one a backend."""
        numbers = range(1, len(set(backends)) + 1)
        return [] if self.resume is None else [f"{self.resume}.{n}" for n in numbers]


_OPTIONS = (
    click.option(
        "--tier",
        type=click.Choice(["edge", "boundary", "exhaustive"]),
        default="edge",
        show_default=True,
        help="Which inputs, as for `run`.",
    ),
    JOBS,
    TIMEOUT,
    SEED,
    EXECUTOR,
    click.option(
        "--resume",
        metavar="FILE",
        help="Keep results in FILE.1, FILE.2 and so on, one per backend; resume from them after an "
        "interruption.",
    ),
)


@click.command("survey", epilog=EXAMPLE)
@backends_option
@selection_options
@packed_options(SurveyOptions, [field.name for field in fields(SurveyOptions)], _OPTIONS)
@shard_option
@progress_option
@click.option("--json", "json_path", metavar="FILE", help="Write the survey as JSON; - for stdout.")
@specs
def command(
    selection: Selection,
    backends: tuple[str, ...],
    options: SurveyOptions,
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
    from convcheck.plan.deal import hand_of
    from convcheck.rules.load import data_dir
    from convcheck.vectors.corpus import open_corpus

    loaded = catalog(specs)
    if not backends:
        raise UsageError("which backends?", hint="--backend ort; see `convcheck list backends`")
    cases = selected(loaded, selection, backends)
    kept = {f"--resume {n}": path for n, path in enumerate(options.kept(backends), 1)}
    check_outputs({"--json": json_path, **kept})
    corpus = open_corpus(loaded, options.tier, options.seed, data_dir("vectors"))
    notes = corpus.check(cases)
    plan = _open(loaded, cases)
    asked, shard = dealt(plan, [case.id for case in plan], part, lambda case: hand_of(case.id))
    asking = _Asking(asked, corpus, options, shard)
    turns = each(backends, asking.ask, lambda done: done.interrupted)
    found = _survey(turns, corpus, plan, notes, shard, tuple(case.id for case in asked))
    code = report_survey(found, loaded.types, json_path)
    return kept_until_done(asking.journals, code, [INTERRUPTED, NOT_STARTED])


def _open(loaded: Catalog, cases: Sequence[Case]) -> list[Case]:
    """Keep the cases that have an undefined or a disputed row, or may have one."""
    from convcheck.semantics.program import compile_case
    from convcheck.survey.model import OPEN

    def has_one(case: Case) -> bool:
        spec = loaded.specs[case.spec]
        if spec.body.whole_calls:  # its rows are known when its calls are
            return True
        return any(d.level in OPEN for d in compile_case(spec, case).decisions)

    return [case for case in cases if has_one(case)]


class _Asking:
    """Asks one backend after the other, and keeps a journal of each."""

    def __init__(
        self, cases: Sequence[Case], corpus: Corpus, options: SurveyOptions, shard: Shard | None
    ) -> None:
        from convcheck.causes.catalogue import causes_of

        self.cases, self.corpus, self.options, self.shard = cases, corpus, options, shard
        self.causes = causes_of(corpus.catalog)
        self.journals: list[Journal] = []

    def ask(self, address: str) -> Execution:
        """Ask a backend what its journal does not have."""
        from convcheck.plan.runner import execute
        from convcheck.survey.elements import Known
        from convcheck.survey.survey import OpenRows, survey

        sent, options = self.corpus.only(self.cases), self.options
        journal = self._journal(address)
        with progress(len(self.cases), address) as advance:
            return execute(
                address,
                self.cases,
                OpenRows(sent),
                jobs=options.jobs,
                timeout=options.timeout,
                executor=options.executor,
                on_result=lambda result: advance(),
                judge=partial(survey, Known(sent.catalog, self.causes)),
                catalog=sent.catalog,
                journal=journal,
            )

    def _journal(self, address: str) -> Journal | None:
        if self.options.resume is None:
            return None
        from convcheck.plan.units import Unit

        shard = self.shard
        head = {
            "survey": True,
            "address": address,
            "tier": self.corpus.tier,
            "shard": [shard.index, shard.of, shard.plan] if shard else None,
        }
        path = f"{self.options.resume}.{len(self.journals) + 1}"
        plan, types = [Unit(case) for case in self.cases], self.corpus.catalog.types.types
        self.journals.append(opened_journal(path, head, plan, self.corpus, types))
        return self.journals[-1]


def _survey(
    turns: Sequence[Turn[Execution]],
    corpus: Corpus,
    cases: Sequence[Case],
    notes: Sequence[str],
    shard: Shard | None,
    asked: tuple[str, ...],
) -> Survey:
    from convcheck.judge.result import corpus_of
    from convcheck.survey.merge import Column, Survey, collect, unsurveyed

    columns = tuple(Column(t.address, t.done.backend if t.done else None, t.why_not) for t in turns)
    results = [turn.done.results if turn.done else () for turn in turns]
    said = [note for turn, found in zip(turns, results, strict=True)
            for note in unsurveyed(turn.address, found)]  # fmt: skip
    interrupted = any(turn.done.interrupted for turn in turns if turn.done)
    rows, corpora = collect(results, untaken=shard is not None), corpus_of(corpus.digests(cases))
    remarks = tuple(sorted({*notes, *said}))
    return Survey(columns, corpus.tier, corpora, rows, remarks, interrupted, shard, asked)


def report_survey(survey: Survey, types: Types, json_path: str | None) -> int:
    """Write a survey as JSON where that is asked for, print it for people (on stderr where stdout
    has the JSON), and return the exit code.
    """
    from convcheck.records import replace
    from convcheck.report.draw.survey import survey_page
    from convcheck.report.json.survey import survey_text

    page = survey_page(replace(survey, rows=survey.taken), types)
    show(page, (json_path, partial(survey_text, survey)))
    if survey.interrupted:
        return INTERRUPTED
    if any(column.info is None for column in survey.columns):
        return NOT_STARTED
    return 0 if survey.taken else NOTHING_SURVEYED
