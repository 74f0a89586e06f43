"""How long asking and judging takes, case by case, and what of it is whose.

The measurements of a part of the source take turns, so that what else the machine does hits all
alike. Times are seconds of the clock.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from statistics import median
from time import perf_counter
from typing import cast

import numpy as np

from convcheck.ask.heap import keep_heap
from convcheck.ask.jobs import Job
from convcheck.ask.span import ask_span
from convcheck.ask.stream import sweep
from convcheck.backends.protocol import Backend, Bound, Declined, Outputs, bound, last_words
from convcheck.judge.answers import CHUNK
from convcheck.judge.result import BackendInfo
from convcheck.numerics.codes import Codes
from convcheck.numerics.format import Numeric, Text
from convcheck.rules.model import Case, Spec
from convcheck.semantics.program import Program, compile_case
from convcheck.vectors.form import form_decision
from convcheck.vectors.samples import samples
from convcheck.vectors.span import (
    SAMPLED_SPAN,
    SWEPT,
    WHOLE_SPAN,
    Span,
    is_sampled,
    is_swept,
    sample_spans,
)
from convcheck.wording import plural

SEED = 0  # of samples
SPREAD = 16  # parts of the source, at the least, that values are taken from
_TRIAL = 1 << 20  # values by which the time is told beforehand
_ARRAYS = 96 << 20  # bytes of the arrays that are converted whole


@dataclass(frozen=True)
class MeasuredPart:
    """The seconds that one part took: the inputs alone, the backend's calls alone, asked and
    judged; by hand, in chunks and in one array, None where there is nothing to do it with.
    """

    #: How many inputs.
    count: int
    inputs: float
    backend: float
    #: Inputs, calls and judging together, in seconds.
    whole: float
    chunks: float | None
    #: By hand in one array, in seconds.
    arrays: float | None

    @property
    def seconds(self) -> float:
        """All of them together: so long it took to measure the part."""
        by_hand = (self.chunks or 0.0) + (self.arrays or 0.0)
        return self.inputs + self.backend + self.whole + by_hand


@dataclass(frozen=True)
class Measured:
    """A case and what was measured of it; no parts where nothing was, and why not."""

    case: Case
    parts: tuple[MeasuredPart, ...]
    #: Why nothing was measured; '' where something was.
    why_not: str = ""

    @property
    def inputs(self) -> float:
        """Nanoseconds a value that making the inputs takes."""
        return self._mean([part.inputs for part in self.parts])

    @property
    def backend(self) -> float:
        """Nanoseconds a value that the backend's calls take, the buffers in place."""
        return self._mean([part.backend for part in self.parts])

    @property
    def whole(self) -> float:
        """Nanoseconds a value that all of it takes."""
        return self._mean([part.whole for part in self.parts])

    @property
    def judging(self) -> float:
        """Nanoseconds a value that are neither the backend's nor the inputs'."""
        return self.whole - self.backend - self.inputs

    @property
    def shares(self) -> tuple[float, float, float]:
        """What part of the whole are the inputs, the backend and the judging; together 1."""
        return self.inputs / self.whole, self.backend / self.whole, self.judging / self.whole

    @property
    def ratio(self) -> float:
        """How many times the backend's own time all of it takes."""
        return self.whole / self.backend

    @property
    def median_ratio(self) -> float:
        """The same of a middling part: a disturbance in a few of them does not show in it."""
        return median(part.whole / part.backend for part in self.parts)

    @property
    def by_hand(self) -> tuple[float | None, float | None]:
        """Nanoseconds a value, by hand, in chunks and in one array."""
        chunks = [part.chunks for part in self.parts if part.chunks is not None]
        arrays = [part.arrays for part in self.parts if part.arrays is not None]
        return (self._mean(chunks) if chunks else None, self._mean(arrays) if arrays else None)

    def _mean(self, seconds: Sequence[float]) -> float:
        return sum(seconds) / sum(part.count for part in self.parts) * 1e9


@dataclass(frozen=True)
class Bench:
    """All that was measured, the parts of the source in it, and what was left out, by reason."""

    #: Who answered.
    backend: BackendInfo
    #: The version of what the comparison by hand converts with, '' without.
    by_hand: str
    #: Of the sources that are streamed; () where there is none.
    spans: tuple[Span, ...]
    #: The cases, in the order of the plan.
    cases: tuple[Measured, ...]
    #: Reasons, each with how many cases it left out.
    left_out: tuple[tuple[str, int], ...] = ()
    #: How many samples there were of each source that is too wide to be streamed; 0 without one.
    samples: int = 0

    @property
    def values(self) -> int:
        """How many values of each case were measured, the most."""
        return max(sum(span.count for span in self.spans), self.samples)


def why_not_measured(case: Case) -> str:
    """Return why a case's source is neither streamed nor sampled, '' where it is."""
    if is_sampled(case):
        return ""
    if case.whole_calls:
        return "its questions are whole calls, and not streamed"
    source, target = case.inputs[0].format, case.outputs[0].format
    if isinstance(source, Text) or isinstance(target, Text):
        return "a string has no code that could be streamed"
    if len(case.sources) > 1:
        return "it has several inputs, which are not streamed"
    if source.bits < SWEPT:
        return f"a source of {plural(source.bits, 'bit')} is asked in one array, and not streamed"
    return "it has a second input, for its type alone"


def spans_for(case: Case, values: int) -> tuple[Span, ...]:
    """Choose what is measured of a case, at least so many values: parts of a source that is
    streamed, and samples, as a run asks them, of a wider one.
    """
    if is_swept(case):
        return spread_spans(values)
    return sample_spans(-(-values // SAMPLED_SPAN) * SAMPLED_SPAN, SEED)


def spans_of_bench(
    cases: Sequence[Case], spans_of: Callable[[Case], Sequence[Span]]
) -> tuple[tuple[Span, ...], int]:
    """Return the spans of the sources that are streamed, and how many samples the others have."""
    streamed = next((tuple(spans_of(case)) for case in cases if is_swept(case)), ())
    sampled = next((spans_of(case) for case in cases if not is_swept(case)), ())
    return streamed, sum(span.count for span in sampled)


def spread_spans(values: int) -> tuple[Span, ...]:
    """Choose parts of a source of 32 bits, as far apart as they can be, both ends among them.

    They hold at least so many values. A part is as long as in a run, or a smaller power of two,
    at least a chunk, where the values would else come from too few places.
    """
    length = min(WHOLE_SPAN, max(CHUNK, 1 << (max(values // SPREAD, 1).bit_length() - 1)))
    number, places = -(-values // length), (1 << SWEPT) // length
    last = max(number - 1, 1)
    return tuple(Span(i * (places - 1) // last * length, length) for i in range(number))


@contextmanager
def one_core() -> Iterator[None]:
    """Keep this process, and threads that it starts, on one core, where the system can."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(cores)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)


def measure(
    backend: Backend, spec: Spec, case: Case, spans: Sequence[Span], by_hand: Backend | None,
    on_part: Callable[[], None],
) -> Measured:  # fmt: skip
    """Measure a case by its spans; `on_part` is called when one is done.

    What a backend declines, refuses or dies of is not measured: the result says so.
    """
    try:
        declined = backend.support(case)
        if declined is not None:
            raise _NotMeasuredError(declined.message)
        turns = _Turns(backend, spec, case, by_hand)
        parts = []
        for turn, span in enumerate(spans):
            parts.append(turns.part(span, backwards=turn % 2 == 1))
            on_part()
    except _NotMeasuredError as error:
        return Measured(case, (), str(error))
    except Exception as error:  # an adapter may raise anything
        return Measured(case, (), last_words(error))
    return Measured(case, tuple(parts))


def expected_seconds(
    backend: Backend, specs: Mapping[str, Spec], cases: Sequence[Case],
    spans_of: Callable[[Case], Sequence[Span]], by_hand: Backend | None,
) -> float | None:  # fmt: skip
    """Return about how long it takes to measure cases, by a little of the first that converts; None
    where none does.
    """
    for case in cases:
        first = spans_of(case)[0]
        trial = replace(first, count=min(_TRIAL, first.count))
        found = measure(backend, specs[case.spec], case, [trial], by_hand, lambda: None)
        if found.parts:
            values = sum(span.count for case in cases for span in spans_of(case))
            return found.parts[0].seconds / trial.count * values
    return None


class _NotMeasuredError(Exception):
    """The backend does not convert all that it is asked."""


class _Turns:
    """The measurements of one case, which take turns."""

    def __init__(self, backend: Backend, spec: Spec, case: Case, by_hand: Backend | None) -> None:
        keep_heap()  # as a worker does
        self.backend, self.case, self.form = backend, case, form_decision(spec)
        self.program: Program = compile_case(spec, case)
        source, target = case.inputs[0].format, case.outputs[0].format
        self.codes, self.out = np.zeros(CHUNK, source.storage), np.zeros(CHUNK, target.storage)
        self.call = self._bound(self.codes, self.out)
        self.ask(self.call)  # what is made for the first call is not measured
        if not is_swept(case):
            self.whole(Span(0, SAMPLED_SPAN, seed=SEED))
        self.by_hand = by_hand if by_hand and self._converts(by_hand) else None

    def part(self, span: Span, backwards: bool) -> MeasuredPart:
        """Measure a part; every other one in the opposite order."""
        seconds: dict[str, float | None] = {}
        turns = [self.alone, self.whole, self.chunks, self.arrays]
        for turn in reversed(turns) if backwards else turns:
            seconds |= turn(span)
        return MeasuredPart(span.count, **seconds)  # type: ignore[arg-type]

    def alone(self, span: Span) -> dict[str, float | None]:
        """Time the calls, and the inputs between them."""
        times = [perf_counter()]
        for _ in self._inputs(span):
            times.append(perf_counter())
            self.ask(self.call)
            times.append(perf_counter())
        laps = [after - before for before, after in pairwise(times)]
        return {"inputs": sum(laps[::2]), "backend": sum(laps[1::2])}

    def whole(self, span: Span) -> dict[str, float | None]:
        """Time asking and judging, as a run does it."""
        if span.seed is None:
            ask = partial(sweep, self.backend, self.case, self.program, self.form, span, _silent)
        else:
            job = Job(0, self.case, span=span)
            ask = partial(ask_span, self.backend, job, span, self.program, self.form, _silent)
        return {"whole": _timed(ask)}

    def chunks(self, span: Span) -> dict[str, float | None]:
        """Time what a user might write: chunk by chunk, in cache."""
        if self.by_hand is None:
            return {"chunks": None}
        return {"chunks": _timed(partial(self._by_hand, self.by_hand, span))}

    def arrays(self, span: Span) -> dict[str, float | None]:
        """Time what a user might write: arrays as long as the part, out of cache."""
        if self.by_hand is None:
            return {"arrays": None}
        return {"arrays": _timed(partial(self._in_arrays, self.by_hand, span))}

    def ask(self, call: Bound) -> None:
        """Make a call that has to be answered."""
        answer = call()
        if answer is not None:
            what = "declined" if isinstance(answer, Declined) else "not answered as asked"
            message = getattr(answer, "message", "")
            raise _NotMeasuredError(message or f"some of the inputs were {what}")

    def _bound(self, codes: Codes, out: Codes) -> Bound:
        return bound(self.backend, self.case, codes, out)

    def _inputs(self, span: Span) -> Iterator[None]:
        """Put chunk after chunk into the input buffer."""
        if span.seed is not None:
            for at in range(0, span.count, CHUNK):
                self.codes[:] = self._samples(span, at, CHUNK)
                yield
            return
        self.codes[:] = np.arange(span.first, span.first + CHUNK).astype(self.codes.dtype)
        step = self.codes.dtype.type(CHUNK)
        yield
        for _ in range(1, span.count // CHUNK):
            self.codes += step
            yield

    def _converts(self, by_hand: Backend) -> bool:
        """Return whether there is something to do it by hand with."""
        if not all(t.name_in(by_hand.name) for t in (*self.case.inputs, *self.case.outputs)):
            return False
        answer = by_hand.answer(self.case, [self.codes])
        return isinstance(answer, Outputs) and answer.arrays[0].dtype == self.out.dtype

    def _by_hand(self, by_hand: Backend, span: Span) -> int:
        right = 0
        for _ in self._inputs(span):
            self.ask(self.call)
            right += np.array_equal(_converted(by_hand, self.case, self.codes), self.out)
        return right

    def _in_arrays(self, by_hand: Backend, span: Span) -> int:
        right, length = 0, min(span.count, self._longest())
        for at in range(0, span.count, length):
            if span.seed is None:
                codes = np.arange(length, dtype=self.codes.dtype)
                codes += codes.dtype.type(span.first + at)
            else:
                codes = self._samples(span, at, length)
            out = np.empty_like(self.out, shape=length)
            self.ask(self._bound(codes, out))
            right += np.array_equal(_converted(by_hand, self.case, codes), out)
        return right

    def _samples(self, span: Span, at: int, count: int) -> Codes:
        source = cast(Numeric, self.case.inputs[0].format)
        target = self.case.outputs[0].format
        return samples(source, target, cast(int, span.seed), span.first + at, count)

    def _longest(self) -> int:
        """Return the length of arrays, a power of two, that keeps the memory of all flat."""
        value = self.codes.itemsize + 2 * self.out.itemsize + 1  # and what a comparison gives
        return 1 << (_ARRAYS // value).bit_length() - 1


def _converted(by_hand: Backend, case: Case, codes: Codes) -> Codes:
    answer = by_hand.answer(case, [codes])
    assert isinstance(answer, Outputs)  # noqa: S101
    return cast(Codes, answer.arrays[0])


def _timed(what: Callable[[], object]) -> float:
    begun = perf_counter()
    what()
    return perf_counter() - begun


def _silent(where: str, index: object) -> bool:
    """Note no call: a run has the notes for its parent."""
    return False
