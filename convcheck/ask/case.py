"""Test a case, or a span of it, on a backend, judge the answers, and find causes of failures."""

from functools import cached_property, partial
from typing import TYPE_CHECKING, cast

import numpy as np

from convcheck.ask.again import CallsAgain, ElementsAgain
from convcheck.ask.chains import (
    ALONE,
    BUT_BULK,
    CastsAlone,
    ask_alone,
    open_where_wrong,
    own_results,
)
from convcheck.ask.elements import ask, ask_calls, companion, inputs_at
from convcheck.ask.jobs import Job, Judge, VectorSource
from convcheck.ask.stream import ask_span
from convcheck.ask.watched import NOTHING, Budget, WatchedBackend
from convcheck.backends.protocol import DiedError, Outputs
from convcheck.errors import in_a_line
from convcheck.judge.answers import (
    ANOTHER,
    ANSWERED,
    EVERYWHERE,
    OTHERS,
    REFUSED,
    TELLING,
    Answers,
    Elsewhere,
    Index,
)
from convcheck.judge.calls import tally_of_case
from convcheck.judge.elements import tally_of
from convcheck.judge.matching import form_complaint
from convcheck.judge.result import FAILURES, CaseDiagnosis, CaseResult, Fit, Group, Tally
from convcheck.judge.tally import MAIN, finish_whole, unsupported
from convcheck.numerics.number import Codes
from convcheck.records import replace
from convcheck.rules.model import Attributes, Case
from convcheck.semantics.expected import same
from convcheck.vectors.corpus import Corpus
from convcheck.vectors.model import CallSet, Vectors, VectorSet

if TYPE_CHECKING:
    from convcheck.causes.search import Held, Search
    from convcheck.chains.asked import ChainCorpus
    from convcheck.rules.causes import CauseFile
    from convcheck.rules.load import Catalog


class Siblings:
    """The answers of a process to consecutive cases of the same types."""

    def __init__(self) -> None:
        self._types: object = None
        self._last: dict[tuple[str, Attributes], tuple[VectorSet, Answers]] = {}
        # the last answers, if equal to those to other attribute values with other expected results
        self.doubt: Elsewhere | None = None

    def add(self, vectors: VectorSet, answers: Answers) -> None:
        """Add a case."""
        case, self.doubt = vectors.case, None
        if self._types != (case.inputs[0], case.outputs):
            self._types, self._last = (case.inputs[0], case.outputs), {}
        others = (
            other
            for (op, values), other in self._last.items()
            if op == case.op and case.attributes and values and values != case.attributes
        )
        if any(_is_taken_for((vectors, answers), other) for other in others):
            index = np.flatnonzero(answers.state == ANSWERED)
            self.doubt = Elsewhere(OTHERS, index, answers.got[index])
        self._last.pop((case.op, case.attributes), None)  # to move it to the end
        self._last[case.op, case.attributes] = vectors, answers

    def refused(self, vectors: VectorSet) -> Index:
        """Return the elements that the previous case refused, if its inputs were the same."""
        if self._last and self._types == (vectors.case.inputs[0], vectors.case.outputs):
            asked, answers = next(reversed(self._last.values()))
            if all(map(np.array_equal, asked.inputs, vectors.inputs)):
                return np.flatnonzero(answers.state == REFUSED)
        return np.zeros(0, np.intp)


def _is_taken_for(one: tuple[VectorSet, Answers], other: tuple[VectorSet, Answers]) -> bool:
    """Whether equal inputs got equal answers although the expected results differ."""
    (asked, mine), (before, its) = one, other
    inputs = zip(asked.inputs, before.inputs, strict=True)
    answered = (mine.state, its.state), (mine.got, its.got)
    alike = all(np.array_equal(a, b) for a, b in (*inputs, *answered))
    return alike and not same(asked.expected.readings, before.expected.readings)


def is_as_before(answers: Answers, before: Elsewhere) -> bool:
    """Whether answers equal `before` in every placement, with all other elements refused."""
    answered = answers.state == ANSWERED
    if answers.elsewhere or not (answered | (answers.state == REFUSED)).all():
        return False
    index = np.flatnonzero(answered)
    return np.array_equal(index, before.index) and np.array_equal(answers.got[index], before.got)


def with_others(answers: Answers, before: Elsewhere) -> Answers:
    """Return answers with those of `before` that differ."""
    index, got = before.index, before.got
    differs = (answers.state[index] == ANSWERED) & np.asarray(answers.got[index] != got, bool)
    if not differs.any():
        return answers
    found = replace(before, index=index[differs], got=got[differs])
    return replace(answers, elsewhere=(*answers.elsewhere, found))


class Explainer:
    """Finds the causes of failures."""

    def __init__(
        self, backend: WatchedBackend, budget: Budget, corpus: VectorSource, catalog: "Catalog",
        causes: "tuple[CauseFile, ...]",
    ) -> None:  # fmt: skip
        self.backend, self.budget, self.corpus = backend, budget, corpus
        self.catalog, self.causes = catalog, causes
        self.fits: tuple[str, tuple[Fit, ...] | None] = ("", None)  # of the case with this id

    @cached_property
    def search(self) -> "Search":
        """The search for causes."""
        from convcheck.causes.catalogue import causes_in
        from convcheck.causes.search import Search

        return Search(causes_in(self.causes, self.catalog.types), self.catalog)

    def diagnosed(self, tally: Tally, vectors: Vectors, answers: Answers, job: Job) -> Tally:
        """Return the tally with its causes if the case fails on its own."""
        if not (tally.whole and tally.failing) or _is_told_of_calls(job.case):
            return tally
        try:
            found = self.diagnosis(vectors, answers, job)
            if found and found.fits and not (job.case.hops or job.case.whole_calls):
                from convcheck.causes.search import given_alone

                groups = finish_whole(job.case, tally).groups
                alone = given_alone(self.search, job.case, groups, found.fits)
                found = replace(found, alone=alone)
        except DiedError:
            raise
        except Exception as error:  # the verdict stands without causes
            found = CaseDiagnosis(0, 0, fault=in_a_line(error))
        return replace(tally, whole=replace(tally.whole, diagnosis=found))

    def diagnosis(self, vectors: Vectors, answers: Answers, job: Job) -> CaseDiagnosis | None:
        """Return the causes of a failing case, as before for the same answers."""
        if job.explained and job.before and is_as_before(answers, job.before):
            from convcheck.causes.trial import judged_ones

            judged = judged_ones(cast(VectorSet, vectors), answers)
            if judged is not None and len(judged) == job.explained.answers:
                return job.explained
        from convcheck.causes.search import diagnose, diagnose_chain

        if not job.case.hops:
            further = self.further_calls if isinstance(vectors, CallSet) else self.further
            return diagnose(self.search, vectors, answers, partial(further, job))
        of_elements = cast(tuple[VectorSet, Answers], (vectors, answers))
        if job.case.fixed:
            return self.search.of_nodes.diagnose(*of_elements)
        casts = cast("ChainCorpus", self.corpus).casts(job.case)
        told = self.backend, casts.spec, of_elements[0], self.budget.begin_telling
        alone = partial(own_results, *told) if self.may_ask_further(job) else None
        return diagnose_chain(self.search.causes, casts, *of_elements, alone)

    def fitted(self, job: Job, vectors: VectorSet, answers: Answers, tally: Tally) -> Tally:
        """Return the tally of a span case's vectors, with the causes that give all its answers."""
        found, fault = None, ""
        if tally.failing and not _is_told_of_calls(job.case):
            from convcheck.causes.search import fits_of

            try:
                found = fits_of(self.search, vectors, answers, partial(self.further, job))
            except DiedError:
                raise
            except Exception as error:  # the verdict stands without causes
                fault = in_a_line(error)
        self.fits = job.case.id, found
        return replace(tally, fits=found, search_fault=fault)

    def held(self, job: Job) -> "Held | None":
        """Return the causes that give all answers to a span's case, whose vectors may be sent."""
        if _is_told_of_calls(job.case) or TELLING in job.avoid.placements:
            return None
        if self.fits[0] != job.case.id:
            vectors = cast(VectorSet, self.corpus.vectors(job.case))
            answers = ask(self.backend, vectors, self.budget.begin_telling, {})
            self.fitted(job, vectors, answers, tally_of(vectors, answers, MAIN))
        if self.fits[1] is None:
            return None
        from convcheck.causes.search import Held

        return Held(self.search, job.case, self.fits[1])

    def further(self, job: Job, codes: Codes) -> Codes | None:
        """Return the answers to inputs that discriminate between causes, if any."""
        if not self.may_ask_further(job):
            return None
        others = job.case.inputs[1:]
        index = np.arange(len(codes), dtype=np.intp)
        inputs = [codes, *(companion(dtype, index, len(codes)) for dtype in others)]
        self.budget.notes.begin(TELLING, NOTHING)
        answer = self.backend.answer_if_any(job.case, inputs)
        if not isinstance(answer, Outputs) or form_complaint(answer, job.case, codes.shape):
            return None
        return cast(Codes, answer.arrays[0])

    def further_calls(self, job: Job, calls: CallSet) -> Answers | None:
        """Return the answers to hold-out calls, if any."""
        if not self.may_ask_further(job):
            return None
        return ask_calls(self.backend, calls, self.budget.begin_telling, {})

    def may_ask_further(self, job: Job) -> bool:
        """Whether there is time to discriminate between causes, and no such call crashed."""
        return not (self.budget.is_spent or self.backend.broken or TELLING in job.avoid.placements)


def _is_told_of_calls(case: Case) -> bool:
    """Whether causes are tried on the whole calls of this node instead."""
    return bool(case.fixed) and not case.hops


class CaseRunner:
    """Tests cases on one backend, and tallies the answers."""

    def __init__(
        self, backend: WatchedBackend, budget: Budget, corpus: VectorSource, judge: Judge | None,
        explainer: Explainer | None, *, consistency: bool,
    ) -> None:  # fmt: skip
        self.backend, self.budget, self.corpus, self.judge = backend, budget, corpus, judge
        self.explainer, self.consistency = explainer, consistency
        self.answers: dict[str, bool] = {}  # by case id
        self.siblings = Siblings()
        # by id without setting, whether other casts are allowed, and whether the input is constant
        self.hops: dict[tuple[str, bool, bool], CastsAlone] = {}

    def tally(self, job: Job) -> CaseResult | Tally:
        """Return the tally of a job, or the result by the run's own judge."""
        self.siblings.doubt = None
        if job.span is not None:
            rules = cast(Corpus, self.corpus).conversion(job.case)
            held = self.explainer.held(job) if self.explainer else None
            tally = ask_span(self.backend, job, job.span, *rules, self.budget.begin, held)
            return held.fitted(tally) if held else tally
        # another judge also sees declined cases, and asking for support may crash
        if self.judge is None and not job.died:
            declined = self.backend.support(job.case)
            if declined is not None and declined.missing:
                self.answers[job.case.id] = False
                return unsupported("edge", declined.message)
        vectors = self.corpus.vectors(job.case)
        if isinstance(vectors, CallSet):
            answers = ask_calls(self.backend, vectors, self.budget.begin, job.skip, job.avoid)
            return self._found(job, vectors, answers)
        return self._of_chain(job, vectors) if job.case.hops else self._of_elements(job, vectors)

    def doubt(self, job: Job, result: CaseResult | Tally) -> Elsewhere | None:
        """Return the answers if a failing case seems to have got those of another case."""
        failing = result.failing if isinstance(result, Tally) else result.verdict in FAILURES
        return self.siblings.doubt if failing and job.before is None else None

    def _of_elements(self, job: Job, vectors: VectorSet) -> CaseResult | Tally:
        thorough, begin = partial(self._is_latest, job, vectors), self.budget.begin
        suspected, avoid = self.siblings.refused(vectors), job.avoid
        if job.case.fixed:  # it has one shape; other layouts are tested as whole calls
            avoid = replace(avoid, placements=avoid.placements | BUT_BULK)
        answers = ask(self.backend, vectors, begin, job.skip, avoid, thorough, suspected)
        self.answers[job.case.id] = bool(np.count_nonzero(answers.state == ANSWERED))
        self.siblings.add(vectors, answers)
        if job.before is not None:
            answers = with_others(answers, job.before)
        return self._found(job, vectors, answers)

    def _found(self, job: Job, vectors: Vectors, answers: Answers) -> CaseResult | Tally:
        if self.judge is not None:
            return self.judge(vectors, self.budget.in_time(answers))
        more: tuple[Group, ...] = ()
        if self.consistency and not answers.declined:
            asking = answers, self.backend, self.budget.begin, job.avoid
            if isinstance(vectors, CallSet):
                more = CallsAgain(vectors, *asking).groups()
            else:
                more = ElementsAgain(vectors, *asking).groups()
        answers = self.budget.in_time(answers)
        if isinstance(vectors, CallSet) or job.main is None or answers.declined:
            tally = tally_of_case(vectors, answers, more)
            return tally if more else self._diagnosed(tally, vectors, answers, job)
        tally = tally_of(vectors, answers, job.main, more)
        if (self.siblings.doubt is not None and job.before is None) or self.explainer is None:
            return tally
        fitted = self.explainer.fitted(job, vectors, answers, tally)
        return tally if more else fitted

    def _of_chain(self, job: Job, vectors: VectorSet) -> Tally:
        """Judge the inputs for which every single cast is right."""
        right, declined = self._alone(job, vectors)
        if declined:
            return unsupported(vectors.coverage, declined)
        vectors = open_where_wrong(vectors, right)
        avoid = replace(job.avoid, placements=job.avoid.placements | BUT_BULK)
        found = ask(self.backend, vectors, self.budget.begin, job.skip, avoid)
        answers = self.budget.in_time(found)
        tally = tally_of_case(vectors, answers)
        if tally.whole and not right.any():
            tally = replace(tally, whole=replace(tally.whole, message=ALONE))
        return self._diagnosed(tally, vectors, answers, job)

    def _diagnosed(self, tally: Tally, vectors: Vectors, answers: Answers, job: Job) -> Tally:
        return self.explainer.diagnosed(tally, vectors, answers, job) if self.explainer else tally

    def _alone(self, job: Job, vectors: VectorSet) -> CastsAlone:
        """Results of the casts alone, for all settings with one promise."""
        if job.avoid.placements >= EVERYWHERE:  # given up after the casts were tested
            return np.ones(len(vectors), bool), ""
        if TELLING in job.avoid.placements:
            return np.zeros(0, bool), f"{ALONE}: it crashes the backend"
        corpus = cast("ChainCorpus", self.corpus)
        promise = corpus.promise(job.case)
        free = bool(promise and promise.is_free)
        key = job.case.unset_id, free, ("input", "constant") in job.case.setting
        if key not in self.hops:
            self.hops = {known: one for known, one in self.hops.items() if known[0] == key[0]}
            begin = self.budget.begin_telling
            self.hops[key] = ask_alone(self.backend, corpus.alone(job.case), begin)
        return self.hops[key]

    def _is_latest(self, job: Job, vectors: Vectors, answered: Index) -> bool:
        """Whether the backend answers no later version, tried with one element."""
        if job.later is None or not len(answered):
            return False
        for case in job.later:
            if case.id not in self.answers:
                self.answers[case.id] = self._is_answered(case, vectors, answered[:1])
        return not any(self.answers[case.id] for case in job.later) and not self.backend.broken

    def _is_answered(self, case: Case, vectors: Vectors, index: Index) -> bool:
        if self.backend.support(case) is not None or self.budget.begin(ANOTHER, NOTHING):
            return False
        return isinstance(self.backend.answer(case, inputs_at(vectors, index)), Outputs)
