"""Answers to whole calls -> the causes that give every one of them, refusals and shapes included.

Few calls that were answered wrongly are tried first: most causes do not give these, and are not
executed on the others.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import cast

import numpy as np
from numpy.typing import NDArray

from convcheck.backends.protocol import Outputs
from convcheck.causes.call_apart import unseen_calls
from convcheck.causes.trial import fitting
from convcheck.judge.answers import CRASHED, NOT_ASKED, REFUSED, CallAnswers
from convcheck.judge.calls import judged_call
from convcheck.judge.matching import Mask, Returned, is_as_read, matching, shapes_of
from convcheck.judge.refusals import all_refused, is_refusal
from convcheck.judge.result import RIGHT, CaseDiagnosis, Names, Near
from convcheck.numerics.codes import Bits
from convcheck.numerics.format import Format
from convcheck.records import replace
from convcheck.rules.causes import Cause, found_together
from convcheck.rules.load import Catalog
from convcheck.rules.model import Spec
from convcheck.semantics import expected as pattern
from convcheck.semantics.body import Edits, wrong_calls
from convcheck.semantics.expected import Reading
from convcheck.semantics.expected_calls import (
    DEADLY,
    CallReading,
    ExpectedCall,
    ExpectedOutput,
    WantedElements,
    WrongCall,
)
from convcheck.vectors.model import CallSet

_PROBES = 4  # wrong answers that a cause has to give before it is tried on all
_CLOSEST = 3  # causes that are told of a case which nothing explains
_ELEMENTS = 4  # elements of a probe that a cause has to give before it is tried on the call
_BESIDES = 10  # calls of which it has to give as many, right ones or not
_SAMPLE = 6  # right answers by which causes that give a probe are put in order
_COUNTED = 6  # causes of which it is counted what they give
_PAIRED = 3  # causes that are tried with every other
AskCalls = Callable[[CallSet], CallAnswers | None]  # answers to calls; None where there are none


@dataclass(frozen=True)
class CallTrial:
    """What a cause is tried on: the answers to calls of which something is said."""

    spec: Spec
    calls: CallSet
    answers: CallAnswers
    #: The number of a call -> how many elements of its answer are judged, and how many are wrong.
    counts: Mapping[int, tuple[int, int]]

    @staticmethod
    def of(catalog: Catalog, calls: CallSet, answers: CallAnswers) -> CallTrial | None:
        """Return what there is to try: None where nothing is wrong, or something else than an
        answer to a call is.
        """
        if answers.declined is not None:
            if not is_refusal(calls, answers.declined):
                return None
            answers = all_refused(answers, answers.declined.message)
        trial = CallTrial(catalog.specs[calls.case.spec], calls, answers, _counts(calls, answers))
        return trial if trial.wrong and not answers.faults else None

    @cached_property
    def wrong(self) -> tuple[int, ...]:
        """The numbers of the calls that were answered wrongly."""
        return tuple(i for i, (_, wrong) in self.counts.items() if wrong)

    @cached_property
    def right(self) -> tuple[int, ...]:
        """The numbers of the calls that were answered right."""
        return tuple(i for i, (_, wrong) in self.counts.items() if not wrong)

    @property
    def wrong_elements(self) -> int:
        """How many elements are wrong."""
        return sum(wrong for _, wrong in self.counts.values())

    def with_unseen(self, ask: AskCalls) -> CallTrial:
        """Return the trial with calls that are no vectors, of many more elements; as it is where
        these are not answered.
        """
        calls, answers, more = self.calls, self.answers, unseen_calls(self.spec, self.calls)
        got = ask(more) if len(more) else None
        if got is None or got.faults or got.declined:
            return self
        first = len(calls)
        counts = {first + i: count for i, count in _counts(more, got).items()}
        messages = {first + i: message for i, message in got.messages.items()}
        together = replace(
            answers,
            got=(*answers.got, *got.got),
            state=np.concatenate([answers.state, got.state]),
            messages={**answers.messages, **messages},
        )
        every = (*calls.expected, *more.expected)
        both = replace(calls, calls=(*calls.calls, *more.calls), expected=every)
        return CallTrial(self.spec, both, together, {**self.counts, **counts})

    @cached_property
    def probes(self) -> tuple[int, ...]:
        """A few of the calls that were answered wrongly, spread over all of them."""
        return _spread(self.wrong, _PROBES)

    @cached_property
    def candidates(self) -> Edits:
        """What makes of causes what the calls become."""
        return wrong_calls(self.spec, self.calls.case, self.calls.calls)

    @cached_property
    def _known(self) -> dict[tuple[Hashable, int], bool]:
        """Which calls candidates are known to give the answer to."""
        return {}

    @cached_property
    def first_wanted(self) -> WantedElements | None:
        """Some elements of the first probe, None where no element of it is wrong by itself."""
        return self._wanted(self.probes[:1])

    @cached_property
    def all_wanted(self) -> WantedElements | None:
        """The same of every probe, with some of all calls that no reading leaves open: what changes
        only some elements may leave those to the rules.
        """
        wanted = self._wanted(self.probes)
        if wanted is None or not wanted.elements:
            return wanted
        calls = _spread(sorted((*self.wrong, *self.right)), _BESIDES)
        told = {i: _told(self.calls.expected[i], self.answers.got[i]) for i in calls}
        return self._elements((*wanted.elements, *_few(told)))

    def _wanted(self, some: Sequence[int]) -> WantedElements | None:
        got = {i: self.answers.got[i] for i in some}
        if None in got.values():
            return WantedElements((), _never)
        few = _few({i: _never_right(self.calls.expected[i], got[i]) for i in some})
        return self._elements(few) if few else None

    def _elements(self, few: Sequence[tuple[int, NDArray[np.intp]]]) -> WantedElements:
        """Return elements of calls with what was answered."""
        arrays = [cast(Outputs, self.answers.got[i]).arrays[0].reshape(-1)[at] for i, at in few]
        answered = cast(Bits, np.concatenate(arrays))
        accepts = partial(_are_as_got, self.calls.case.outputs[0].format, answered)
        return WantedElements(tuple(few), accepts)

    def gives(self, candidate: WrongCall, i: int) -> bool:
        """Return whether a candidate gives the answer to call `i`."""
        key = candidate.key, i
        if key not in self._known:
            self._known[key] = self._gives(candidate, i)
        return self._known[key]

    def _gives(self, candidate: WrongCall, i: int) -> bool:
        state, got = self.answers.state[i], self.answers.got[i]
        if got is not None and candidate.shape and (candidate.shape(i),) != shapes_of(got):
            return False
        outline = candidate.outline(i) if candidate.outline and got is not None else None
        if outline and got is not None and not is_as_read(outline, got):
            return False
        given = candidate.answer(i)
        if given is None or given is DEADLY or state == CRASHED:
            return bool(given is DEADLY and state == CRASHED)
        if state == REFUSED:
            return given.pattern == pattern.REFUSED
        if got is None or given.pattern != pattern.EXACT:
            return False
        said = freed(given, self.calls.expected[i])
        return said is not None and is_as_read(said, got)

    def leading(self, candidate: WrongCall) -> int:
        """Return how many probes a candidate gives before the first that it does not give."""
        missed = (n for n, i in enumerate(self.probes) if not self.gives(candidate, i))
        return next(missed, len(self.probes))

    def sampled(self, candidate: WrongCall) -> int:
        """Return how many of a few right answers a candidate gives."""
        return sum(self.gives(candidate, i) for i in _spread(self.right, _SAMPLE))

    def count(self, candidate: WrongCall) -> int:
        """Return how many elements there are in the calls whose answers a candidate gives."""
        return sum(size for i, (size, _) in self.counts.items() if self.gives(candidate, i))

    @cached_property
    def _order(self) -> list[int]:
        """All calls, those first that the last candidates did not give."""
        return [*self.wrong, *self.right]

    def explains(self, candidate: WrongCall) -> bool:
        """Return whether a candidate gives every answer."""
        for place, i in enumerate(self._order):
            if not self.gives(candidate, i):
                self._order.insert(0, self._order.pop(place))
                return False
        return True


def _counts(calls: CallSet, answers: CallAnswers) -> dict[int, tuple[int, int]]:
    """Return, of each call that is judged, how many elements are, and how many are wrong: at least
    one of a wrong answer, and one of a call without an answer.
    """
    asked = np.flatnonzero(answers.state < NOT_ASKED).tolist()
    judged = {i: judged_call(calls, answers, i) for i in asked}
    found = {}
    for i, one in judged.items():
        if one.sort != "undefined":
            outputs = one.reading.outputs if answers.got[i] is not None else ()
            size = sum(np.count_nonzero(o.patterns != pattern.UNDEFINED) for o in outputs)
            found[i] = max(int(size), one.wrong, 1), 0 if one.sort == RIGHT else max(one.wrong, 1)
    return found


def _spread(numbers: Sequence[int], n: int) -> tuple[int, ...]:
    """Return n of the numbers, or all."""
    if not numbers:
        return ()
    places = np.unique(np.linspace(0, len(numbers) - 1, n).astype(np.intp))
    return tuple(numbers[i] for i in places)


def _never(codes: Bits, patterns: NDArray[np.uint8]) -> Mask:
    return np.zeros(len(codes), bool)


def _few(found: Mapping[int, Sequence[int]]) -> list[tuple[int, NDArray[np.intp]]]:
    """Return a few of the elements of each call that has some."""
    return [(i, np.array(_spread(each, _ELEMENTS))) for i, each in found.items() if len(each)]


def _never_right(expected: ExpectedCall, got: Returned | None) -> Sequence[int]:
    """Return the elements of an answer of one output that every reading says, and none gives; none
    where it has another form.
    """
    wrong = [~right & told for right, told in _by_reading(expected, got)]
    return np.flatnonzero(np.logical_and.reduce(wrong)).tolist() if wrong else ()


def _told(expected: ExpectedCall, got: Returned | None) -> Sequence[int]:
    """Return the elements of an answer of one output that every reading says; none where it has
    another form.
    """
    told = [each for _, each in _by_reading(expected, got)]
    return np.flatnonzero(np.logical_and.reduce(told)).tolist() if told else ()


def _by_reading(expected: ExpectedCall, got: Returned | None) -> list[tuple[Mask, Mask]]:
    """Return, under each reading, which elements of an answer of one output are right and which are
    told; nothing where it has another form under one.
    """
    found = []
    for reading in expected.readings:
        [due, *more] = reading.outputs or (None,)
        if not isinstance(got, Outputs) or due is None or more or not _has_form(due, got):
            return []
        flat, fmt = got.arrays[0].reshape(-1), due.dtype.format
        right = matching(Reading(due.codes, due.patterns), flat, fmt, fmt, due.codes)
        found.append((np.asarray(right), np.asarray(due.patterns != pattern.UNDEFINED)))
    return found


def _are_as_got(fmt: Format, got: Bits, codes: Bits, patterns: NDArray[np.uint8]) -> Mask:
    told = patterns != pattern.UNDEFINED
    return np.asarray(told & matching(Reading(codes, patterns), got, fmt, fmt, codes))


def _has_form(due: ExpectedOutput, got: Outputs) -> bool:
    form = [(due.dtype.name, due.shape, due.dtype.format.storage)]
    pairs = zip(got.types, got.arrays, strict=False)
    return [(name, array.shape, array.dtype) for name, array in pairs] == form


def freed(given: CallReading, expected: ExpectedCall) -> CallReading | None:
    """Return what is given without the elements of which a rule leaves open what they are; None
    where another element is not said.
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


# The search --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Tried:
    """A cause, what the case becomes with it, and how many probes that gives."""

    cause: Cause
    candidate: WrongCall
    given: int


def diagnose_calls(
    causes: Sequence[Cause],
    catalog: Catalog,
    calls: CallSet,
    answers: CallAnswers,
    ask: AskCalls | None = None,
) -> CaseDiagnosis | None:
    """Return what explains the answers to calls; None where no cause is tried. It has to give the
    answers to more calls, where the backend may be asked.
    """
    trial = CallTrial.of(catalog, calls, answers)
    if trial is None:
        return None
    fits, near, beside = _found(causes, trial, ask)
    size = sum(judged for judged, _ in trial.counts.values())
    return CaseDiagnosis(size, trial.wrong_elements, fits, near, beside=beside)


def _found(
    causes: Sequence[Cause], trial: CallTrial, ask: AskCalls | None
) -> tuple[tuple[Names, ...], tuple[Near, ...], int]:
    """Return what explains a trial and the answers to calls that are no vectors."""
    fits, near = search_calls(causes, trial, trial)
    if not fits or not ask:
        return fits, near, 0
    more, named = trial.with_unseen(ask), {cause.name: cause for cause in causes}
    left = tuple(each for each in fits if _explained(more, [named[name] for name in each]))
    if not left:
        left, near = search_calls(causes, trial, more)
    return left, near, more.wrong_elements - trial.wrong_elements


def search_calls(
    causes: Sequence[Cause], seen: CallTrial, trial: CallTrial
) -> tuple[tuple[Names, ...], tuple[Near, ...]]:
    """Return what gives all answers of a trial, the plainest first; where nothing does, what comes
    closest with the vectors that it has seen.
    """
    pairs = found_together(causes)
    if fits := fitting(causes, pairs, lambda some: _explained(trial, some)):
        return tuple(tuple(cause.name for cause in each) for each in fits), ()
    tried = [one for cause in causes for one in _probed(seen, cause)]
    closest = _closest(seen, tried)
    if pair := next(_together(trial, closest, causes), None):
        return (tuple(cause.name for cause in pair),), ()
    return (), tuple(near for _, near in closest[:_CLOSEST])


def _explained(trial: CallTrial, causes: Sequence[Cause]) -> bool:
    """Return whether causes give every answer together."""
    return any(map(trial.explains, trial.candidates(causes, trial.all_wanted)))


def _probed(trial: CallTrial, cause: Cause) -> Iterator[_Tried]:
    for candidate in trial.candidates((cause,), trial.first_wanted):
        yield _Tried(cause, candidate, trial.leading(candidate))


def _closest(trial: CallTrial, tried: Sequence[_Tried]) -> list[tuple[Cause, Near]]:
    """Return the causes that give most answers, of those that give most probes and a sample."""
    scored = [(one.given, trial.sampled(one.candidate), one) for one in tried if one.given]
    best: dict[str, _Tried] = {}
    for *_, one in sorted(scored, key=lambda each: (-each[0], -each[1])):
        best.setdefault(one.cause.name, one)
    some = list(best.values())[:_COUNTED]
    found = [(one.cause, Near(one.cause.name, trial.count(one.candidate))) for one in some]
    return sorted(found, key=lambda each: -each[1].count)


def _together(
    trial: CallTrial, closest: Sequence[tuple[Cause, Near]], causes: Sequence[Cause]
) -> Iterator[tuple[Cause, Cause]]:
    """Yield two causes that give all answers together, one of which comes close alone."""
    for cause, _ in closest[:_PAIRED]:
        for other in causes:
            if other is not cause and _explained(trial, (cause, other)):
                yield cause, other
