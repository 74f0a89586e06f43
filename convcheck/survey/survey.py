"""Survey a backend in undefined and disputed rows.

`survey` is a judge. It runs in the worker and keeps the data to compare backends (`survey.view`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np

from convcheck.ask.jobs import VectorSource
from convcheck.judge.answers import NOT_ASKED, Answers, CallAnswers
from convcheck.judge.result import CaseResult
from convcheck.records import replace
from convcheck.rules.model import Case
from convcheck.survey.calls import surveyed_calls
from convcheck.survey.elements import Known, surveyed_elements
from convcheck.survey.model import OPEN
from convcheck.vectors.model import CallSet, Vectors, VectorSet


def survey(known: Known, vectors: Vectors, answers: Answers | CallAnswers) -> CaseResult:
    """Return the answers in a case's open rows, without verdicts."""
    if isinstance(vectors, CallSet):
        rows = surveyed_calls(vectors, cast(CallAnswers, answers))
    else:
        rows = surveyed_elements(known, vectors, cast(Answers, answers))
    asked = int((answers.state < NOT_ASKED).sum())
    return CaseResult(vectors.case, "undefined", asked, vectors.coverage, rows=tuple(rows))


@dataclass(frozen=True)
class OpenRows:
    """A corpus reduced to undefined and disputed rows."""

    corpus: VectorSource

    def vectors(self, case: Case) -> Vectors:
        """Return a case's inputs in such rows, possibly none."""
        whole = self.corpus.vectors(case)
        return _calls(whole) if isinstance(whole, CallSet) else _elements(whole)


def _elements(whole: VectorSet) -> VectorSet:
    levels = np.array([d.level in OPEN for d in whole.expected.decisions], bool)
    index = np.flatnonzero(levels[whole.expected.rows])
    inputs = tuple(tensor[index] for tensor in whole.inputs)
    return replace(whole, inputs=inputs, expected=whole.expected.take(index))


def _calls(whole: CallSet) -> CallSet:
    both = zip(whole.calls, whole.expected, strict=True)
    kept = [(call, due) for call, due in both if whole.decisions[due.row].level in OPEN]
    calls, expected = tuple(call for call, _ in kept), tuple(due for _, due in kept)
    return replace(whole, calls=calls, expected=expected)
