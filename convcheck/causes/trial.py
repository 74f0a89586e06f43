"""Try causes on a case's answers, of elements or of whole calls."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import cast

import numpy as np

from convcheck.causes.apart import spread, telling_inputs, unseen_calls, unseen_inputs
from convcheck.judge.answers import (
    ANSWERED,
    CRASHED,
    NOT_ASKED,
    REFUSED,
    Answers,
    Elsewhere,
    Index,
    all_refused,
    is_refusal,
)
from convcheck.judge.calls import judged_call
from convcheck.judge.matching import Mask, difference, matching
from convcheck.judge.result import RIGHT
from convcheck.numerics.format import Format, Text
from convcheck.numerics.number import Bits
from convcheck.records import replace
from convcheck.rules.causes import Cause
from convcheck.rules.load import Catalog
from convcheck.rules.model import Case, Spec
from convcheck.semantics import expected as pattern
from convcheck.semantics.answers_at import points_of
from convcheck.semantics.body import Edits, wrong_calls
from convcheck.semantics.compile import compile_wrong, readings_at
from convcheck.semantics.evaluate import evaluate
from convcheck.semantics.expected import (
    DEADLY,
    UNDEFINED,
    CallReading,
    ExpectedCall,
    ExpectedOutput,
    Reading,
    WrongCall,
)
from convcheck.semantics.vocabulary import Points
from convcheck.vectors.model import CallSet, VectorSet

Fits = Sequence[tuple[Cause, ...]]
Tried = tuple[Cause, Mask]  # with a mask of explained answers
LANES = 64  # elements of a vector register at most
_NOT_WHOLE = ("alone", "odd tail", "short")  # with elements outside whole vectors
_PROBES = 6  # wrong answers to explain before all are tried


@dataclass(frozen=True)
class Trial:
    """Inputs of a case with their answers."""

    spec: Spec
    case: Case
    points: Points
    got: Bits  # the answers; arbitrary for a refusal
    refused: Mask
    readings: Sequence[Reading]  # the expectation under each reading
    whole: bool = False  # only whole vectors are wrong: causes need not explain a tail

    @staticmethod
    def of_case(catalog: Catalog, vectors: VectorSet, answers: Answers) -> "Trial | None":
        """Return the trial, None if nothing is wrong or no conversion can be the cause."""
        vectors, answers, whole = with_elsewhere(vectors, answers)
        index = judged_ones(vectors, answers)
        if index is None or not len(index):
            return None
        spec = catalog.specs[vectors.case.spec]
        trial = Trial.of(spec, vectors, answers, index)
        if whole:
            # those at the end may be outside whole vectors
            tail = np.arange(len(index)) >= len(index) - LANES
            trial = Trial.of(spec, vectors, answers, index[~(trial.right & tail)])
            trial = replace(trial, whole=True)
        return None if trial.right.all() else trial

    @staticmethod
    def of(spec: Spec, vectors: VectorSet, answers: Answers, index: Index) -> "Trial":
        """Return the trial of some inputs."""
        return Trial(
            spec,
            vectors.case,
            points_of(vectors.case, vectors.inputs[0][index]),
            answers.got[index],
            answers.state[index] == REFUSED,
            vectors.expected.take(index).readings,
        )

    @staticmethod
    def answered(spec: Spec, case: Case, inputs: Bits, got: Bits) -> "Trial":
        """Return the trial of answered inputs."""
        refused, due = np.zeros(len(inputs), bool), evaluate(spec, case, inputs).readings
        return Trial(spec, case, points_of(case, inputs), got, refused, due)

    @cached_property
    def right(self) -> Mask:
        """Mask of right answers under the closest reading."""
        return max(map(self.as_due, self.readings), key=np.count_nonzero)

    def as_due(self, reading: Reading) -> Mask:
        """Mask answers that a reading defines and matches."""
        source, target = self.case.inputs[0].format, self.case.outputs[0].format
        told = matching(reading, self.got, target, source, self.points.bits)
        answered = told & (reading.patterns != pattern.UNDEFINED)
        return np.asarray(np.where(self.refused, reading.patterns == pattern.REFUSED, answered))

    def further(
        self, formats: Sequence[Format], ask: Callable[[Bits], Bits | None], fits: Fits
    ) -> "Trial | None":
        """Return the trial of discriminating and hold-out inputs."""
        made = (compile_wrong(self.spec, self.case, causes) for causes in fits)
        programs = [program for program in made if program]
        if not programs:
            return None
        telling = telling_inputs(self.spec, self.case, programs)
        unseen = unseen_inputs(self.spec, self.case, programs[0], self.points.bits, formats)
        inputs = np.unique(np.concatenate([telling, unseen]))
        if not len(inputs):
            return None
        sent = np.resize(inputs, len(inputs) + LANES) if self.whole else inputs
        got = ask(cast(Bits, sent))
        if got is None:
            return None
        return Trial.answered(self.spec, self.case, inputs, got[: len(inputs)])

    @property
    def few(self) -> "Trial":
        """A trial of a few wrong answers; everything for texts."""
        if isinstance(self.points.target, Text):
            return self
        right = np.logical_or.reduce([self.as_due(each) for each in self.readings])
        index = spread(np.flatnonzero(~right), _PROBES)
        readings = [Reading(each.codes[index], each.patterns[index]) for each in self.readings]
        points, got, refused = self.points.at(index), self.got[index], self.refused[index]
        return replace(self, points=points, got=got, refused=refused, readings=readings)

    def said_by(self, causes: Sequence[Cause]) -> list[Reading] | None:
        """Return the readings of a program with causes, None if they do not apply."""
        program = compile_wrong(self.spec, self.case, causes)
        return None if program is None else readings_at(program, self.points)

    def applies(self, causes: Sequence[Cause]) -> bool:
        """Return whether causes apply to the case; of several, with other values of attributes."""
        given = dict(self.case.attributes) if causes[1:] else {}
        set_ = [pair for cause in causes for pair in cause.under] if causes[1:] else []
        other = all(given.get(name, value) != value for name, value in set_)
        return other and all(applies(cause, self.case) for cause in causes)

    def explains(self, causes: Sequence[Cause]) -> bool:
        """Return whether causes explain all answers under one reading."""
        said = self.said_by(causes)
        return said is not None and any(bool(self._given(each).all()) for each in said)

    def given_by(self, causes: Sequence[Cause]) -> Mask | None:
        """Mask explained answers, None if the causes do not apply."""
        said = self.said_by(causes)
        return None if said is None else max(map(self._given, said), key=np.count_nonzero)

    @property
    def sample(self) -> "Trial":
        """The answers to try each cause on."""
        return self

    @cached_property
    def sizes(self) -> Index:
        """One element each."""
        return np.ones(len(self.got), np.intp)

    @property
    def wrong(self) -> int:
        """The number of wrong answers."""
        return int(np.count_nonzero(~self.right))

    @property
    def beside(self) -> int:
        """The same, for hold-out inputs."""
        return self.wrong

    def _given(self, reading: Reading) -> Mask:
        """Mask explained answers. A right one does not refute a cause that leaves it undefined."""
        right = self.right & (reading.patterns == pattern.UNDEFINED)
        if isinstance(self.points.target, Text):
            # loose patterns explain no wrong answer
            loose = ~self.right & np.isin(reading.patterns, (pattern.PLAIN, pattern.PARSES))
            patterns = np.where(loose, np.uint8(pattern.UNDEFINED), reading.patterns)
            reading = Reading(reading.codes, patterns)
        return np.asarray(right | self.as_due(reading))


def tried(trial: Trial, causes: Iterable[Cause]) -> Iterator[Tried]:
    """Yield applicable causes with a mask of answers they explain."""
    for cause in causes:
        if applies(cause, trial.case) and (given := trial.given_by((cause,))) is not None:
            yield cause, given


def applies(cause: Cause, case: Case) -> bool:
    """Return whether an elementwise cause applies to a case."""
    return not (cause.call or cause.chain) and cause.applies_to(case)


def with_elsewhere(vectors: VectorSet, answers: Answers) -> tuple[VectorSet, Answers, bool]:
    """Append right answers of other placements. The last result: only whole vectors are wrong."""
    whole, others = False, list[Elsewhere]()
    for other in answers.elsewhere:
        wrong = ~_right(vectors, other.index, answers.got[other.index])
        if other.placement in _NOT_WHOLE and _right(vectors, other.index, other.got).all():
            whole |= bool(wrong.any())
            other = replace(other, index=other.index[~wrong], got=other.got[~wrong])
        others.append(other)
    answers = replace(answers, elsewhere=tuple(others))
    kept = [other for other in others if _right(vectors, other.index, other.got).all()]
    if not kept:
        return vectors, answers, whole
    index = np.concatenate([np.arange(len(answers.got)), *(other.index for other in kept)])
    got = np.concatenate([answers.got, *(other.got for other in kept)])
    left = tuple(other for other in answers.elsewhere if other not in kept)
    state = np.concatenate([answers.state, np.full(len(got) - len(answers.got), ANSWERED)])
    more = replace(answers, got=got, state=state.astype(np.uint8), elsewhere=left)
    return vectors.take(index), more, whole


def _right(vectors: VectorSet, index: Index, got: Bits) -> Mask:
    case, bits = vectors.case, vectors.inputs[0][index]
    ends = case.outputs[0].format, case.inputs[0].format
    due = vectors.expected.take(index).readings
    return max((matching(each, got, *ends, bits) for each in due), key=np.count_nonzero)


def judged_ones(vectors: VectorSet, answers: Answers) -> Index | None:
    """Return indices of defined answers, None if no conversion can be the cause."""
    readings = vectors.expected.readings
    free = reduce(np.logical_or, (r.patterns == UNDEFINED for r in readings))
    free |= vectors.case.refusal & (answers.state == REFUSED)
    index = np.flatnonzero(~free & (answers.state < NOT_ASKED))
    elsewhere = any(np.isin(other.index, index).any() for other in answers.elsewhere)
    crashed = bool((answers.state[index] == CRASHED).any())
    return None if answers.declined or answers.faults or elsewhere or crashed else index


_WRONG = 4  # wrong answers to explain before all are tried
_BESIDES = 10  # of all kinds, likewise


@dataclass(frozen=True)
class CallTrial:
    """Calls of a case with their answers."""

    spec: Spec
    calls: CallSet
    answers: Answers
    index: Index
    sizes: Index  # judged and wrong elements of each answer
    counts: Index
    first: int = 0  # calls that are vectors; others are hold-out
    whole = False

    @staticmethod
    def of(catalog: Catalog, calls: CallSet, answers: Answers) -> "CallTrial | None":
        """Return the trial, None if nothing is wrong or a call failed as a whole."""
        if answers.declined is not None:
            if not is_refusal(calls, answers.declined):
                return None
            answers = all_refused(calls, answers, answers.declined.message)
        index, sizes, wrong = _counts(calls, answers)
        trial = CallTrial(catalog.specs[calls.case.spec], calls, answers, index, sizes, wrong)
        return trial if trial.wrong and not answers.faults else None

    def further(
        self, formats: Sequence[Format], ask: Callable[[CallSet], Answers | None], fits: Fits
    ) -> "CallTrial | None":
        """Return the trial with hold-out calls."""
        more = unseen_calls(self.spec, self.calls)
        got = ask(more) if len(more) else None
        if got is None or got.faults or got.declined:
            return None
        counts = _counts(more, got)
        counts[0] += len(self.calls)
        index, sizes, wrong = np.hstack([(self.index, self.sizes, self.counts), counts])
        expected = (*self.calls.expected, *more.expected)
        calls = replace(self.calls, calls=(*self.calls.calls, *more.calls), expected=expected)
        state = np.concatenate([self.answers.state, got.state])
        given = np.concatenate([self.answers.got, got.got])
        answers = replace(self.answers, got=given, state=state)
        return CallTrial(self.spec, calls, answers, index, sizes, wrong, len(self.index))

    @property
    def beside(self) -> int:
        """The number of wrong elements in further calls."""
        return int(self.counts[self.first :].sum())

    @property
    def right(self) -> Mask:
        """Mask of judged calls with right answers."""
        return np.asarray(self.counts == 0)

    @property
    def wrong(self) -> int:
        """The number of wrong elements."""
        return int(self.counts.sum())

    @cached_property
    def few(self) -> "CallTrial":
        """A trial of a few wrong and other answers."""
        places = np.arange(len(self.index))
        wrong, every = spread(places[~self.right], _WRONG), spread(places, _BESIDES)
        places = np.unique(np.concatenate([wrong, every]))
        index = self.index[places]
        got, state = self.answers.got[index], self.answers.state[index]
        answers, calls = replace(self.answers, got=got, state=state), self.calls.take(index)
        sizes, counts = self.sizes[places], self.counts[places]
        return CallTrial(self.spec, calls, answers, np.arange(len(index)), sizes, counts)

    @property
    def sample(self) -> "CallTrial":
        """The answers to try each cause on."""
        return self.few

    @cached_property
    def _candidates(self) -> Edits:
        return wrong_calls(self.spec, self.calls.case, self.calls.calls)

    def applies(self, causes: Sequence[Cause]) -> bool:
        """Return whether causes may apply to whole calls."""
        return not any(cause.chain or cause.version for cause in causes)

    def explains(self, causes: Sequence[Cause]) -> bool:
        """Return whether causes explain all answers under one reading."""
        order = [*np.flatnonzero(~self.right), *np.flatnonzero(self.right)]
        made = self._candidates(causes)
        return any(all(self._gives(one, self.index[i]) for i in order) for one in made)

    def given_by(self, causes: Sequence[Cause]) -> Mask | None:
        """Mask explained answers, None if the causes do not apply, all false if no wrong one is."""
        masks = [self._given(made) for made in self._candidates(causes)]
        return max(masks, key=np.count_nonzero, default=None)

    def _given(self, candidate: WrongCall) -> Mask:
        wrong = np.flatnonzero(~self.right)
        given = np.zeros(len(self.index), bool)
        given[wrong] = [self._gives(candidate, i) for i in self.index[wrong]]
        if given.any():
            given[self.right] = [self._gives(candidate, i) for i in self.index[self.right]]
        return given

    def _gives(self, candidate: WrongCall, i: int) -> bool:
        state, got = self.answers.state[i], self.answers.got[i]
        given = candidate.answer(i)
        if given is None or given is DEADLY or state == CRASHED:
            return bool(given is DEADLY and state == CRASHED)
        if state == REFUSED:
            return given.pattern == pattern.REFUSED
        if got is None or given.pattern != pattern.EXACT:
            return False
        said = freed(given, self.calls.expected[i])
        return said is not None and difference(said, got) is None


def _counts(calls: CallSet, answers: Answers) -> Index:
    """Return (call, judged elements, wrong elements, 1 at least) by judged call, shape (3, n)."""
    found = []
    for i in np.flatnonzero(answers.state < NOT_ASKED).tolist():
        one = judged_call(calls, answers, i)
        if one.sort != "undefined":
            outputs = one.reading.outputs if answers.got[i] is not None else ()
            size = sum(np.count_nonzero(o.patterns != pattern.UNDEFINED) for o in outputs)
            wrong = 0 if one.sort == RIGHT else max(one.wrong, 1)
            found.append((i, max(int(size), one.wrong, 1), wrong))
    return np.array(found, np.intp).reshape(-1, 3).T


def freed(given: CallReading, expected: ExpectedCall) -> CallReading | None:
    """Return an answer without elements left undefined, None if another is undefined."""
    outputs = []
    for place, output in enumerate(given.outputs):
        free = np.zeros(len(output.codes), bool)
        for reading in expected.readings:
            if reading.pattern == pattern.EXACT and reading.outputs[place].shape == output.shape:
                free |= reading.outputs[place].patterns == pattern.UNDEFINED
        if ((output.patterns == pattern.UNDEFINED) & ~free).any():
            return None
        patterns = np.where(free, pattern.UNDEFINED, output.patterns).astype(np.uint8)
        outputs.append(ExpectedOutput(output.dtype, output.shape, output.codes, patterns))
    return replace(given, outputs=tuple(outputs))
