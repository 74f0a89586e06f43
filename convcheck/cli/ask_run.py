"""A run: units are asked, results gathered, and kept for a run that is killed to go on."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from convcheck import signals
from convcheck.cli.run_options import RunOptions, shared_options
from convcheck.errors import UsageError
from convcheck.records import replace
from convcheck.streams import say

if TYPE_CHECKING:
    from convcheck.cli.progress import Advance
    from convcheck.judge.reading import Types
    from convcheck.judge.result import (
        BackendInfo,
        RunResult,
        Shard,
    )
    from convcheck.plan.runner import Event
    from convcheck.plan.units import Gathering, Unit
    from convcheck.pool.messages import Setup
    from convcheck.report.json.journal import Journal
    from convcheck.rules.load import Catalog
    from convcheck.rules.model import Case
    from convcheck.vectors.corpus import Corpus


def planned(
    backend: str, cases: Sequence[Case], corpus: Corpus, options: RunOptions,
    part: tuple[int, int] | None = None, survey: bool = False,
) -> tuple[list[Unit], RunResult]:  # fmt: skip
    """Return the units that are asked, of a shard its own, and the run before anything is found."""
    from convcheck.judge.result import BackendInfo, RunResult
    from convcheck.plan.units import Unit, units

    # a survey makes no large calls, nor many
    every = [Unit(case) for case in cases] if survey else units(cases, corpus.spans)
    plan, shard = shared(every, part)
    run = RunResult(
        BackendInfo(backend, "", backend), corpus.tier, options.level, corpus.digests(cases), (),
        shard=shard, own_inputs=corpus.words is not None, consistency=options.consistency,
        without_causes=options.no_causes, survey=survey,
    )  # fmt: skip
    return plan, run


def ask_run(
    backend: str, cases: Sequence[Case], corpus: Corpus, options: RunOptions, *,
    most: int | None = None, part: tuple[int, int] | None = None, journal: Journal | None = None,
    survey: bool = False,
) -> RunResult:  # fmt: skip
    """Put the cases to a backend, with progress, and judge; of a `survey`, say what it does where
    nothing is due.

    What the journal has is not asked again. `part` is the shard asked. The run ends at `most`
    failing cases. Raises UnavailableError or UsageError where the backend cannot be opened, and
    VectorError for vectors that are damaged.
    """
    from convcheck.causes.gather import named_of
    from convcheck.judge.result import Timing
    from convcheck.plan.runner import Workers, run
    from convcheck.plan.units import Gathering

    plan, asked = planned(backend, cases, corpus, options, part, survey)
    gathering = Gathering(plan, corpus.conversion, options.level)
    sent = corpus.only(unit.case for unit in plan)
    setup = _setup(backend, sent, options)
    if survey:
        setup = _surveying(setup, corpus.catalog)
    left = [unit for unit in plan if journal is None or unit.id not in journal.done]
    heard = _Heard(gathering, most, left)
    began, begun = datetime.now(UTC), time.monotonic()
    events, notes = run(setup, plan, Workers(options.jobs, options.executor), journal), list[str]()
    heard.all(_checked(events, corpus, plan, notes), backend)
    info = heard.backend or (journal.backend if journal else None) or asked.backend
    results, parts = gathering.results(), gathering.parts(asked.shard is not None)
    return replace(
        asked,
        backend=replace(info, address=backend),
        cases=results,
        notes=(*notes, *_notes(options, corpus, cases)),
        interrupted=heard.interrupted,
        restarts=heard.restarts,
        parts=parts,
        ended_early=heard.ended_early,
        timing=Timing(began, time.monotonic() - begun, heard.seconds),
        causes=named_of(results, setup.causes, sent.catalog.types, parts),
    )


def _checked(
    events: Generator[Event, None, None], corpus: Corpus, plan: Sequence[Unit], notes: list[str]
) -> Generator[Event, None, None]:
    """Yield the events of a run. When the first has come the workers are busy, and the files of
    vectors are held against their hashes, with notes for the report. Raises VectorError.
    """
    with closing(events):
        first = next(events, None)
        notes += corpus.check(list(dict.fromkeys(unit.case for unit in plan)))
        if first is not None:
            yield first
            yield from events


def _setup(backend: str, sent: Corpus, options: RunOptions) -> Setup:
    """Return what workers begin with."""
    from convcheck.pool.messages import Setup
    from convcheck.rules.cause_files import cause_files

    files = () if options.no_causes else cause_files(sent.catalog)
    return Setup(backend, sent, None, options.timeout, options.consistency, sent.catalog, files)


def _surveying(setup: Setup, loaded: Catalog) -> Setup:
    """Return what workers begin with that survey."""
    from functools import partial

    from convcheck.causes.catalogue import causes_of
    from convcheck.survey.elements import Known
    from convcheck.survey.survey import OpenRows, survey

    judge = partial(survey, Known(setup.catalog or loaded, causes_of(loaded)))
    return replace(setup, corpus=OpenRows(setup.corpus), judge=judge)


def opened_journal(path: str, run: RunResult, plan: Sequence[Unit], types: Types) -> Journal:
    """Open the log of a run of these units, or begin it, and say what it has."""
    from convcheck.report.json.journal import open_journal

    journal = open_journal(path, run, types, plan)
    click.get_current_context().call_on_close(journal.file.close)
    if journal.done:
        whole = "parts" if any(unit.codes for unit in plan) else "cases"
        say(f"{path}: {len(journal.done)} of {len(plan)} {whole} are done", err=True)
    return journal


def kept_until_done(journals: Sequence[Journal], code: int, keeps: Sequence[int]) -> int:
    """Remove the results so far, unless the same command has to go on from them: where it ends with
    one of the codes that keep them.
    """
    for journal in journals:
        if code in keeps:
            say(f"the same command continues from {journal.path}", err=True)
        else:
            journal.remove()
    return code


def _notes(options: RunOptions, corpus: Corpus, cases: Sequence[Case]) -> Iterator[str]:
    """Say what was asked beyond, or not in, the tier."""
    from convcheck.vectors.span import is_sampled
    from convcheck.wording import plural

    if options.samples:
        number = sum(map(is_sampled, cases))
        samples = plural(options.samples, "sample")
        yield f"{samples} of {plural(number, 'case')}, seed {options.seed}"
    spanned = sum(bool(corpus.spans(case)) for case in cases) if options.consistency else 0
    if spanned:
        cases_of = plural(spanned, "case")
        yield f"consistency was checked on the vectors of {cases_of}, not on their spans"


class _Heard:
    """What was heard of a run so far; `left` are the units that no earlier run has done."""

    def __init__(self, gathering: Gathering, most: int | None, left: Sequence[Unit]) -> None:
        self.gathering, self.most, self.left = gathering, most, len(left)
        self.streamed = any(unit.span for unit in left)
        self.seconds: dict[str, float] = {}
        self.backend: BackendInfo | None = None
        self.restarts, self.interrupted, self.ended_early = 0, False, False

    def all(self, events: Generator[Event, None, None], name: str) -> None:
        """Hear events, with progress, until all is done, there are enough failures, or Ctrl-C; then
        close them.
        """
        from convcheck.cli.progress import progress

        noun = "part" if self.streamed else "case"
        with progress(self.left, name, noun, self.streamed) as advance, closing(events):
            try:
                for event in events:
                    if self._is_done(event, advance) and self.left and self._enough:
                        self.ended_early = True
                        return
            except KeyboardInterrupt:
                signals.handled()
                self.interrupted = True

    @property
    def _enough(self) -> bool:
        return self.most is not None and self.gathering.failing >= self.most

    def _is_done(self, event: Event, advance: Advance) -> bool:
        """Hear an event; tell whether a unit was done now."""
        from convcheck.plan.runner import Done
        from convcheck.pool.lane import Restarts

        if isinstance(event, Restarts):
            self.restarts = event.count
        elif not isinstance(event, Done):
            self.backend = event
        else:
            self.gathering.add(event.part)
            if not event.before:
                self.left -= 1
                name = event.unit.case.id
                self.seconds[name] = self.seconds.get(name, 0.0) + event.seconds
                advance(event.unit.span.count if event.unit.span else 0, self.gathering.failing)
                return True
        return False


def shared(plan: list[Unit], part: tuple[int, int] | None) -> tuple[list[Unit], Shard | None]:
    """Return what a shard has of a plan: every N-th of what is alike, so that the long specs are
    shared out.

    Raises UsageError for a shard that has none.
    """
    if part is None:
        return plan, None
    from convcheck.judge.result import Shard
    from convcheck.plan.deal import deal, hand_of, plan_digest

    index, of = part
    if index > len(plan):
        from convcheck.wording import plural

        parts = plural(len(plan), "part")
        hint = f"the run has {parts}: N can be that at most"
        raise UsageError(f"shard {index}/{of} has none of {parts}", hint=hint)
    hands = deal(plan, lambda unit: "" if unit.codes else hand_of(unit.case.id), of)
    digest = plan_digest([unit.id for unit in plan])
    return hands[index - 1], Shard(index, of, digest, shared_options())
