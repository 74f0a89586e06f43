"""Survey an elementwise operator."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from convcheck.causes.trial import Trial, Tried, tried
from convcheck.judge.answers import ANSWERED, CRASHED, NOT_ASKED, REFUSED, Answers
from convcheck.judge.matching import Mask, matching
from convcheck.judge.refusals import cannot_be_put
from convcheck.judge.result import Answered, Fits, Laws, Surveyed
from convcheck.numerics.codes import with_one_nan
from convcheck.numerics.format import Text
from convcheck.numerics.number import FINITE, INFINITY, NAN
from convcheck.records import replace
from convcheck.rules.causes import Cause
from convcheck.rules.load import Catalog
from convcheck.semantics.expected import Decision
from convcheck.survey.model import (
    EVERY_READING,
    EXAMPLES,
    NO_READING,
    OPEN,
)
from convcheck.vectors.model import VectorSet

Index = NDArray[np.intp]
Told = tuple[Fits, Mask]  # laws, and the mask of answers without any
_KINDS = (("finite", FINITE), ("infinite", INFINITY), ("NaN", NAN))
_SAMPLE = 4096  # answers kept of a row


@dataclass(frozen=True)
class Known:
    """The catalogue and causes that describe answers."""

    catalog: Catalog
    #: The causes whose sentences are the laws.
    causes: Sequence[Cause]

    def of(self, trial: Trial) -> Told:
        """Return the laws of answers to undefined inputs."""
        return _laws(trial, list(tried(trial, self.causes)))


def surveyed_elements(known: Known, vectors: VectorSet, answers: Answers) -> Iterator[Surveyed]:
    """Yield the answers in each undefined and disputed row of a case."""
    if answers.declined is not None and not cannot_be_put(answers.declined):
        answers = _refused(vectors, answers, answers.declined.message)
    for number, decision in enumerate(vectors.expected.decisions):
        index = np.flatnonzero(vectors.expected.rows == number)
        if decision.level not in OPEN or not len(index):
            continue
        if answers.declined is not None:
            message = answers.declined.message
            yield Surveyed(decision, len(index), message=message, unsupported=True)
        else:
            yield _row(known, vectors, answers, decision, index)


def _refused(vectors: VectorSet, answers: Answers, message: str) -> Answers:
    state = np.full(len(vectors), REFUSED, np.uint8)
    said = dict.fromkeys(range(len(vectors)), message)
    return replace(answers, state=state, messages=said, declined=None)


def _row(
    known: Known, vectors: VectorSet, answers: Answers, decision: Decision, index: Index
) -> Surveyed:
    state = answers.state[index]
    answered = index[state == ANSWERED]
    fits: Fits = ()
    odd = answered[:0]
    if len(answered):
        spec = known.catalog.specs[vectors.case.spec]
        trial = Trial.of(spec, vectors, answers, answered)
        disputed = decision.level == "disputed"
        fits, left = _readings(known, trial, decision) if disputed else known.of(trial)
        odd = answered[left]
    shown = _sample(vectors, answers, odd, EXAMPLES)
    return Surveyed(
        decision,
        int((state < NOT_ASKED).sum()),
        fits,
        int((state == REFUSED).sum()),
        int((state == CRASHED).sum()),
        _elsewhere(answers, index),
        len(odd),
        _said(answers, index[state != ANSWERED]),
        digest=_digest(vectors, answers, index),
        examples=tuple(shown[i] for i in range(len(shown))),
        sample=_sample(vectors, answers, index, _SAMPLE),
    )


def _said(answers: Answers, silent: Index) -> str:
    words = (answers.messages[i] for i in silent.tolist() if i in answers.messages)
    faults = (f"{fault.kind}: {fault.message}" for fault in answers.faults)
    return next(words, "") or (next(faults, "") if len(silent) else "")


def _laws(trial: Trial, tried: Sequence[Tried]) -> Told:
    """Return the causes that give all answers to undefined inputs, and the mask of the rest.

    If none does, return those that give all answers to each kind of input.
    """
    kinds = trial.points.x.kind
    every = np.ones(len(kinds), bool)
    present = [(name, kinds == kind) for name, kind in _KINDS if (kinds == kind).any()]
    whole = _fitting(tried, every)
    if whole or len(present) < 2 or isinstance(trial.points.source, Text):
        return (("", whole),), every & (not whole)
    found = tuple((name, _fitting(tried, mask)) for name, mask in present)
    if not any(laws for _, laws in found):
        return (("", ()),), every
    lawless = (mask for (_, mask), (_, laws) in zip(present, found, strict=True) if not laws)
    return found, np.logical_or.reduce([~every, *lawless])


def _fitting(tried: Sequence[Tried], mask: Mask) -> Laws:
    return tuple(cause.says for cause, given in tried if given[mask].all())


def _readings(known: Known, trial: Trial, decision: Decision) -> Told:
    """Return the readings of a disputed row that fit all answers.

    If none fits, return causes that do, and the mask of answers that the best reading misses.
    """
    points, got = trial.points, trial.got
    readings = trial.readings[: len(decision.readings)]
    wrong = [~matching(each, got, points.target, points.source, points.bits) for each in readings]
    names = tuple(n for n, bad in zip(decision.readings, wrong, strict=True) if not bad.any())
    if len(names) == len(decision.readings):
        names = (EVERY_READING, *names)
    odd = min(wrong, key=np.count_nonzero)
    if names:
        return (("", names),), odd
    laws = dict(known.of(trial)[0]).get("", ())
    return (("", tuple(NO_READING + law for law in laws)),), odd


def _elsewhere(answers: Answers, index: Index) -> int:
    inside = (other.index[np.isin(other.index, index)] for other in answers.elsewhere)
    return len(set().union(*(part.tolist() for part in inside)))


def _digest(vectors: VectorSet, answers: Answers, index: Index) -> str:
    state = answers.state[index]
    got = with_one_nan(vectors.case.outputs[0].format, answers.got[index])
    words = repr((state.tolist(), got[state == ANSWERED].tolist()))
    return hashlib.blake2b(words.encode(), digest_size=16).hexdigest()


def _sample(vectors: VectorSet, answers: Answers, index: Index, most: int) -> Answered:
    if len(index) > most:
        index = index[np.linspace(0, len(index) - 1, most).astype(np.intp)]
    messages = {i: answers.messages[at] for i, at in enumerate(index.tolist())
                if at in answers.messages}  # fmt: skip
    got = with_one_nan(vectors.case.outputs[0].format, answers.got[index])
    inputs = tuple(tensor[index] for tensor in vectors.inputs)
    return Answered(inputs, got, answers.state[index], messages)
