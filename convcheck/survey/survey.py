"""Survey a backend in undefined and disputed rows.

`survey` is a judge. It runs in the worker and keeps the data to compare backends (`survey.view`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from convcheck.ask.jobs import VectorSource
from convcheck.judge.answers import (
    ANSWERED,
    CRASHED,
    NOT_ASKED,
    REFUSED,
    Answers,
    Index,
)
from convcheck.judge.result import CaseResult, Surveyed
from convcheck.records import replace
from convcheck.rules.model import Case
from convcheck.semantics.expected import Decision
from convcheck.survey.calls import Calls
from convcheck.survey.elements import Elements, Known
from convcheck.vectors.model import CallSet, Vectors, VectorSet

OPEN = frozenset(("undefined", "disputed"))
_EXAMPLES = 3  # examples kept of answers without a law


@dataclass(frozen=True)
class OpenRows:
    """A corpus reduced to undefined and disputed rows."""

    corpus: VectorSource

    def vectors(self, case: Case) -> Vectors:
        """Return a case's inputs in such rows, possibly none."""
        whole = self.corpus.vectors(case)
        levels = np.array([decision.level in OPEN for decision in whole.decisions], bool)
        index = np.flatnonzero(levels[whole.rows])
        if isinstance(whole, VectorSet):
            return whole.take(index)
        calls = tuple(whole.calls[i] for i in index)
        return replace(whole, calls=calls, expected=tuple(whole.expected[i] for i in index))


def survey(known: Known, vectors: Vectors, answers: Answers) -> CaseResult:
    """Return the answers in a case's open rows, without verdicts."""
    asked = int((answers.state < NOT_ASKED).sum())
    if answers.declined is not None and not answers.declined.missing:
        state = np.full(len(vectors), REFUSED, np.uint8)
        said = dict.fromkeys(range(len(vectors)), answers.declined.message)
        answers = replace(answers, state=state, messages=said, declined=None)
    rows = tuple(_surveyed(known, vectors, answers))
    return CaseResult(vectors.case, "undefined", asked, vectors.coverage, rows=rows)


def _surveyed(known: Known, vectors: Vectors, answers: Answers) -> Iterator[Surveyed]:
    if isinstance(vectors, CallSet):
        asked: Calls | Elements = Calls(vectors, answers)
    else:
        asked = Elements(known, vectors, answers)
    for number, decision in enumerate(vectors.decisions):
        index = np.flatnonzero(vectors.rows == number)
        if decision.level not in OPEN or not len(index):
            continue
        if answers.declined is not None:
            message = answers.declined.message
            yield Surveyed(decision, len(index), message=message, unsupported=True)
        else:
            yield _row(asked, decision, index)


def _row(asked: Calls | Elements, decision: Decision, index: Index) -> Surveyed:
    state = asked.answers.state[index]
    answered = index[state == ANSWERED]
    fits, odd = asked.fits(decision, answered) if len(answered) else ((), answered)
    shown = asked.sample(_spread(odd, _EXAMPLES))
    words = repr(asked.key(index)).encode()
    return Surveyed(
        decision,
        int((state < NOT_ASKED).sum()),
        fits,
        int((state == REFUSED).sum()),
        int((state == CRASHED).sum()),
        asked.elsewhere(index),
        len(odd),
        _message(asked.answers, index[state != ANSWERED]),
        digest=hashlib.blake2b(words, digest_size=16).hexdigest(),
        examples=tuple(shown[i] for i in range(len(shown))),
        sample=asked.sample(_spread(index, asked.most)),
    )


def _message(answers: Answers, silent: Index) -> str:
    words = (answers.messages[i] for i in silent.tolist() if i in answers.messages)
    faults = (f"{fault.kind}: {fault.message}" for fault in answers.faults)
    return next(words, "") or (next(faults, "") if len(silent) else "")


def _spread(index: Index, most: int) -> Index:
    if len(index) <= most:
        return index
    return index[np.linspace(0, len(index) - 1, most).astype(np.intp)]
