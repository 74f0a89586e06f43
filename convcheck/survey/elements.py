"""The survey of an operator that works element by element."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from convcheck.judge.answers import ANSWERED, CRASHED, NOT_ASKED, REFUSED, Answers
from convcheck.judge.matching import matching
from convcheck.judge.refusals import cannot_be_put
from convcheck.semantics.evaluate import points_of
from convcheck.semantics.expected import Decision
from convcheck.survey.law_words import with_one_nan
from convcheck.survey.laws import Fits, fits_of, fitting, kind_of
from convcheck.survey.model import EVERY_READING, EXAMPLES, NO_READING, OPEN, Answered, Surveyed
from convcheck.vectors.model import VectorSet

Index = NDArray[np.intp]
_SAMPLE = 4096  # answers kept of a row


def surveyed_elements(vectors: VectorSet, answers: Answers) -> Iterator[Surveyed]:
    """Say what was answered in each undefined and disputed row of a case."""
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
            yield _row(vectors, answers, decision, index)


def _refused(vectors: VectorSet, answers: Answers, message: str) -> Answers:
    """Take a model that was turned down as a refusal of every input."""
    state = np.full(len(vectors), REFUSED, np.uint8)
    said = dict.fromkeys(range(len(vectors)), message)
    return replace(answers, state=state, messages=said, declined=None)


def _row(vectors: VectorSet, answers: Answers, decision: Decision, index: Index) -> Surveyed:
    state = answers.state[index]
    answered = index[state == ANSWERED]
    fits: Fits = ()
    odd = answered[:0]
    if len(answered):
        found = _readings if decision.level == "disputed" else _laws
        fits, odd = found(vectors, answers, decision, answered)
    shown = _sample(vectors, answers, odd, EXAMPLES)
    return Surveyed(
        decision,
        int((state != NOT_ASKED).sum()),
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
    """Return the runtime's words for the first input without an answer, or what was malformed."""
    words = (answers.messages[i] for i in silent.tolist() if i in answers.messages)
    faults = (f"{fault.kind}: {fault.message}" for fault in answers.faults)
    return next(words, "") or (next(faults, "") if len(silent) else "")


def _laws(
    vectors: VectorSet, answers: Answers, decision: Decision, index: Index
) -> tuple[Fits, Index]:
    """Return the laws of an undefined row, and the elements that have none."""
    case = vectors.case
    points = points_of(case, vectors.inputs[0][index])
    fits = fits_of(points, with_one_nan(case.outputs[0].format, answers.got[index]))
    odd = np.zeros(len(index), bool)
    for kind, laws in fits:
        odd |= kind_of(points, kind) & (not laws)
    return fits, index[odd]


def _readings(
    vectors: VectorSet, answers: Answers, decision: Decision, index: Index
) -> tuple[Fits, Index]:
    """Return the readings of a disputed row that fit all answers.

    Where none does, the laws that fit, and the elements that the best reading leaves over.
    """
    source, target = vectors.case.inputs[0].format, vectors.case.outputs[0].format
    inputs, got = vectors.inputs[0][index], answers.got[index]
    readings = vectors.expected.take(index).readings[: len(decision.readings)]
    wrong = [~matching(reading, got, target, source, inputs) for reading in readings]
    names = tuple(n for n, bad in zip(decision.readings, wrong, strict=True) if not bad.any())
    if len(names) == len(decision.readings):
        names = (EVERY_READING, *names)
    if names:
        return (("", names),), index[:0]
    laws = fitting(points_of(vectors.case, inputs), with_one_nan(target, got))
    odd = index[min(wrong, key=np.count_nonzero)]
    return (("", tuple(NO_READING + law for law in laws)),), odd


def _elsewhere(answers: Answers, index: Index) -> int:
    inside = (other.index[np.isin(other.index, index)] for other in answers.elsewhere)
    return len(set().union(*(part.tolist() for part in inside)))


def _digest(vectors: VectorSet, answers: Answers, index: Index) -> str:
    """Hash states and answers in the inputs' order; two backends are asked the same inputs."""
    state = answers.state[index]
    got = with_one_nan(vectors.case.outputs[0].format, answers.got[index])
    words = repr((state.tolist(), got[state == ANSWERED].tolist()))
    return hashlib.blake2b(words.encode(), digest_size=16).hexdigest()


def _sample(vectors: VectorSet, answers: Answers, index: Index, most: int) -> Answered:
    """Keep elements, of many a spread with the first and the last."""
    if len(index) > most:
        index = index[np.linspace(0, len(index) - 1, most).astype(np.intp)]
    messages = {i: answers.messages[at] for i, at in enumerate(index.tolist())
                if at in answers.messages}  # fmt: skip
    got = with_one_nan(vectors.case.outputs[0].format, answers.got[index])
    inputs = tuple(tensor[index] for tensor in vectors.inputs)
    return Answered(inputs, got, answers.state[index], messages)
