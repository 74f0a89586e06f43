"""Ask samples in chunks, and judge them by a chart on the way.

What is answered in no form, or refused, is asked again by itself, to find out which of the samples
are to blame.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, cast

import numpy as np

from convcheck.ask.elements import Note
from convcheck.ask.isolated import ask_apart, chunk_vectors, group_at, said_once
from convcheck.ask.stream import POISON
from convcheck.backends.protocol import Answer, Backend, Declined, Outputs, Refused, bound
from convcheck.judge.answers import Avoid
from convcheck.judge.form import form_complaint, strangers
from convcheck.judge.scattered import Comparing
from convcheck.judge.tally import Tally, merge
from convcheck.numerics.format import Numeric
from convcheck.rules.model import Case
from convcheck.semantics.chart import Chart, chart_of
from convcheck.semantics.expected import REFUSED, Decision
from convcheck.semantics.program import Program
from convcheck.vectors.model import VectorSet
from convcheck.vectors.samples import put_samples
from convcheck.vectors.span import CHUNK, Span

if TYPE_CHECKING:
    from convcheck.causes.held import Held

_WORTH = 2 * CHUNK  # samples that are evaluated in about the time in which a chart is made


def chart_for(case: Case, program: Program, span: Span) -> Chart | None:
    """Return the chart by which a span is judged, None where it is evaluated."""
    if span.seed is None or span.count <= _WORTH:
        return None
    source, target = (cast(Numeric, t[0].format) for t in (case.inputs, case.outputs))
    found = chart_of(program, source, target)
    # what is to be refused is asked apart
    refused = found and any((r.patterns == REFUSED).any() for r in found.expected.readings)
    return None if refused else found


def ask_scattered(
    backend: Backend, case: Case, program: Program, form: Decision, chart: Chart, span: Span,
    told: Callable[[int], Note], held: Held | None = None,
) -> Tally:  # fmt: skip
    """Ask a span of samples; `told` gives what is told of the calls of the chunk at an offset.
    Causes are `held` against the answers.
    """
    comparing, tallies = Comparing(case, program, form, chart), []
    calls = _Calls(backend, case, chart, min(CHUNK, span.count))
    for offset in range(0, span.count, CHUNK):
        part, note = span.chunk(offset), told(offset)
        if part.count != len(calls.codes):
            calls = _Calls(backend, case, chart, part.count)
        answer = calls.answer(part, note)
        if answer is None:
            comparing.chunk(calls.codes, calls.out)
            if held:
                held.codes(calls.codes, calls.out)
        else:
            vectors = chunk_vectors(case, program, form, part.first, part.count, part.seed)
            tallies.append(_apart(backend, vectors, note, answer, held))
    return merge([comparing.tally(), *tallies])


class _Calls:
    """Calls of one length, through buffers that are used again and again."""

    def __init__(self, backend: Backend, case: Case, chart: Chart, size: int) -> None:
        self.case, self.chart = case, chart
        self.codes, self.index = np.zeros(size, chart.source.storage), np.arange(size)
        self.out = np.zeros(size, chart.target.storage)
        self.given = self.codes.copy()  # the backend may write into it
        self.call = bound(backend, case, self.given, self.out)
        self.poison = POISON

    def answer(self, part: Span, note: Note) -> Answer | None:
        """Ask a chunk; return None where answers that are right in form are in `out`."""
        source, target = self.chart.source, self.chart.target
        put_samples(self.codes, source, target, cast(int, part.seed), part.first)
        np.copyto(self.given, self.codes)
        self.out.view(np.uint8).fill(self.poison)
        self.poison ^= 0xFF
        note("bulk", self.index)
        answer = self.call()
        if isinstance(answer, Outputs) and not form_complaint(answer, self.case, self.out.shape):
            np.copyto(self.out, answer.arrays[0])
            answer = None
        if answer is None and strangers(target, self.out) is not None:
            return Outputs((self.out,), (self.case.outputs[0].name,))
        return answer


def _apart(
    backend: Backend, vectors: VectorSet, note: Note, answer: Answer, held: Held | None
) -> Tally:
    """Return what is found where a chunk was declined; else ask it again, which tells of what was
    refused, or answered with something that has no form.
    """
    if isinstance(answer, Declined):
        return Tally({}, {}, declined=len(vectors))
    tally = ask_apart(backend, vectors, note, {}, Avoid(), True, held)
    if not isinstance(answer, Refused) and not tally.faults:
        tally = replace(tally, faults=(group_at(vectors, said_once(answer, vectors)),))
    return tally
