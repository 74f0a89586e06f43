"""The process in which a backend lives: asks, judges, and sends each result back at once."""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import inf
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from convcheck.ask.again import Questions, consistent
from convcheck.ask.again_calls import CallsAgain
from convcheck.ask.again_elements import ElementsAgain
from convcheck.ask.calls import ask_calls
from convcheck.ask.chains import (
    ALONE,
    CastsAlone,
    ask_alone,
    in_sequence,
    open_where_wrong,
    own_results,
)
from convcheck.ask.elements import ask, inputs_at
from convcheck.ask.heap import keep_heap
from convcheck.ask.isolated import OTHERS, chunk_vectors
from convcheck.ask.jobs import Job
from convcheck.ask.options import configured, options_of
from convcheck.ask.siblings import Siblings, is_as_before, with_others
from convcheck.ask.span import ask_span
from convcheck.ask.type_only import companion
from convcheck.backends.checked import (
    LONGEST_NAME,
    AnswerError,
    bounded,
    checked_answer,
    checked_support,
)
from convcheck.backends.protocol import (
    TIMEOUT_VARIABLE,
    Answer,
    Backend,
    Bound,
    Declined,
    DiedError,
    Outputs,
    ProtocolError,
    Raised,
    answers_of,
    bound,
    graph_options,
    last_words,
    modules_of,
    open_backend,
)
from convcheck.errors import ConvcheckError, SpecError, UnavailableError, in_a_line
from convcheck.judge.answers import (
    ANOTHER,
    ANSWERED,
    EVERYWHERE,
    NOT_ASKED,
    TELLING,
    Answers,
    Avoid,
    CallAnswers,
    Fault,
    Index,
)
from convcheck.judge.calls import tally_of_calls
from convcheck.judge.elements import tally_of, tally_of_case
from convcheck.judge.form import form_complaint
from convcheck.judge.refusals import cannot_be_put
from convcheck.judge.result import FAILURES, BackendInfo, CaseDiagnosis, CaseResult, Fit, Group
from convcheck.judge.tally import MAIN, Tally, finish_whole, unsupported
from convcheck.numerics.codes import Bits, Codes
from convcheck.pool.limits import Limits
from convcheck.pool.messages import (
    Conversions,
    Finished,
    Lost,
    Message,
    Notes,
    Opened,
    Replay,
    Setup,
    Survived,
    VectorSource,
    aborted,
    codec_for,
    spent_said,
    time_is_spent,
)
from convcheck.rules.model import Case
from convcheck.vectors.model import CallSet, Vectors, VectorSet
from convcheck.vectors.span import Span

if TYPE_CHECKING:
    from convcheck.causes.held import Held
    from convcheck.causes.pair_search import PairSearch
    from convcheck.causes.search import Search
    from convcheck.chains.asked import ChainCorpus
    from convcheck.rules.load import Catalog

NOTHING = np.zeros(0, np.intp)
_END = object()
A = TypeVar("A", Answers, CallAnswers)


def serve_parent(address: str, pipe: int, notes: int) -> None:
    """Serve the parent at the other end of a pipe until it closes that, or what answers has died.

    The calls that are made are noted in the file that has the descriptor `notes`.
    """
    _give_way()
    keep_heap()
    connection = Connection(pipe)
    for name in modules_of(address):
        with contextlib.suppress(Exception):  # whatever is wrong shows when it is opened
            importlib.import_module(name)
    with contextlib.suppress(EOFError, ConnectionError):  # the parent has what it wants, or is gone
        setup = connection.recv()
        parent = _Parent(setup, connection)
        os.environ[TIMEOUT_VARIABLE] = str(setup.timeout)  # where the backend sees it
        try:
            backend = _open(setup, parent)
            gc.freeze()  # setup and runtime stay for good
            if backend is not None:
                takes_graphs = graph_options(setup.address) is not None
                watched = _Watched(backend, Notes(notes), takes_graphs)
                _serve(_Worker(setup, watched, parent))
        except DiedError as error:
            parent.tell(Lost(bounded(str(error.how)), error.timed_out, error.printed))
        except SpecError as error:
            parent.tell(aborted(error))


class _Parent:
    """The parent: its orders are objects, but to it only data goes."""

    def __init__(self, setup: Setup, connection: Connection) -> None:
        self._connection, self._codec = connection, codec_for(setup.judge)

    def orders(self) -> Any:
        return self._connection.recv()

    def tell(self, message: Message) -> None:
        self._connection.send_bytes(self._codec.encode(message))


def _serve(worker: _Worker) -> None:
    while worker.serve(worker.parent.orders()):
        _empty_log()


def _give_way() -> None:
    """Do not push in for each answer of a served backend."""
    if hasattr(os, "SCHED_BATCH"):
        with contextlib.suppress(OSError):
            os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))


def _empty_log() -> None:
    """Keep the log to what was printed about the case at hand."""
    with contextlib.suppress(OSError):
        os.ftruncate(2, 0)


def _open(setup: Setup, parent: _Parent) -> Backend | None:
    try:
        backend = open_backend(setup.address, setup.catalog)
        parent.tell(Opened(_info(backend), _imports(backend)))
    except DiedError:
        raise
    except ConvcheckError as error:
        parent.tell(aborted(error))
    except BaseException as error:  # whatever a runtime raises when it is loaded
        said = bounded(last_words(error))
        message = f"backend {setup.address!r} could not be started: {said}"
        parent.tell(aborted(UnavailableError(message)))
    else:
        return backend
    return None


def _info(backend: Backend) -> BackendInfo:
    name, version = (bounded(str(said), LONGEST_NAME) for said in (backend.name, backend.version))
    return BackendInfo(name, version)


def _imports(backend: Backend) -> tuple[str, ...]:
    named = getattr(backend, "imports", ())
    return tuple(map(str, named)) if isinstance(named, tuple) else ()


class _Watched:
    """A backend whose calls are noted while they last. One that dies is still in its call.

    It is `broken` once it raised, or says that it is `spoiled` by what its runtime raised. Chains
    are put to it cast by cast unless it `takes_graphs`.
    """

    def __init__(self, backend: Backend, notes: Notes, takes_graphs: bool = False) -> None:
        self.name, self.version = backend.name, backend.version
        self._backend, self.notes, self._takes_graphs = backend, notes, takes_graphs
        self._own_fault = False
        self._others: list[_Watched] = []
        self._supported: tuple[Case, Declined | None] | None = None  # of the case asked last

    @property
    def broken(self) -> bool:
        return self._own_fault or any(other.broken for other in self._others)

    @property
    def options(self) -> Mapping[str, tuple[str, ...]]:
        return options_of(self._backend)

    def configured(self, choice: Mapping[str, str]) -> Backend:
        """Return the same backend with other options, watched like this one."""
        other = _Watched(configured(self._backend, choice), self.notes)
        self._others = [*(o for o in self._others if o.broken), other]
        return cast(Backend, other)

    def _look(self) -> None:
        self._own_fault = self._own_fault or bool(getattr(self._backend, "spoiled", False))

    def support(self, case: Case) -> Declined | None:
        """Return what the backend says of a case, which it is asked once in a row."""
        if self._supported is None or self._supported[0] is not case:
            self._supported = case, self._support(case)
        return self._supported[1]

    def _support(self, case: Case) -> Declined | None:
        self.notes.begin("support", NOTHING)
        with self:
            each = case.hops if case.hops and not self._takes_graphs else (case,)
            each = tuple(one.call for one in each)
            found = next(filter(None, map(self._backend.support, each)), None)
        return checked_support(found)

    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        def made() -> Answer:
            if case.hops and not self._takes_graphs:
                return in_sequence(self._backend, case, inputs)
            return self._backend.answer(case.call, inputs)

        return cast(Answer, self._called(made, case))

    def answers(self, case: Case, questions: Iterable[Sequence[Bits]]) -> Iterator[Answer]:
        if not callable(getattr(self._backend, "answers", None)):
            yield from (self.answer(case, inputs) for inputs in questions)
            return
        found = answers_of(self._backend, case.call, questions)
        while True:
            with self:
                answer = next(found, _END)
            if answer is _END:
                return
            self._look()
            yield checked_answer(answer, case)

    def bind(self, case: Case, codes: Codes, out: Codes) -> Bound:
        self.notes.begin("support", NOTHING)
        with self:
            call = bound(self._backend, case, codes, out)
        return lambda: self._called(call, case, is_bound=True)

    def _called(self, call: Bound, case: Case, is_bound: bool = False) -> Answer | None:
        """Return what a call returns, Raised if the adapter raises. A program that breaks its
        protocol does not answer any more: that is raised.
        """
        try:
            with self:
                answer = call()
            self._look()
            return None if answer is None and is_bound else checked_answer(answer, case)
        except (DiedError, SpecError, ProtocolError):
            raise
        except AnswerError as error:
            return Raised(f"no answer: {error}")
        except BaseException as error:  # SystemExit too
            return Raised(bounded(last_words(error)))

    def __enter__(self) -> None:
        """Begin a call; that it lasts was noted before."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: object
    ) -> None:
        """Note that the call came back, unless what answers has died of it."""
        if kind is not None and issubclass(kind, DiedError):
            return
        self.notes.end()
        self._own_fault = self._own_fault or kind is not None


def is_failing(result: CaseResult | Tally) -> bool:
    """Return whether something of a result is wrong."""
    return result.failing if isinstance(result, Tally) else result.verdict in FAILURES


class _Worker:
    """Does what it is told with one backend."""

    def __init__(self, setup: Setup, backend: _Watched, parent: _Parent) -> None:
        self.corpus: VectorSource = setup.corpus
        self.judge, self.consistency = setup.judge, setup.consistency
        self.backend, self.parent = backend, parent
        self.limits, self.timeout = Limits(), setup.timeout
        self.spent = 0.0  # seconds, by calls of the case before
        self.unmade: tuple[str, Index] | None = None  # the first call that there was no time for
        self.answers: dict[str, bool] = {}  # whether the backend answers a case, by its id
        self.siblings = Siblings()
        self.catalog, self.causes = setup.catalog, setup.causes
        self.every_cause = setup.every_cause
        self.search: Search | None = None  # made when something fails
        self.pairs: PairSearch | None = None  # made when a pair does
        self.fits: tuple[str, tuple[Fit, ...] | None] = ("", None)  # of a case, by its id
        # of a chain, by its id without a setting, whether other casts may be made instead, and
        # whether its input is a constant
        self.hops: dict[tuple[str, bool, bool], CastsAlone] = {}

    def begin(self, placement: str, index: Index) -> bool:
        """Note a call; where the case has no time left for it, tell that it is not to be made."""
        if time_is_spent(self.spent + self.backend.notes.spent(), self.timeout):
            self.unmade = self.unmade or (placement, index)
            return True
        self.backend.notes.begin(placement, index)
        return False

    def count_from(self, spent: float) -> None:
        """Begin with the calls of a case, on which so many seconds were spent before."""
        self.spent, self.unmade = spent, None
        self.backend.notes.clear()

    def serve(self, request: Sequence[Job] | Replay) -> bool:
        """Do one request; False where the backend is not to be used any more."""
        if isinstance(request, Replay):
            self.count_from(request.spent)
            self.replay(request)
            self.parent.tell(Survived())
            return True
        return all(self.serve_job(job) for job in request)

    def serve_job(self, job: Job) -> bool:
        _empty_log()
        self.siblings.doubt = None
        # a span has as many calls as it needs
        self.count_from(-inf if job.span else job.spent)
        try:
            result = self.result(job)
        except (DiedError, SpecError):  # a hole of a spec is no fault of the backend's
            raise
        except AnswerError as error:
            result = CaseResult(job.case, "error", 0, "edge", (), f"no answer: {error}")
        except BaseException as error:  # SystemExit too: an adapter's fault costs its case only
            result = CaseResult(job.case, "error", 0, "edge", (), bounded(last_words(error)))
        # what it was told of ahead, and nobody took, it may still answer
        leaving = self.limits.were_lowered() or self.backend.broken or self.unmade is not None
        doubt = self.siblings.doubt if is_failing(result) and job.before is None else None
        self.parent.tell(Finished(result, leaving=leaving, doubt=doubt))
        return not leaving

    def result(self, job: Job) -> CaseResult | Tally:
        if job.span is not None:
            return self.spanned(job, job.span)
        # another judge wants to see what was declined; and it may have died of being asked that
        if self.judge is None and not job.died:
            declined = self.backend.support(job.case)
            if declined is not None and cannot_be_put(declined):
                self.answers[job.case.id] = False
                return unsupported("edge", declined.message)
        vectors = self.corpus.vectors(job.case)
        if isinstance(vectors, CallSet):
            return self.called(job, vectors)
        if job.case.hops:
            return self.chained(job, vectors)
        thorough = partial(self.is_latest, job, vectors)
        suspected, avoid = self.siblings.refused(vectors), job.avoid
        if job.case.fixed:  # which has one shape; its other layouts are asked as whole calls
            avoid = Avoid(avoid.together, avoid.placements | OTHERS, avoid.faults)
        answers = ask(self.backend, vectors, self.begin, job.skip, avoid, thorough, suspected)
        self.answers[job.case.id] = bool(np.count_nonzero(answers.state == ANSWERED))
        self.siblings.add(vectors, answers)
        if job.before is not None:
            answers = with_others(answers, job.before)
        if self.judge is not None:
            return self.judge(vectors, self.in_time(answers))
        more: tuple[Group, ...] = ()
        if self.consistency and not answers.declined:
            more = self.consistent(job, ElementsAgain(vectors, answers))
        answers = self.in_time(answers)
        if job.main is None or answers.declined:
            tally = tally_of_case(vectors, answers, more)
            return tally if more else self.diagnosed(tally, vectors, answers, job)
        tally = tally_of(vectors, answers, job.main, more)
        if self.siblings.doubt is not None and job.before is None:
            return tally
        fitted = self.fitting(job, vectors, answers, tally)
        return tally if more else fitted

    def chained(self, job: Job, vectors: VectorSet) -> Tally:
        """Ask a chain, of which only that is judged of which each cast alone is right."""
        alone = self.alone(job, vectors)
        if alone.declined:
            return unsupported(vectors.coverage, alone.declined)
        vectors = open_where_wrong(vectors, alone.right)
        avoid = Avoid(job.avoid.together, job.avoid.placements | OTHERS, job.avoid.faults)
        answers = self.in_time(ask(self.backend, vectors, self.begin, job.skip, avoid))
        tally = tally_of_case(vectors, answers)
        if tally.whole and not alone.right.any():
            tally = replace(tally, whole=replace(tally.whole, message=ALONE))
        return self.diagnosed(tally, vectors, answers, job)

    def alone(self, job: Job, vectors: VectorSet) -> CastsAlone:
        """Return how the backend does at the casts of a chain alone, and at those that may be made
        instead: they are asked once for all settings of which the same is said.
        """
        if job.avoid.placements >= EVERYWHERE:  # given up, after the casts were asked
            return CastsAlone(np.ones(len(vectors), bool))
        if TELLING in job.avoid.placements:
            return CastsAlone(np.zeros(0, bool), f"{ALONE}: it is deadly")
        corpus = cast("ChainCorpus", self.corpus)
        promise = corpus.promise(job.case)
        free = bool(promise and promise.is_free)
        key = job.case.unset_id, free, ("input", "constant") in job.case.setting
        if key not in self.hops:
            self.hops = {known: one for known, one in self.hops.items() if known[0] == key[0]}
            self.hops[key] = ask_alone(self.backend, corpus.alone(job.case), self.begin_telling)
        return self.hops[key]

    def is_latest(self, job: Job, vectors: Vectors, answered: Index) -> bool:
        """Return whether no later version of the run is answered: what was not asked in this
        process is asked for an element that was answered.
        """
        if job.later is None or not len(answered):
            return False
        for case in job.later:
            if case.id not in self.answers:
                self.answers[case.id] = self.is_answered(case, inputs_at(vectors, answered[:1]))
        return not any(self.answers[case.id] for case in job.later) and not self.backend.broken

    def is_answered(self, case: Case, inputs: list[Bits]) -> bool:
        if self.backend.support(case) is not None or self.begin(ANOTHER, NOTHING):
            return False
        return isinstance(self.backend.answer(case, inputs), Outputs)

    def called(self, job: Job, calls: CallSet) -> CaseResult | Tally:
        answers = ask_calls(self.backend, calls, self.begin, job.skip, job.avoid)
        if self.judge is not None:
            return self.judge(calls, self.in_time(answers))
        more: tuple[Group, ...] = ()
        if self.consistency:
            more = self.consistent(job, CallsAgain(calls, answers))
        answers = self.in_time(answers)
        tally = tally_of_calls(calls, answers, more)
        return tally if more else self.diagnosed(tally, calls, answers, job)

    def diagnosed(
        self, tally: Tally, vectors: Vectors, answers: Answers | CallAnswers, job: Job
    ) -> Tally:
        """Return the tally of a case with what explains it, if it fails and stays so."""
        if not (self.causes_of(job.case) and self.catalog and tally.whole and tally.failing):
            return tally
        try:
            found = self.diagnosis(vectors, answers, job)
            if found and found.fits and not (job.case.hops or job.case.whole_calls):
                from convcheck.causes.alone import given_alone

                groups, search = finish_whole(job.case, tally).groups, self.searching(self.catalog)
                found = replace(found, alone=given_alone(search, job.case, groups, found.fits))
        except DiedError:
            raise
        except Exception as error:  # costs the case its causes, not its verdict
            found = CaseDiagnosis(0, 0, fault=in_a_line(error))
        return replace(tally, whole=replace(tally.whole, diagnosis=found))

    def causes_of(self, case: Case) -> bool:
        """Return whether causes are tried on a case. Of a node whose inputs are fixed they are told
        of its whole calls.
        """
        return bool(self.causes) and (not case.fixed or bool(case.hops))

    def diagnosis(
        self, vectors: Vectors, answers: Answers | CallAnswers, job: Job
    ) -> CaseDiagnosis | None:
        """Return what explains the answers to a case that fails: what was found when these were
        given in a process that was asked other attribute values before.
        """
        if job.explained and job.before and is_as_before(cast(Answers, answers), job.before):
            from convcheck.causes.judged import judged_ones

            judged = judged_ones(cast(VectorSet, vectors), cast(Answers, answers))
            if judged is not None and len(judged) == job.explained.answers:
                return job.explained
        search = self.searching(cast("Catalog", self.catalog))
        if not job.case.hops:
            from convcheck.causes.search import diagnose

            of_calls = isinstance(vectors, CallSet)
            ask = partial(self.further_calls if of_calls else self.further, job)
            return diagnose(search, vectors, answers, ask)
        of_elements = cast(tuple[VectorSet, Answers], (vectors, answers))
        if job.case.fixed:
            from convcheck.causes.pair_search import PairSearch

            self.pairs = self.pairs or PairSearch(search.causes, search.catalog)
            return self.pairs.diagnose(*of_elements)
        from convcheck.causes.chain_search import diagnose_chain

        casts = cast("ChainCorpus", self.corpus).casts(job.case)

        own = partial(own_results, self.backend, casts.spec, of_elements[0], self.begin_telling)
        alone = own if self.may_ask_further(job) else None
        return diagnose_chain(search.causes, casts, *of_elements, alone)

    def searching(self, catalog: Catalog) -> Search:
        """Return the search for causes, which is made when it is needed."""
        from convcheck.causes.catalogue import causes_in
        from convcheck.causes.search import Search

        if self.search is None:
            causes = causes_in(self.causes, catalog.types)
            self.search = Search(causes, catalog, self.every_cause)
        return self.search

    def fitting(self, job: Job, vectors: VectorSet, answers: Answers, tally: Tally) -> Tally:
        """Return the tally of the vectors of a case that is asked in spans, too, with what gives
        all answers to them; without where nothing is wrong with them, or no cause is tried.
        """
        found, fault = None, ""
        if self.causes_of(job.case) and self.catalog and tally.failing:
            from convcheck.causes.search import fits_of

            search = self.searching(self.catalog)
            try:
                found = fits_of(search, vectors, answers, partial(self.further, job))
            except DiedError:
                raise
            except Exception as error:  # costs the case its causes, not its verdict
                fault = in_a_line(error)
        self.fits = job.case.id, found
        return replace(tally, fits=found, search_fault=fault)

    def held(self, job: Job) -> Held | None:
        """Return the causes to be held against a span: what gives all answers to the vectors of its
        case. These are asked here if this process was not asked them last.
        """
        if not (self.causes_of(job.case) and self.catalog) or TELLING in job.avoid.placements:
            return None
        if self.fits[0] != job.case.id:
            vectors = cast(VectorSet, self.corpus.vectors(job.case))
            answers = ask(self.backend, vectors, self.begin_telling, {})
            self.fitting(job, vectors, answers, tally_of(vectors, answers, MAIN))
        if self.fits[1] is None:
            return None
        from convcheck.causes.held import Held

        return Held(self.searching(self.catalog), job.case, self.fits[1])

    def begin_telling(self, placement: str, index: Index) -> bool:
        """Note a call that is made only to find out which causes fit."""
        return self.begin(TELLING, NOTHING)

    def further(self, job: Job, codes: Codes) -> Codes | None:
        """Return the answers to inputs that tell causes apart; None where there are none, which
        costs the case nothing.
        """
        if not self.may_ask_further(job):
            return None
        others = job.case.inputs[1:]
        index = np.arange(len(codes), dtype=np.intp)
        inputs = [codes, *(companion(dtype, index, len(codes)) for dtype in others)]
        self.backend.notes.begin(TELLING, NOTHING)
        answer = self.asked(job.case, inputs)
        if not isinstance(answer, Outputs) or form_complaint(answer, job.case, codes.shape):
            return None
        return cast(Codes, answer.arrays[0])

    def further_calls(self, job: Job, calls: CallSet) -> CallAnswers | None:
        """Return the answers to calls that are no vectors; None where there are none."""
        if not self.may_ask_further(job):
            return None
        return ask_calls(self.backend, calls, self.begin_telling, {})

    def may_ask_further(self, job: Job) -> bool:
        """Return whether there is time to tell causes apart, and nothing died of it before."""
        late = time_is_spent(self.spent + self.backend.notes.spent(), self.timeout)
        return not (late or self.backend.broken or TELLING in job.avoid.placements)

    def in_time(self, answers: A) -> A:
        """Return answers with the fault that the time of the case was spent, if it was."""
        if self.unmade is None:
            return answers
        placement, index = self.unmade
        asked = f"{np.count_nonzero(answers.state != NOT_ASKED):,} of {len(answers.state):,}"
        said = f"{spent_said(self.timeout)}; {asked} were asked, the rest was not"
        first = int(index.reshape(-1)[0]) if index.size else 0
        fault = Fault("crashed", placement, said, first)
        return replace(answers, faults=(*answers.faults, fault))

    def consistent(self, job: Job, questions: Questions) -> tuple[Group, ...]:
        return consistent(questions, self.backend, self.begin, job.avoid)

    def spanned(self, job: Job, span: Span) -> Tally:
        corpus = cast(Conversions, self.corpus)
        rules, held = corpus.conversion(job.case), self.held(job)
        return ask_span(self.backend, job, span, *rules, self.begin, held)

    def replay(self, request: Replay) -> None:
        vectors = self.vectors(request)
        for index in request.calls:
            if not self.begin("bulk", index):
                self.asked(request.case, inputs_at(vectors, index))

    def vectors(self, request: Replay) -> Vectors:
        if request.chunk is None:
            return self.corpus.vectors(request.case)
        program, form = cast(Conversions, self.corpus).conversion(request.case)
        chunk = request.chunk
        return chunk_vectors(request.case, program, form, chunk.first, chunk.count, chunk.seed)

    def asked(self, case: Case, inputs: list[Bits]) -> Answer | None:
        """Return an answer of which it is no matter whether there is one."""
        try:
            return self.backend.answer(case, inputs)
        except DiedError:
            raise
        except BaseException:
            return None
