"""Test a case, or a span of it, on a backend and judge the answers."""

from functools import partial
from typing import TYPE_CHECKING, cast

import numpy as np

from convcheck.ask.again import CallsAgain, ElementsAgain
from convcheck.ask.chains import ALONE, OTHERS, CastsAlone, ask_alone, open_where_wrong
from convcheck.ask.elements import ask, ask_calls, inputs_at
from convcheck.ask.explain import Explainer, Siblings, with_others
from convcheck.ask.jobs import Job, Judge, VectorSource
from convcheck.ask.stream import ask_span
from convcheck.ask.watched import NOTHING, Budget, WatchedBackend
from convcheck.backends.protocol import Outputs
from convcheck.judge.answers import (
    ANOTHER,
    ANSWERED,
    EVERYWHERE,
    TELLING,
    Answers,
    Elsewhere,
    Index,
)
from convcheck.judge.calls import tally_of_case
from convcheck.judge.elements import tally_of
from convcheck.judge.result import FAILURES, CaseResult, Group, Tally
from convcheck.judge.tally import unsupported
from convcheck.records import replace
from convcheck.rules.model import Case
from convcheck.vectors.corpus import Corpus
from convcheck.vectors.model import CallSet, Vectors, VectorSet

if TYPE_CHECKING:
    from convcheck.chains.asked import ChainCorpus


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
            avoid = replace(avoid, placements=avoid.placements | OTHERS)
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
        avoid = replace(job.avoid, placements=job.avoid.placements | OTHERS)
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
