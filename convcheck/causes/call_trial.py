"""Try causes on the answers to whole calls, including refusals and shapes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from convcheck.causes.apart import some_calls, unseen_calls
from convcheck.causes.trial import Fits
from convcheck.judge.answers import CRASHED, NOT_ASKED, REFUSED, Answers
from convcheck.judge.calls import judged_call
from convcheck.judge.matching import Mask, difference
from convcheck.judge.refusals import all_refused, is_refusal
from convcheck.judge.result import RIGHT
from convcheck.numerics.format import Format
from convcheck.records import replace
from convcheck.rules.causes import Cause
from convcheck.rules.load import Catalog
from convcheck.rules.model import Spec
from convcheck.semantics import expected as pattern
from convcheck.semantics.body import Edits, wrong_calls
from convcheck.semantics.expected import (
    DEADLY,
    CallReading,
    ExpectedCall,
    ExpectedOutput,
    WrongCall,
)
from convcheck.vectors.model import CallSet

_WRONG = 4  # wrong answers to explain before all are tried
_BESIDES = 10  # answers of all kinds, likewise
Index = NDArray[np.intp]


@dataclass(frozen=True)
class CallTrial:
    """Calls of a case with their answers."""

    spec: Spec
    calls: CallSet
    answers: Answers
    #: indices of the judged calls
    index: Index
    #: elements of each answer that are judged, and that are wrong
    sizes: Index
    counts: Index
    #: the number of calls that are vectors; the others are hold-out
    first: int = 0
    whole = False

    @staticmethod
    def of(catalog: Catalog, calls: CallSet, answers: Answers) -> CallTrial | None:
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
    ) -> CallTrial | None:
        """Return the trial with hold-out calls. One reading must explain all."""
        more = unseen_calls(self.spec, self.calls)
        got = ask(more) if len(more) else None
        if got is None or got.faults or got.declined:
            return None
        counts = _counts(more, got)
        counts[0] += len(self.calls)
        index, sizes, wrong = np.hstack([(self.index, self.sizes, self.counts), counts])
        both = replace(
            self.calls,
            calls=(*self.calls.calls, *more.calls),
            expected=(*self.calls.expected, *more.expected),
        )
        answers = replace(
            self.answers,
            got=np.concatenate([self.answers.got, got.got]),
            state=np.concatenate([self.answers.state, got.state]),
        )
        return CallTrial(self.spec, both, answers, index, sizes, wrong, len(self.index))

    @property
    def beside(self) -> int:
        """The number of wrong elements in further calls."""
        return int(self.counts[self.first :].sum())

    @property
    def right(self) -> Mask:
        """Mask of the judged calls with right answers."""
        return np.asarray(self.counts == 0)

    @property
    def wrong(self) -> int:
        """The number of wrong elements."""
        return int(self.counts.sum())

    @cached_property
    def few(self) -> CallTrial:
        """A trial of a few wrong and other answers, evenly spread."""
        places = np.arange(len(self.index))
        wrong, every = _spread(places[~self.right], _WRONG), _spread(places, _BESIDES)
        return self._at(np.unique(np.concatenate([wrong, every])))

    @property
    def sample(self) -> CallTrial:
        """The answers to try each cause on."""
        return self.few

    def _at(self, places: Index) -> CallTrial:
        index = self.index[places]
        answers = replace(
            self.answers, got=self.answers.got[index], state=self.answers.state[index]
        )
        numbers = np.arange(len(index))
        return CallTrial(
            self.spec,
            some_calls(self.calls, index),
            answers,
            numbers,
            self.sizes[places],
            self.counts[places],
        )

    @cached_property
    def _candidates(self) -> Edits:
        return wrong_calls(self.spec, self.calls.case, self.calls.calls)

    def applies(self, causes: Sequence[Cause]) -> bool:
        """Return whether causes may apply to whole calls."""
        return not any(cause.chain or cause.version for cause in causes)

    def explains(self, causes: Sequence[Cause]) -> bool:
        """Return whether causes together explain every answer under one reading."""
        order = [*np.flatnonzero(~self.right), *np.flatnonzero(self.right)]
        made = self._candidates(causes)
        return any(all(self._gives(one, self.index[i]) for i in order) for one in made)

    def given_by(self, causes: Sequence[Cause]) -> Mask | None:
        """Return a mask of explained answers, None if the causes do not apply.

        All are false if they explain no wrong answer.
        """
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
    """Return (call, judged elements, wrong elements) for each judged call, shape (3, n).

    A wrong answer counts at least one wrong element, a missing answer one element.
    """
    found = []
    for i in np.flatnonzero(answers.state < NOT_ASKED).tolist():
        one = judged_call(calls, answers, i)
        if one.sort != "undefined":
            outputs = one.reading.outputs if answers.got[i] is not None else ()
            size = sum(np.count_nonzero(o.patterns != pattern.UNDEFINED) for o in outputs)
            wrong = 0 if one.sort == RIGHT else max(one.wrong, 1)
            found.append((i, max(int(size), one.wrong, 1), wrong))
    return np.array(found, np.intp).reshape(-1, 3).T


def _spread(numbers: Index, n: int) -> Index:
    return numbers[np.unique(np.linspace(0, len(numbers) - 1, n).astype(np.intp))]


def freed(given: CallReading, expected: ExpectedCall) -> CallReading | None:
    """Return an answer without elements that the rule leaves undefined.

    Return None if another element is undefined.
    """
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
