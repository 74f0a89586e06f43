"""Ask samples in chunks, and judge them by a chart on the way.

What is answered in no form, or refused, is asked again by itself, to find out which of the samples
are to blame.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import cast

import numpy as np

from convcheck.ask.elements import Note
from convcheck.ask.isolated import ask_apart, chunk_vectors, group_at, said_once
from convcheck.backends.protocol import Answer, Backend, Declined, Outputs, Refused
from convcheck.judge.answers import Avoid
from convcheck.judge.form import form_complaint, strangers
from convcheck.judge.scattered import Comparing
from convcheck.judge.tally import Tally, merge
from convcheck.numerics.format import Codes, Numeric
from convcheck.rules.model import Case
from convcheck.semantics.chart import Chart, chart_of
from convcheck.semantics.expected import REFUSED, Decision
from convcheck.semantics.program import Program
from convcheck.vectors.model import VectorSet
from convcheck.vectors.samples import samples
from convcheck.vectors.span import CHUNK, Span

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
    told: Callable[[int], Note],
) -> Tally:  # fmt: skip
    """Ask a span of samples; `told` gives what is told of the calls of the chunk at an offset."""
    comparing, tallies = Comparing(case, program, form, chart), []
    for offset in range(0, span.count, CHUNK):
        part, note = span.chunk(offset), told(offset)
        codes = samples(chart.source, chart.target, cast(int, part.seed), part.first, part.count)
        note("bulk", np.arange(part.count))
        answer = backend.answer(case, [codes.copy()])  # it may be written into
        if _is_right_in_form(answer, case, codes.shape):
            comparing.chunk(codes, cast(Codes, cast(Outputs, answer).arrays[0]))
        else:
            vectors = chunk_vectors(case, program, form, part.first, part.count, part.seed)
            tallies.append(_apart(backend, vectors, note, answer))
    return merge([comparing.tally(), *tallies])


def _is_right_in_form(answer: Answer, case: Case, shape: tuple[int, ...]) -> bool:
    if not isinstance(answer, Outputs) or form_complaint(answer, case, shape):
        return False
    return strangers(case.outputs[0].format, answer.arrays[0]) is None


def _apart(backend: Backend, vectors: VectorSet, note: Note, answer: Answer) -> Tally:
    """Return what is found where a chunk was declined; else ask it again, which tells of what was
    refused, or answered with something that has no form.
    """
    if isinstance(answer, Declined):
        return Tally({}, {}, declined=len(vectors))
    tally = ask_apart(backend, vectors, note, {}, Avoid(), True)
    if not isinstance(answer, Refused) and not tally.faults:
        tally = replace(tally, faults=(group_at(vectors, said_once(answer, vectors)),))
    return tally
