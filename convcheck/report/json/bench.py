"""`convcheck-bench/1`: what asking and judging costs. Times are nanoseconds a value."""

from __future__ import annotations

from functools import partial
from typing import Final, Literal

from convcheck import __version__
from convcheck.judge.words import clean
from convcheck.plan import bench
from convcheck.plan.bench import Measured
from convcheck.report.environment import environment
from convcheck.report.json.codec import Count, Shape, json_text, plain, struct
from convcheck.report.json.encode import backend
from convcheck.report.json.report import BackendJson, EnvironmentJson

FORMAT: Final = "convcheck-bench/1"
text_of = partial(json_text, rows="cases")


class BenchSpanJson(Shape, frozen=True, kw_only=True):
    """A part of the values."""

    #: The position of the first of them, from 0.
    first: Count
    count: Count


class LeftOutJson(Shape, frozen=True, kw_only=True):
    """Cases that were not measured."""

    #: The reason.
    why: str
    #: How many.
    cases: Count


class TimesJson(Shape, frozen=True, kw_only=True):
    """Nanoseconds a value."""

    #: Making the inputs.
    inputs: float
    #: The backend's calls alone.
    backend: float
    #: What is left of the whole.
    judging: float
    #: Asking and judging, inputs included.
    whole: float
    #: By the library that is named in `by_hand`; null where it does not take the case.
    by_hand_in_chunks: float | None
    #: Likewise, all inputs in one array.
    by_hand_in_arrays: float | None


class SharesJson(Shape, frozen=True, kw_only=True):
    """What part of the whole each is; together 1."""

    #: Making the inputs.
    inputs: float
    #: The backend's calls alone.
    backend: float
    #: The rest.
    judging: float


class BenchCaseJson(Shape, frozen=True, kw_only=True):
    """The figures of a case, or why there are none."""

    case: str
    #: Why it was not measured; absent where it was, and else all that follows is.
    why_not: str = ""
    #: What each step takes.
    ns: TimesJson | None = None
    shares: SharesJson | None = None
    #: The whole to the backend.
    ratio: float | None = None
    #: The median of the same ratio of each part.
    median_ratio: float | None = None
    #: Values asked and judged in a second.
    values_per_second: float | None = None


class BenchJson(Shape, frozen=True, kw_only=True):
    """What asking and judging costs."""

    format: Literal["convcheck-bench/1"]
    #: The version of convcheck.
    convcheck: str
    backend: BackendJson
    #: The library that does the same by hand; null for none.
    by_hand: str | None
    environment: EnvironmentJson
    #: Values a case.
    values: Count
    #: What was measured of the sources that are streamed.
    parts: tuple[BenchSpanJson, ...]
    #: Samples of each source that is too wide to be streamed; absent without one.
    samples: Count = 0
    #: Cases that were not measured, by reason.
    left_out: tuple[LeftOutJson, ...]
    #: In the order of the plan.
    cases: tuple[BenchCaseJson, ...]


def bench_text(found: bench.Bench) -> str:
    """Return the figures as JSON text, a case a line."""
    return text_of(plain(encoded_bench(found)))


def encoded_bench(found: bench.Bench) -> BenchJson:
    """Return the figures as structs."""
    return BenchJson(
        format=FORMAT,
        convcheck=__version__,
        backend=backend(found.backend),
        by_hand=found.by_hand or None,
        environment=struct(environment(), EnvironmentJson),
        values=found.values,
        parts=tuple(BenchSpanJson(first=span.first, count=span.count) for span in found.spans),
        samples=found.samples,
        left_out=tuple(LeftOutJson(why=why, cases=count) for why, count in found.left_out),
        cases=tuple(map(_case, found.cases)),
    )


def _case(measured: Measured) -> BenchCaseJson:
    if not measured.parts:
        return BenchCaseJson(case=measured.case.id, why_not=clean(measured.why_not))
    chunks, arrays = measured.by_hand
    inputs, of_backend, judging = measured.shares
    return BenchCaseJson(
        case=measured.case.id,
        ns=TimesJson(
            inputs=measured.inputs,
            backend=measured.backend,
            judging=measured.judging,
            whole=measured.whole,
            by_hand_in_chunks=chunks,
            by_hand_in_arrays=arrays,
        ),
        shares=SharesJson(inputs=inputs, backend=of_backend, judging=judging),
        ratio=measured.ratio,
        median_ratio=measured.median_ratio,
        values_per_second=1e9 / measured.whole,
    )
