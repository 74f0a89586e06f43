"""Search for the causes of a failing case, with further calls."""

from functools import cached_property, partial
from typing import TYPE_CHECKING, cast

import numpy as np

from convcheck.ask.chains import own_results
from convcheck.ask.elements import ask, ask_calls, companion
from convcheck.ask.jobs import Job, VectorSource
from convcheck.ask.watched import NOTHING, Budget, WatchedBackend
from convcheck.backends.protocol import DiedError, Outputs
from convcheck.errors import in_a_line
from convcheck.judge.answers import ANSWERED, OTHERS, REFUSED, TELLING, Answers, Elsewhere, Index
from convcheck.judge.elements import tally_of
from convcheck.judge.matching import form_complaint
from convcheck.judge.result import CaseDiagnosis, Fit, Tally
from convcheck.judge.tally import MAIN, finish_whole
from convcheck.numerics.number import Codes
from convcheck.records import replace
from convcheck.rules.model import Attributes, Case
from convcheck.semantics.expected import same
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
