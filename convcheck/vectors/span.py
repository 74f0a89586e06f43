"""Spans: a source of which every bit pattern is asked, cut into what one unit of work asks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from convcheck.numerics.format import Numeric, Text
from convcheck.numerics.order import position_of
from convcheck.rules.model import Case

CHUNK = 1 << 16  # elements; a span is asked in calls of so many at most
WHOLE_SPAN = 1 << 24  # codes, of a source of 32 bits; a lane asks them in a fraction of a second
SAMPLED_SPAN = 1 << 20  # samples, which are judged one by one
_IN_MEMORY = 16  # bits of a source whose codes are asked in one array
SWEPT = 32  # bits of the widest source whose codes can all be asked


@dataclass(frozen=True)
class Span:
    """The codes of a source from `first` on, in the order of the codes; with a `seed`, the samples
    from number `first` on.

    Those of the chunks that begin at `apart` are left out: each is a span of its own.
    """

    first: int
    #: How many codes, or samples.
    count: int
    apart: tuple[int, ...] = ()
    seed: int | None = None

    def chunk(self, offset: int) -> Span:
        """Return the chunk that begins so many elements after the first."""
        return Span(self.first + offset, min(CHUNK, self.count - offset), seed=self.seed)

    def positions(self, case: Case) -> tuple[tuple[int, int]]:
        """Return the positions, ends included, of the span's codes, which are of one sign."""
        source = cast(Numeric, case.inputs[0].format)
        ends = [position_of(source, code) for code in (self.first, self.first + self.count - 1)]
        return ((min(ends), max(ends)),)

    @property
    def asked(self) -> tuple[tuple[int, int], ...]:
        """The codes that are asked, as (first, end) of what is between those left out."""
        edges = [self.first]
        for chunk in sorted(self.apart):
            edges += [chunk, chunk + CHUNK]
        edges.append(self.first + self.count)
        pairs = zip(edges[::2], edges[1::2], strict=True)
        return tuple((a, b) for a, b in pairs if a < b)


def is_sampled(case: Case) -> bool:
    """Return whether samples of a case's source are of use: only where not all of it is asked."""
    return _bits(case) > _IN_MEMORY


def is_swept(case: Case) -> bool:
    """Return whether the exhaustive tier streams the codes of a case's source."""
    return _IN_MEMORY < _bits(case) <= SWEPT


def _bits(case: Case) -> int:
    """Return the bits of the one source of numbers that become numbers, 0 where there is none or
    nothing is expected.
    """
    source = case.inputs[0].format
    if case.whole_calls or isinstance(source, Text) or isinstance(case.outputs[0].format, Text):
        return 0
    return source.bits if case.sources == case.inputs and not case.outside else 0


def span_size(case: Case) -> int:
    """Return how many codes a span of a source that is swept has: all are of one sign."""
    return min(WHOLE_SPAN, 1 << max(_bits(case) - 1, 0))


def spans(case: Case) -> tuple[Span, ...]:
    """Return the spans of a source that is swept, in order."""
    size = span_size(case)
    return tuple(Span(first, size) for first in range(0, 1 << _bits(case), size))


def sample_spans(number: int, seed: int) -> tuple[Span, ...]:
    """Return the spans of so many samples, in order."""
    firsts = range(0, number, SAMPLED_SPAN)
    return tuple(Span(n, min(SAMPLED_SPAN, number - n), seed=seed) for n in firsts)
