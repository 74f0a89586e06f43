"""Number lines of the HTML report: places computed here, exactly; the browser only draws.

A place is an integer from 0 (left) to `ACROSS` (right). What lies further out is at -1 or at
`ACROSS + 1`, and what is no number is None.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from convcheck.judge.result import Word
from convcheck.numerics.decimal import spell
from convcheck.numerics.format import Float, Format, Numeric, Text
from convcheck.numerics.order import code_at_index, index_of
from convcheck.report.html.grid import Real, ends, index_below, nan, real, value_at

ACROSS = 1000
_NEAR = 4  # steps of the destination that an answer may be away and still be in the picture
_EDGE = Fraction(1, 16)  # of the picture that is free on either side
_ROOM = 11  # letters of an end of the line
_DECADES = ((-1, "-1"), (0, "0"), (1, "1"))

Span = tuple[Word, Word]


@dataclass(frozen=True)
class _Window:
    """A stretch of the line, from `low` to `high`."""

    low: Fraction
    high: Fraction

    def place(self, value: Real) -> int | None:
        if value is None:
            return None
        if isinstance(value, float) or not self.low <= value <= self.high:
            return -1 if value < self.low else ACROSS + 1
        part = (value - self.low) / (self.high - self.low) * ACROSS
        return (2 * part.numerator + part.denominator) // (2 * part.denominator)


def near(
    source: Format, target: Format, words: tuple[Word | None, Word, Word | None],
    spans: Iterable[Span] = (),
) -> list[list[Any]] | None:  # fmt: skip
    """Draw the destination's values about an input: [ticks, marks, failing stretches].

    `words` are the input, what was expected, and what came: marks are their places. Ticks are a
    place and a value each, with value '' past the end of the format, and 0 where a mark says it;
    a stretch is two places. None where there is nothing to draw: no finite number, or an answer
    with nothing beside it.
    """
    if isinstance(target, Text):
        return None
    values = [real(source, words[0]), real(target, words[1]), real(target, words[2])]
    indices = _indices(target, values)
    alone = values[0] is None and None in values[1:]
    if indices is None or alone:
        return None
    window = _window(target, indices, values[0])
    marks = [window.place(value) for value in values]
    stretches = [] if isinstance(source, Text) else _stretches(window, source, spans)
    return [_ticks(target, indices, window, values[1:]), marks, stretches]


def _indices(fmt: Numeric, values: Sequence[Real]) -> range | None:
    """Choose the steps that are shown: those beside the input, and answers that are not far."""
    finite = [index_below(fmt, v) for v in values if isinstance(v, Fraction)]
    if not finite:
        return None
    first, last = ends(fmt)
    anchor = min(max(finite[0], first - 1), last)
    beside = [i for i in finite if abs(i - anchor) <= _NEAR]
    low, high = min([anchor, *beside]) - 1, max([anchor, *beside]) + 2
    return range(max(low, first - 1), min(high, last + 1) + 1)


def _window(fmt: Numeric, indices: range, value: Real) -> _Window:
    low, high = value_at(fmt, indices[0]), value_at(fmt, indices[-1])
    if isinstance(value, Fraction):  # it may lie beside a grid that has no zero
        reach = high - low
        low = min(low, value) if low - value <= reach else low
        high = max(high, value) if value - high <= reach else high
    edge = (high - low) * _EDGE
    return _Window(low - edge, high + edge)


def _ticks(fmt: Numeric, indices: range, window: _Window, said: Sequence[Real]) -> list[Any]:
    first, last = ends(fmt)
    ticks: list[Any] = []
    for index in indices:
        value = value_at(fmt, index)
        ticks.append(window.place(value))
        if not first <= index <= last:
            ticks.append("")
        else:
            ticks.append(0 if value in said else spell(fmt, code_at_index(fmt, index)))
    return ticks


def _stretches(window: _Window, fmt: Numeric, spans: Iterable[Span]) -> list[int]:
    """Return the failing ranges that meet the window, cut at its ends."""
    found: list[int] = []
    low, high = index_below(fmt, window.low), index_below(fmt, window.high)
    for indices in _indexed(fmt, spans):
        if indices[0] <= high and indices[1] >= low:
            places = (window.place(value_at(fmt, index)) or 0 for index in indices)
            found += (min(max(place, 0), ACROSS) for place in places)
    return found


def _indexed(fmt: Numeric, spans: Iterable[Span]) -> Iterator[tuple[int, int]]:
    """Yield the indices between which ranges lie, without those of NaNs; a range that ends in NaNs
    ends at the largest value.
    """
    for span in spans:
        low, high = (word for word in span if isinstance(word, int))
        if not nan(fmt, low):
            start = index_of(fmt, low)
            end = ends(fmt)[1] + 1 if nan(fmt, high) else index_of(fmt, high)
            yield min(start, end), max(start, end)


# The whole range of a source -----------------------------------------------------------------


def overview(source: Format, spans: Sequence[Span]) -> str:
    """Return the failing ranges on the line of all values of the source: '839 851-860 nan' are a
    place, a stretch, and NaNs. Ranges apart by no more than a place are one.
    """
    if isinstance(source, Text):
        return ""
    found: list[tuple[int, int]] = []
    for low, high in _indexed(source, spans):
        start, end = _place(source, low), _place(source, high)
        if found and found[-1][0] <= start <= found[-1][1] + 1:
            start, end = found[-1][0], max(found.pop()[1], end)
        found.append((start, end))
    said = [str(start) if start == end else f"{start}-{end}" for start, end in found]
    return " ".join([*said, *(["nan"] if any(nan(source, low) for low, _ in spans) else [])])


def axis(source: Format, target: Format) -> list[Any] | None:
    """Return what stands on the line of all values of a source: [[place, value]…] and the places of
    the destination's lowest and largest value; None of a text.
    """
    if isinstance(source, Text):
        return None
    low, high = ends(source)
    marked = [(value_at(source, low), _short(source, low))]
    marked += [
        (Fraction(v), said) for v, said in _DECADES if value_at(source, low) < v < source.max
    ]
    marked += [(source.max, _short(source, high))]
    ticks = [[_placed(source, value), said] for value, said in marked]
    if isinstance(target, Text):
        return [ticks, None, None]
    reach = [_placed(source, target.min), _placed(source, target.max)]
    return [ticks, reach, [_short(target, index) for index in ends(target)]]


def _short(fmt: Numeric, index: int) -> str:
    """Spell a value in few letters: the end of a line has no room for 17 digits."""
    said = spell(fmt, code_at_index(fmt, index))
    return said if len(said) <= _ROOM else f"{float(value_at(fmt, index)):.4g}"


def _placed(fmt: Numeric, value: Fraction) -> int:
    low, high = ends(fmt)
    return _place(fmt, min(max(index_below(fmt, value), low), high))


def _place(fmt: Numeric, index: int) -> int:
    """Place an index: a float by itself, an integer by its logarithm, so that every binade has as
    much room; beyond the ends, at them.
    """
    low, high = ends(fmt)
    index = min(max(index, low), high)
    if isinstance(fmt, Float):
        return ((index - low) * 2 * ACROSS + high - low) // (2 * (high - low))
    start, end = _log(low), _log(high)
    return round((_log(index) - start) / (end - start) * ACROSS)


def _log(value: int) -> float:
    size = math.log2(1 + abs(value))
    return -size if value < 0 else size
