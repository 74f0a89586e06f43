"""How cases are asked: the options that commands share which put vectors to a backend."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from convcheck.cli.options import count
from convcheck.errors import UsageError

if TYPE_CHECKING:
    from convcheck.cli.progress import Advance
    from convcheck.report.journal import Journal
    from convcheck.run.gather import Gathering, Unit
    from convcheck.run.lane import Report
    from convcheck.run.messages import Job, Setup
    from convcheck.run.result import BackendInfo, RunResult, Shard
    from convcheck.spec.load import Catalog
    from convcheck.spec.model import Case, Level
    from convcheck.vectors.corpus import Corpus
    from convcheck.vectors.model import Tier


@dataclass(frozen=True)
class Asking:
    """What the options say. `timeout` is in seconds; `jobs` is None for one worker a core."""

    tier: Tier
    level: Level
    jobs: int | None
    timeout: float
    seed: int
    max_elements: int
    inputs: str | None
    samples: int
    executor: str | None
    consistency: bool
    no_progress: bool


_OPTIONS = (
    click.option(
        "--tier",
        type=click.Choice(["edge", "boundary", "exhaustive"]),
        default="edge",
        show_default=True,
        help="How many inputs: the notable ones; every rounding boundary; "
        "every bit pattern of sources up to 32 bits.",
    ),
    click.option(
        "--level",
        default="disputed",
        show_default=True,
        type=click.Choice(["normative", "implied", "disputed"]),
        help="Fail on rules of this level and stronger.",
    ),
    click.option("--jobs", "-j", type=click.IntRange(1), help="Worker processes; one per core."),
    click.option(
        "--timeout",
        type=click.FloatRange(0.1),
        default=30.0,
        show_default=True,
        help="Seconds that one call of the backend may take.",
    ),
    click.option(
        "--seed",
        type=click.IntRange(0),
        default=0,
        show_default=True,
        help="Seed of the random part of the inputs.",
    ),
    click.option(
        "--max-elements",
        type=click.IntRange(1),
        envvar="CONVCHECK_MAX_ELEMENTS",
        default=1 << 24,
        show_default=True,
        help="The largest output that is asked for, or fetched.",
    ),
    click.option("--inputs", metavar="FILE", help="Your own bit patterns, hex, one a line."),
    click.option(
        "--samples",
        callback=count(0, 10**12),
        default="0",
        metavar="N",
        help="With --tier boundary: N samples as well of every source that is too wide to be asked "
        "whole, of each binade and near every tie.",
    ),
    click.option(
        "--executor", metavar="URL", help="Workers of a Dask cluster, dask://HOST:PORT, ask."
    ),
    click.option(
        "--consistency",
        is_flag=True,
        help="Ask again at other places, in other lengths and under other options: the bits must "
        "be the same.",
    ),
    click.option("--no-progress", is_flag=True, help="Show no progress, on a terminal either."),
)


def asking_options(function: Callable[..., int]) -> Callable[..., int]:
    """Add the options; the command gets them as `asking`."""

    @functools.wraps(function)
    def packed(**given: Any) -> int:
        asking = Asking(**{f.name: given.pop(f.name) for f in fields(Asking)})
        return function(asking=asking, **given)

    for option in reversed(_OPTIONS):
        packed = option(packed)
    return packed


def corpus_of_run(loaded: Catalog, asking: Asking, cases: Sequence[Case]) -> Corpus:
    """Open the vectors of a run, and have workers know the largest output.

    Raises UsageError for inputs of one's own that do not go with the cases.
    """
    from dataclasses import replace

    from convcheck.backends.protocol import LIMIT_VARIABLE
    from convcheck.spec.load import data_dir
    from convcheck.vectors.corpus import open_corpus, read_words

    os.environ[LIMIT_VARIABLE] = str(asking.max_elements)
    if asking.samples and (asking.inputs is not None or asking.tier != "boundary"):
        given = "--inputs" if asking.inputs is not None else f"--tier {asking.tier}"
        hint = "--tier boundary --samples 1000000"
        raise UsageError(f"--samples does not go with {given}", hint=hint)
    corpus = open_corpus(loaded, asking.tier, asking.seed, data_dir("vectors"))
    if asking.inputs is None:
        if asking.tier == "exhaustive":
            _refuse_wide(cases)
        return replace(corpus, sweeps=True, samples=asking.samples)
    sources = {case.inputs[0] for case in cases}
    whole = [case.whole_calls for case in cases]
    if all(whole) or (any(whole) and len(sources) == 1):
        hint = "choose such a SPEC; `convcheck explain` asks one call of the others"
        raise UsageError("--inputs is for operators that convert elements", hint=hint)
    if len(sources) > 1:
        names = ", ".join(sorted(t.name for t in sources))
        hint = f"choose one source with --from; selected are {names}"
        raise UsageError("--inputs has bit patterns of one type", hint=hint)
    return replace(corpus, words=read_words(Path(asking.inputs), sources.pop().format))


def _refuse_wide(cases: Sequence[Case]) -> None:
    """Refuse to ask every bit pattern of 64 bits."""
    from convcheck.numerics.format import Text
    from convcheck.vectors.span import SWEPT

    sources = {case.inputs[0].name: case.inputs[0].format for case in cases if not case.whole_calls}
    numbers = {name: fmt for name, fmt in sources.items() if not isinstance(fmt, Text)}
    wide = sorted(name for name, fmt in numbers.items() if fmt.bits > SWEPT)
    if wide:
        raise UsageError(
            f"--tier exhaustive: {', '.join(wide)} {'has' if len(wide) == 1 else 'have'} 2^64 bit "
            "patterns, which no machine asks in a century",
            hint="--tier boundary asks every rounding boundary of destinations up to 16 bits, and "
            "so proves a conversion that is constant between two of them, and --samples N adds as "
            "many samples as there is time for; or choose other sources: --from float32",
        )


def ask_run(
    backend: str,
    cases: Sequence[Case],
    corpus: Corpus,
    asking: Asking,
    *,
    most_failures: int | None = None,
    part: tuple[int, int] | None = None,
    journal: Journal | None = None,
) -> RunResult:
    """Put the cases to a backend, with progress, and judge.

    What the journal has is not asked again. `part` is the shard asked. The run ends when there are
    `most_failures` failing cases. Raises UnavailableError or UsageError where the backend cannot
    be opened.
    """
    from convcheck.cli.progress import progress
    from convcheck.run.gather import Gathering, units
    from convcheck.run.result import BackendInfo, RunResult

    plan, shard = shared(units(cases, corpus.spans), part)
    gathering = Gathering(plan, corpus.conversion)
    notes = corpus.check(list(dict.fromkeys(unit.case for unit in plan)))
    done = journal.done if journal else {}
    for unit in plan:
        if unit.id in done:
            gathering.add(done[unit.id])
    left = [unit for unit in plan if unit.id not in done]
    values = sum(unit.span.count for unit in left if unit.span)
    with progress(len(left), backend, values, hidden=asking.no_progress) as advance:
        run = _Run(gathering, journal, advance, most_failures)
        run.ask(backend, left, corpus, asking)
    info = run.backend or (journal.backend if journal else None) or BackendInfo(backend, "")
    return RunResult(
        info, corpus.tier, asking.level, corpus.digests(cases), gathering.results(),
        (*notes, *_notes(asking, cases)), run.interrupted, run.restarts, shard,
        own_inputs=corpus.words is not None, parts=gathering.parts(),
    )  # fmt: skip


def _notes(asking: Asking, cases: Sequence[Case]) -> Iterator[str]:
    """Say what was asked beyond, or not in, the tier."""
    from convcheck.report.words import plural
    from convcheck.vectors.span import is_sampled

    if asking.samples:
        number = sum(map(is_sampled, cases))
        yield f"{asking.samples:,} samples of {plural(number, 'case')}, seed {asking.seed}"


class _Run:
    """Hears the reports of a run."""

    def __init__(
        self, gathering: Gathering, journal: Journal | None, advance: Advance, most: int | None
    ) -> None:
        self.gathering, self.journal, self.advance, self.most = gathering, journal, advance, most
        self.backend: BackendInfo | None = None
        self.restarts, self.interrupted = 0, False

    def ask(self, backend: str, plan: Sequence[Unit], corpus: Corpus, asking: Asking) -> None:
        """Ask units until all are done, there are enough failures, or Ctrl-C."""
        from contextlib import closing

        from convcheck.run.execute import prepare, to_stderr
        from convcheck.run.messages import Job, Setup

        if not asking.executor:
            prepare(backend, to_stderr)
        setup = Setup(backend, corpus, None, asking.timeout, asking.consistency)
        jobs = [Job(i, u.case, span=u.span, main=u.main) for i, u in enumerate(plan)]
        with closing(_reports(setup, jobs, asking)) as reports:
            try:
                for report in reports:
                    self._hear(report, plan)
                    if self.most is not None and self.gathering.failing >= self.most:
                        return
            except KeyboardInterrupt:
                self.interrupted = True

    def _hear(self, report: Report, plan: Sequence[Unit]) -> None:
        from convcheck.run.gather import part_of
        from convcheck.run.lane import Reported, Restarts

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


def _reports(setup: Setup, jobs: Sequence[Job], asking: Asking) -> Generator[Report, None, None]:
    """Choose who does the jobs."""
    if asking.executor:
        from convcheck.run.cluster import on_cluster

        return on_cluster(asking.executor, setup, jobs, asking.timeout)
    from convcheck.run.execute import locally

    return locally(setup, jobs, asking.jobs or os.cpu_count() or 1, asking.timeout)


def shared(plan: list[Unit], part: tuple[int, int] | None) -> tuple[list[Unit], Shard | None]:
    """Give the units of a shard: every N-th, so that the long specs are shared out.

    Raises UsageError for a shard that has none.
    """
    if part is None:
        return plan, None
    from convcheck.run.merge import plan_digest
    from convcheck.run.result import Shard

    index, of = part
    if index > len(plan):
        hint = f"at most {len(plan)} shards"
        raise UsageError(f"shard {index}/{of} of {len(plan)} parts has none", hint=hint)
    return plan[index - 1 :: of], Shard(index, of, plan_digest([unit.id for unit in plan]))
