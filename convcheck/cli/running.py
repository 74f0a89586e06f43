"""A run: units are asked, results gathered, and kept for a run that is killed to go on."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator, Sequence
from typing import TYPE_CHECKING

from convcheck.cli.asking import Asking
from convcheck.errors import UsageError

if TYPE_CHECKING:
    from convcheck.ask.jobs import Job
    from convcheck.cli.progress import Advance
    from convcheck.judge.result import BackendInfo, RunResult, Shard
    from convcheck.plan.units import Gathering, Unit
    from convcheck.pool.lane import Report
    from convcheck.pool.messages import Setup
    from convcheck.report.json.journal import Journal
    from convcheck.rules.model import Case
    from convcheck.vectors.corpus import Corpus


def ask_run(
    backend: str,
    cases: Sequence[Case],
    corpus: Corpus,
    asking: Asking,
    *,
    most: int | None = None,
    part: tuple[int, int] | None = None,
    journal: Journal | None = None,
) -> RunResult:
    """Put the cases to a backend, with progress, and judge.

    What the journal has is not asked again. `part` is the shard asked. The run ends when there are
    `most` failing cases. Raises UnavailableError or UsageError where the backend cannot
    be opened.
    """
    from convcheck.cli.progress import progress
    from convcheck.judge.result import BackendInfo, RunResult
    from convcheck.plan.units import Gathering, units

    plan, shard = shared(units(cases, corpus.spans), part)
    gathering = Gathering(plan, corpus.conversion, asking.level)
    notes = corpus.check(list(dict.fromkeys(unit.case for unit in plan)))
    done = journal.done if journal else {}
    for unit in plan:
        if unit.id in done:
            gathering.add(done[unit.id])
    left = [unit for unit in plan if unit.id not in done]
    values = sum(unit.span.count for unit in left if unit.span)
    with progress(len(left), backend, values, hidden=asking.no_progress) as advance:
        run = _Run(gathering, journal, advance, most)
        run.ask(backend, left, corpus, asking)
    info = run.backend or (journal.backend if journal else None) or BackendInfo(backend, "")
    return RunResult(
        info, corpus.tier, asking.level, corpus.digests(cases), gathering.results(),
        (*notes, *_notes(asking, corpus, cases)), run.interrupted, run.restarts, shard,
        own_inputs=corpus.words is not None, parts=gathering.parts(shard is not None),
        ended_early=run.ended_early, consistency=asking.consistency,
    )  # fmt: skip


def _notes(asking: Asking, corpus: Corpus, cases: Sequence[Case]) -> Iterator[str]:
    """Say what was asked beyond, or not in, the tier."""
    from convcheck.judge.words import plural
    from convcheck.vectors.span import is_sampled

    if asking.samples:
        number = sum(map(is_sampled, cases))
        yield f"{asking.samples:,} samples of {plural(number, 'case')}, seed {asking.seed}"
    spanned = sum(bool(corpus.spans(case)) for case in cases) if asking.consistency else 0
    if spanned:
        cases_of = plural(spanned, "case")
        yield f"consistency was asked of the vectors of {cases_of}, not of their spans"


class _Run:
    """Hears the reports of a run."""

    def __init__(
        self, gathering: Gathering, journal: Journal | None, advance: Advance, most: int | None
    ) -> None:
        self.gathering, self.journal, self.advance, self.most = gathering, journal, advance, most
        self.backend: BackendInfo | None = None
        self.restarts, self.interrupted, self.ended_early = 0, False, False

    def ask(self, backend: str, plan: Sequence[Unit], corpus: Corpus, asking: Asking) -> None:
        """Ask units until all are done, there are enough failures, or Ctrl-C."""
        from contextlib import closing

        from convcheck.ask.jobs import Job
        from convcheck.pool.local import prepare, to_stderr
        from convcheck.pool.messages import Setup

        sent = corpus.only(unit.case for unit in plan)
        if not asking.executor:
            prepare(backend, to_stderr)
        setup = Setup(backend, sent, None, asking.timeout, asking.consistency, catalog=sent.catalog)
        jobs = [Job(i, u.case, span=u.span, main=u.main) for i, u in enumerate(plan)]
        left = len(jobs)
        with closing(_reports(setup, jobs, asking)) as reports:
            try:
                for report in reports:
                    left -= self._hear(report, plan)
                    enough = self.most is not None and self.gathering.failing >= self.most
                    if enough and left:
                        self.ended_early = True
                        return
            except KeyboardInterrupt:
                self.interrupted = True

    def _hear(self, report: Report, plan: Sequence[Unit]) -> bool:
        """Hear a report; tell whether a unit is done."""
        from convcheck.plan.units import part_of
        from convcheck.pool.lane import Reported, Restarts

        if isinstance(report, Restarts):
            self.restarts = report.count
        elif isinstance(report, Reported):
            unit = plan[report.position]
            part = part_of(unit, report.result)
            self.gathering.add(part)
            if self.journal:
                self.journal.add(unit, part)
            self.advance(unit.span.count if unit.span else 0, self.gathering.failing)
        else:
            self.backend = report
            if self.journal:
                self.journal.name(report)
        return isinstance(report, Reported)


def _reports(setup: Setup, jobs: Sequence[Job], asking: Asking) -> Generator[Report, None, None]:
    """Choose who does the jobs."""
    if asking.executor:
        from convcheck.pool.dask import on_cluster

        return on_cluster(asking.executor, setup, jobs, asking.timeout)
    from convcheck.pool.local import locally

    return locally(setup, jobs, asking.jobs or os.cpu_count() or 1, asking.timeout)


def shared(plan: list[Unit], part: tuple[int, int] | None) -> tuple[list[Unit], Shard | None]:
    """Give the units of a shard: every N-th, so that the long specs are shared out.

    Raises UsageError for a shard that has none.
    """
    if part is None:
        return plan, None
    from convcheck.judge.result import Shard
    from convcheck.plan.merge import plan_digest

    index, of = part
    if index > len(plan):
        hint = f"at most {len(plan)} shards"
        raise UsageError(f"shard {index}/{of} of {len(plan)} parts has none", hint=hint)
    return plan[index - 1 :: of], Shard(index, of, plan_digest([unit.id for unit in plan]))
