"""How cases are asked: the options that commands share which put vectors to a backend."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from convcheck.errors import UsageError

if TYPE_CHECKING:
    from convcheck.report.journal import Journal
    from convcheck.run.result import RunResult, Shard
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
    no_progress: bool


_OPTIONS = (
    click.option(
        "--tier",
        type=click.Choice(["edge", "boundary", "exhaustive"]),
        default="edge",
        show_default=True,
        help="How many inputs: the notable ones; every rounding boundary; "
        "every bit pattern of sources up to 16 bits.",
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
    corpus = open_corpus(loaded, asking.tier, asking.seed, data_dir("vectors"))
    if asking.inputs is None:
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
    return replace(corpus, words=read_words(Path(asking.inputs), sources.pop().format))


def ask_run(
    backend: str,
    cases: Sequence[Case],
    corpus: Corpus,
    asking: Asking,
    *,
    fail_fast: bool = False,
    shard: Shard | None = None,
    journal: Journal | None = None,
) -> RunResult:
    """Put the cases to a backend, with progress, and judge.

    What the journal has is not asked again. Raises UnavailableError or UsageError where the
    backend cannot be opened.
    """
    from convcheck.cli.progress import progress
    from convcheck.run.execute import execute
    from convcheck.run.result import FAILURES, CaseResult, RunResult

    done = journal.done if journal else {}
    left = [case for case in cases if case.id not in done]
    notes = corpus.check(left)

    with progress(len(left), backend, hidden=asking.no_progress) as advance:

        def hear(result: CaseResult) -> None:
            if journal:
                journal.add(result)
            advance(result.verdict in FAILURES)

        ran = execute(
            backend, left, corpus,
            jobs=asking.jobs or os.cpu_count() or 1, timeout=asking.timeout, fail_fast=fail_fast,
            on_result=hear, on_backend=journal.name if journal else None,
        )  # fmt: skip
    found = {**done, **{result.case.id: result for result in ran.results}}
    results = tuple(found[case.id] for case in cases if case.id in found)
    info = ran.backend if left or not journal or not journal.backend else journal.backend
    return RunResult(
        info, corpus.tier, asking.level, corpus.digests(cases), results,
        notes, ran.interrupted, ran.restarts, shard, own_inputs=corpus.words is not None,
    )  # fmt: skip
