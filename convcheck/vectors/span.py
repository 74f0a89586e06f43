"""Parts of a source of which every bit pattern is asked, too many for one array."""

from __future__ import annotations

from dataclasses import dataclass

from convcheck.numerics.format import Text
from convcheck.spec.model import Case

CHUNK = 1 << 16  # no call of a backend has more elements
PART = 1 << 24  # codes; a lane asks them in a fraction of a second
_IN_MEMORY = 16  # bits of a source whose codes are asked in one array
_SWEPT = 32  # bits of the widest source whose codes can all be asked


@dataclass(frozen=True)
class Span:
    """The codes of a source from `first` on, in the order of the codes.

    Those of the chunks that begin at `apart` are left out: each is a span of its own.
    """

    first: int
    count: int
    apart: tuple[int, ...] = ()

    @property
    def asked(self) -> tuple[tuple[int, int], ...]:
        """The codes that are asked, as (first, end) of what is between those left out."""
        edges = [self.first]
        for chunk in sorted(self.apart):
            edges += [chunk, chunk + CHUNK]
        edges.append(self.first + self.count)
        pairs = zip(edges[::2], edges[1::2], strict=True)
        return tuple((a, b) for a, b in pairs if a < b)


def is_swept(case: Case) -> bool:
    """Tell whether the exhaustive tier streams the codes of a case's source."""
    source = case.inputs[0].format
    if case.whole_calls or isinstance(source, Text) or isinstance(case.outputs[0].format, Text):
        return False
    return case.sources == case.inputs and _IN_MEMORY < source.bits <= _SWEPT


def spans(case: Case) -> tuple[Span, ...]:
    """Give the parts of a source that is swept, in order."""
    source = case.inputs[0].format
    assert not isinstance(source, Text)  # noqa: S101
    return tuple(Span(first, PART) for first in range(0, 1 << source.bits, PART))
