"""Run cases on backends, and keep results for a resumed run."""

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from itertools import chain
from pathlib import Path

import click

from convcheck import signals
from convcheck.backends.protocol import backend_names, is_class, open_backend, takes
from convcheck.causes.catalogue import causes_of
from convcheck.causes.gather import named_of
from convcheck.cli.options import RunOptions
from convcheck.cli.outputs import progress
from convcheck.documents.journal import Journal, open_journal
from convcheck.errors import UnavailableError, UsageError
from convcheck.judge.result import BackendInfo, Required, RunResult, Shard, Timing
from convcheck.numerics.format import Text
from convcheck.plan.runner import Done, Turn, run
from convcheck.plan.select import select
from convcheck.plan.selection import Selection
from convcheck.plan.units import Gathering, Unit, deal, hand_of, plan_digest, units
from convcheck.pool.lane import Restarts
from convcheck.pool.messages import Setup
from convcheck.records import replace
from convcheck.rules.causes import cause_files
from convcheck.rules.load import Catalog, data_dir
from convcheck.rules.model import Case
from convcheck.streams import plural, say
from convcheck.survey.survey import Known, OpenRows, survey
from convcheck.vectors.corpus import SWEPT, Corpus, is_sampled, open_corpus, read_words
from convcheck.vectors.model import Tier

# parameters that affect tested cases and their judgement
_SHARED = (
    "patterns", "sources", "targets", "where", "globs", "tier", "level", "seed", "samples",
    "consistency", "no_causes", "chains", "require",
)  # fmt: skip


@dataclass(frozen=True)
class Asking:
    """The tested cases and run options."""

    cases: Sequence[Case]
    corpus: Corpus
    options: RunOptions
    most: int | None = None  # the number of failing cases that ends the run
    part: tuple[int, int] | None = None  # K and N of a shard
    survey: bool = False  # whether to survey undefined and disputed behaviour instead of judging
    required: Required | None = None  # the requirement set of the cases, if any

    @property
    def plan(self) -> tuple[list[Unit], Shard | None]:
        """The units and the shard, if any.

        Units are dealt evenly to spread long specs. Raises UsageError for an empty shard.
        """
        whole = [Unit(case) for case in self.cases]  # surveys have no spans
        found = whole if self.survey else units(self.cases, self.corpus.spans)
        if self.part is None:
            return found, None
        index, of = self.part
        if index > len(found):
            parts = plural(len(found), "part")
            hint = f"the run has {parts}: N can be that at most"
            raise UsageError(f"shard {index}/{of} has none of {parts}", hint=hint)
        hands = deal(found, lambda unit: "" if unit.codes else hand_of(unit.case.id), of)
        digest = plan_digest([unit.id for unit in found])
        return hands[index - 1], Shard(index, of, digest, _shared_options())

    def of(self, backend: str) -> tuple[list[Unit], RunResult]:
        """Return the units and an empty run of a backend."""
        plan, shard = self.plan
        return plan, RunResult(
            BackendInfo(backend, "", backend), self.corpus.tier, self.options.level,
            self.corpus.digests(self.cases), (), shard=shard,
            own_inputs=self.corpus.words is not None, consistency=self.options.consistency,
            without_causes=self.options.no_causes, survey=self.survey, required=self.required,
        )  # fmt: skip

    def journal(self, backend: str, path: str) -> Journal:
        """Open or create a run's log, and print its state."""
        plan, asked = self.of(backend)
        journal = open_journal(path, asked, self.corpus.catalog.types.types, plan)
        click.get_current_context().call_on_close(journal.file.close)
        if journal.done:
            whole = "parts" if any(unit.codes for unit in plan) else "cases"
            say(f"{path}: {len(journal.done)} of {len(plan)} {whole} are done", err=True)
        return journal

    def ask(self, backend: str, journal: Journal | None = None) -> RunResult:
        """Run the units that are not in the journal.

        Raises UnavailableError, UsageError, or VectorError for damaged vectors.
        """
        plan, asked = self.of(backend)
        corpus = self.corpus.only(unit.case for unit in plan)
        setup = self._setup(backend, corpus)
        done = journal.done if journal else {}
        left = [unit for unit in plan if unit.id not in done]
        streamed, todo = any(unit.span for unit in left), len(left)
        gathering = Gathering(plan, corpus.conversion, self.options.level)
        for unit in plan:
            if unit.id in done:
                gathering.add(done[unit.id])
        began, begun = datetime.now(UTC), time.monotonic()
        info, notes, seconds = journal.backend if journal else None, list[str](), dict[str, float]()
        restarts, interrupted, ended_early = 0, False, False
        events = run(setup, left, self.options.jobs, self.options.executor)
        bar = progress(todo, backend, "part" if streamed else "case", streamed)
        with bar as advance, closing(events):
            try:
                first = next(events, None)
                # the workers are busy while the vector files are checked
                notes += self.corpus.check(list(dict.fromkeys(unit.case for unit in plan)))
                for event in chain([first] if first else [], events):
                    if isinstance(event, BackendInfo):
                        info = event
                        if journal:
                            journal.name(event)
                    elif isinstance(event, Restarts):
                        restarts = event.count
                    if not isinstance(event, Done):
                        continue
                    if journal:
                        journal.add(event.unit, event.part)
                    gathering.add(event.part)
                    todo -= 1
                    name, span = event.unit.case.id, event.unit.span
                    seconds[name] = seconds.get(name, 0.0) + event.seconds
                    advance(span.count if span else 0, gathering.failing)
                    if todo and self.most is not None and gathering.failing >= self.most:
                        ended_early = True
                        break
            except KeyboardInterrupt:
                signals.handled()
                interrupted = True
        results, parts = gathering.results(), gathering.parts(asked.shard is not None)
        return replace(
            asked,
            backend=replace(info or asked.backend, address=backend),
            cases=results,
            notes=(*notes, *self._notes()),
            interrupted=interrupted,
            restarts=restarts,
            parts=parts,
            ended_early=ended_early,
            timing=Timing(began, time.monotonic() - begun, seconds),
            causes=named_of(results, setup.causes, corpus.catalog.types, parts),
        )

    def _setup(self, backend: str, sent: Corpus) -> Setup:
        options, loaded = self.options, sent.catalog
        files = () if options.no_causes else cause_files(loaded)
        setup = Setup(backend, sent, None, options.timeout, options.consistency, loaded, files)
        if not self.survey:
            return setup
        judge = partial(survey, Known(loaded, causes_of(self.corpus.catalog)))
        return replace(setup, corpus=OpenRows(sent), judge=judge)

    def _notes(self) -> Iterator[str]:
        if self.options.samples:
            number = sum(map(is_sampled, self.cases))
            samples = plural(self.options.samples, "sample")
            yield f"{samples} of {plural(number, 'case')}, seed {self.options.seed}"
        asked_again = self.cases if self.options.consistency else ()
        if spanned := sum(bool(self.corpus.spans(case)) for case in asked_again):
            cases_of = plural(spanned, "case")
            yield f"consistency was checked on the vectors of {cases_of}, not on their spans"


def _shared_options() -> tuple[tuple[str, str], ...]:
    """Return the options that shards must share, as written. Flags are ''."""
    context, found = click.get_current_context(), []
    for parameter in context.command.params:
        given = context.params.get(parameter.name or "")
        if parameter.name in _SHARED and given not in (None, (), False):
            name = parameter.opts[0] if isinstance(parameter, click.Option) else "SPEC"
            words = given if isinstance(given, tuple) else ("",) if given is True else (given,)
            found.append((name, " ".join(map(str, words))))
    return tuple(found)


def kept_until_done(journals: Sequence[Journal], code: int, keeps: Sequence[int]) -> int:
    """Remove the journals unless `keeps` has the exit code. Return the code."""
    for journal in journals:
        if code in keeps:
            say(f"the same command continues from {journal.path}", err=True)
        else:
            journal.remove()
    return code


def each(
    addresses: Sequence[str], ask: Callable[[str], RunResult], ends: Callable[[RunResult], bool]
) -> list[Turn]:
    """Run backends in order until `ends` is true.

    Raises UsageError for an unknown backend before the first run.
    """
    for address in addresses:
        if address.partition(":")[0] not in backend_names() and not is_class(address):
            open_backend(address)  # raises an error with all names
    turns: list[Turn] = []
    for address in dict.fromkeys(addresses):
        try:
            turns.append(Turn(address, ask(address)))
        except UnavailableError as error:
            said = "; ".join(filter(None, (error.message, error.hint)))
            turns.append(Turn(address, None, said))
        done = turns[-1].run
        if done is not None and ends(done):
            break
    return turns


def selected(
    loaded: Catalog, selection: Selection, backends: Sequence[str], tier: Tier = "edge"
) -> list[Case]:
    """Select cases of a tier, without specs from those of the backends, else from all."""
    if not selection.specs:
        own = tuple(s.id for s in loaded.specs.values() if any(takes(b, s) for b in backends))
        with contextlib.suppress(UsageError):
            return select(loaded, replace(selection, specs=own), tier)
    return select(loaded, selection, tier)


def cases_and_corpus(
    loaded: Catalog, selection: Selection, backends: Sequence[str], options: RunOptions
) -> tuple[list[Case], Corpus]:
    """Return the cases of a run, and their vectors. Raises UsageError."""
    cases = selected(loaded, selection, backends, options.tier)
    corpus = corpus_of_run(loaded, options, cases)
    return _without_wide(cases) if options.tier == "exhaustive" else cases, corpus


def corpus_of_run(loaded: Catalog, options: RunOptions, cases: Sequence[Case]) -> Corpus:
    """Open the vectors of a run. Raises UsageError for wrong --inputs or --samples."""
    if options.samples and (options.inputs is not None or options.tier != "boundary"):
        given = "--inputs" if options.inputs is not None else f"--tier {options.tier}"
        hint = "--tier boundary --samples 1000000"
        raise UsageError(f"--samples does not go with {given}", hint=hint)
    corpus = open_corpus(loaded, options.tier, options.seed, data_dir("vectors"))
    if options.inputs is None:
        return replace(corpus, sweeps=True, samples=options.samples)
    sources = {case.inputs[0] for case in cases}
    whole = [case.whole_calls for case in cases]
    if all(whole) or (any(whole) and len(sources) == 1):
        hint = "choose such a SPEC; `convcheck explain` asks one call of the others"
        raise UsageError("--inputs is for operators that convert elements", hint=hint)
    if len(sources) > 1:
        names = ", ".join(sorted(t.name for t in sources))
        hint = f"choose one source with --from; selected are {names}"
        raise UsageError("--inputs has bit patterns of one type", hint=hint)
    return replace(corpus, words=read_words(Path(options.inputs), sources.pop().format))


def _without_wide(cases: list[Case]) -> list[Case]:
    wide = {
        case: case.inputs[0].name
        for case in cases
        if not case.whole_calls
        if not isinstance(fmt := case.inputs[0].format, Text) and fmt.bits > SWEPT
    }
    names = ", ".join(sorted(set(wide.values())))
    said = f"no machine asks all 2^64 bit patterns of {names}"
    hint = (
        "--tier boundary asks every rounding boundary of destinations up to 16 bits, and so "
        "proves a conversion that is constant between two of them; --samples N adds as many "
        "samples as there is time for"
    )
    left = [case for case in cases if case not in wide]
    if wide and not left:
        raise UsageError(said, hint=f"{hint}; or choose other sources: --from float32")
    if wide:
        say(f"left out: {plural(len(wide), 'case')}; {said}; {hint}", err=True)
    return left
