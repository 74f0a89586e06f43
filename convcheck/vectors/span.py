"""Spans: the codes of a source, cut into units of work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from convcheck.numerics.format import Numeric, Text
from convcheck.numerics.order import position_of
from convcheck.rules.model import Case

CHUNK = 1 << 16  # elements of a call at most
WHOLE_SPAN = 1 << 24  # codes of a 32-bit source
SAMPLED_SPAN = 1 << 20  # samples, which are judged one by one
_IN_MEMORY = 16  # up to this number of bits, all codes of a source fit one array
SWEPT = 32  # bits of the widest source that can be exhaustive


@dataclass(frozen=True)
class Span:
    """The codes of a source from `first` on; with a `seed`, samples from that number on.

    Chunks that begin at `apart` are skipped: each is a separate span.
    """

    first: int
    #: of codes or samples
    count: int
    apart: tuple[int, ...] = ()
    seed: int | None = None

    def chunk(self, offset: int) -> Span:
        """Return the chunk at an offset."""
        return Span(self.first + offset, min(CHUNK, self.count - offset), seed=self.seed)

    def positions(self, case: Case) -> tuple[tuple[int, int]]:
        """Return the positions of the span's codes, ends included. They share a sign."""
        source = cast(Numeric, case.inputs[0].format)
        ends = [position_of(source, code) for code in (self.first, self.first + self.count - 1)]
        return ((min(ends), max(ends)),)

    @property
    def asked(self) -> tuple[tuple[int, int], ...]:
        """The codes to test as ranges (first, end), without skipped chunks."""
        edges = [self.first]
        for chunk in sorted(self.apart):
            edges += [chunk, chunk + CHUNK]
        edges.append(self.first + self.count)
        pairs = zip(edges[::2], edges[1::2], strict=True)
        return tuple((a, b) for a, b in pairs if a < b)


def is_sampled(case: Case) -> bool:
    """Return whether a case is sampled because not all codes of its source are tested."""
    return _bits(case) > _IN_MEMORY


def is_swept(case: Case) -> bool:
    """Return whether the exhaustive tier sweeps the case's source."""
    return _IN_MEMORY < _bits(case) <= SWEPT


def _bits(case: Case) -> int:
    """Return the bits of the only numeric source, 0 for texts, whole calls or no expectations."""
    source = case.inputs[0].format
    if case.whole_calls or isinstance(source, Text) or isinstance(case.outputs[0].format, Text):
        return 0
    return source.bits if case.sources == case.inputs and not case.outside else 0


def span_size(case: Case) -> int:
    """Return the number of codes of a span in a sweep. They share a sign."""
    return min(WHOLE_SPAN, 1 << max(_bits(case) - 1, 0))


def spans(case: Case) -> tuple[Span, ...]:
    """Return the spans of a sweep, in order."""
    size = span_size(case)
    return tuple(Span(first, size) for first in range(0, 1 << _bits(case), size))


def sample_spans(number: int, seed: int) -> tuple[Span, ...]:
    """Return the spans of `number` samples, in order."""
    firsts = range(0, number, SAMPLED_SPAN)
    return tuple(Span(n, min(SAMPLED_SPAN, number - n), seed=seed) for n in firsts)
