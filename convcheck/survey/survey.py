"""What a backend does where a standard leaves it free: in undefined and in disputed rows.

`survey` is a judge: it runs in the worker, next to the answers, and keeps of them what a parent
needs to compare backends (`survey.view`).
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
    """Say what was answered in a case's open rows. Nothing is held against it: no groups."""
    if isinstance(vectors, CallSet):
        rows = surveyed_calls(vectors, cast(CallAnswers, answers))
    else:
        rows = surveyed_elements(known, vectors, cast(Answers, answers))
    asked = int((answers.state < NOT_ASKED).sum())
    return CaseResult(vectors.case, "undefined", asked, vectors.coverage, rows=tuple(rows))


@dataclass(frozen=True)
class OpenRows:
    """A corpus cut down to what undefined and disputed rows decide."""

    corpus: VectorSource

    def vectors(self, case: Case) -> Vectors:
        """Return a case's inputs in such rows, perhaps none."""
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
