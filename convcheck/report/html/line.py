"""Number lines of the HTML report.

Places are integers from 0 (left) to `ACROSS` (right), computed exactly. Values outside the line are
at -1 or `ACROSS + 1`; NaN and patterns are None. Values are identified by their index
(`numerics.order`), which continues one step beyond the ends of a format.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from convcheck.judge.result import Word
from convcheck.numerics.format import Float, Format, Numeric, Text
from convcheck.numerics.modes import BeyondError, grid_of
from convcheck.numerics.order import code_at_index, index_of
from convcheck.numerics.words import parse_decimal, spell, value_of

ACROSS = 1000
INFINITY = float("inf")
_NEAR = 4  # steps from the input at which an answer is still drawn
_EDGE = Fraction(1, 16)  # part of the picture that is free on each side
_ROOM = 11  # letters at an end of the line
_DECADES = ((-1, "-1"), (0, "0"), (1, "1"))

Real = Fraction | float | None  # an exact value, an infinity, or None
Span = tuple[Word, Word]


def real(fmt: Format, word: Word | None) -> Real:
    """Return the value of a code or decimal text; None for patterns and NaN."""
    if isinstance(fmt, Text):
        return parse_decimal(word) if isinstance(word, str) else None
    if word is None or isinstance(word, str) or nan(fmt, word):
        return None
    if isinstance(fmt, Float) and fmt.infinity and word & fmt.magnitude_mask == fmt.infinity_code:
        return -INFINITY if word & fmt.sign_bit else INFINITY
    return value_of(fmt, word)


def nan(fmt: Format, word: Word) -> bool:
    """Return whether a word is the code of a NaN."""
    return isinstance(fmt, Float) and isinstance(word, int) and fmt.has_nan_at(word)


def ends(fmt: Numeric) -> tuple[int, int]:
    """Return the indices of a format's lowest and largest values."""
    if isinstance(fmt, Float):
        return -fmt.max_magnitude if fmt.signed else 0, fmt.max_magnitude
    return int(fmt.min), int(fmt.max)


def value_at(fmt: Numeric, index: int) -> Fraction:
    """Return the value at an index, which can be beyond the ends."""
    if not isinstance(fmt, Float):
        return Fraction(index)
    return fmt.value(index) if index >= 0 else -fmt.value(-index)


def index_below(fmt: Numeric, value: Fraction) -> int:
    """Return the index of the largest value not above `value`, or one beyond the ends."""
    try:
        return index_of(fmt, grid_of(fmt, "floor").code(value))
    except BeyondError:
        first, last = ends(fmt)
        return first - 1 if value < fmt.min else last + 1


# Around an input -----------------------------------------------------------------------------


@dataclass(frozen=True)
class _Window:
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
    source: Format,
    target: Format,
    words: tuple[Word | None, Word, Word | None],
    spans: Iterable[Span] = (),
) -> dict[str, Any] | None:
    """Return ticks, marks and failing stretches around an input.

    `words` are the input, the expected value and the answer; marks are their places. A tick is a
    place and a value, '' beyond the format. A stretch is two places. None without a finite number,
    or if an answer has nothing to compare with.
    """
    if isinstance(target, Text):
        return None
    values = [real(source, words[0]), real(target, words[1]), real(target, words[2])]
    indices = _indices(target, values)
    if indices is None or (values[0] is None and None in values[1:]):
        return None
    window = _window(target, indices, values[0])
    return {
        "ticks": [(window.place(value_at(target, i)), _spelled(target, i)) for i in indices],
        "marks": [window.place(value) for value in values],
        "failing": [] if isinstance(source, Text) else _stretches(window, source, spans),
    }


def _indices(fmt: Numeric, values: Sequence[Real]) -> range | None:
    """Return the steps around the input and around answers near it."""
    finite = [index_below(fmt, v) for v in values if isinstance(v, Fraction)]
    if not finite:
        return None
    first, last = ends(fmt)
    anchor = min(finite[0], last)
    beside = [i for i in finite if abs(i - anchor) <= _NEAR]
    low, high = min([anchor, *beside]) - 1, max([anchor, *beside]) + 2
    return range(max(low, first - 1), min(high, last + 1) + 1)


def _window(fmt: Numeric, indices: range, value: Real) -> _Window:
    low, high = value_at(fmt, indices[0]), value_at(fmt, indices[-1])
    if isinstance(value, Fraction):  # the target can lack zero
        reach = high - low
        low = min(low, value) if low - value <= reach else low
        high = max(high, value) if value - high <= reach else high
    edge = (high - low) * _EDGE
    return _Window(low - edge, high + edge)


def _spelled(fmt: Numeric, index: int) -> str:
    first, last = ends(fmt)
    return spell(fmt, code_at_index(fmt, index)) if first <= index <= last else ""


def _stretches(window: _Window, fmt: Numeric, spans: Iterable[Span]) -> list[list[int]]:
    """Return the failing ranges within the window."""
    low, high = index_below(fmt, window.low), index_below(fmt, window.high)
    return [
        [min(max(window.place(value_at(fmt, index)) or 0, 0), ACROSS) for index in indices]
        for indices in _indexed(fmt, spans)
        if indices[0] <= high and indices[1] >= low
    ]


def _indexed(fmt: Numeric, spans: Iterable[Span]) -> Iterator[tuple[int, int]]:
    """Yield the indices of ranges without NaNs."""
    for span in spans:
        low, high = (word for word in span if isinstance(word, int))
        if not nan(fmt, low):
            start = index_of(fmt, low)
            end = ends(fmt)[1] + 1 if nan(fmt, high) else index_of(fmt, high)
            yield min(start, end), max(start, end)


# The whole range of a source -----------------------------------------------------------------


def overview(source: Format, spans: Sequence[Span]) -> dict[str, Any] | None:
    """Return the failing ranges on the line of all source values, and whether NaNs fail.

    Ranges at most a place apart are merged.
    """
    if isinstance(source, Text):
        return None
    found: list[tuple[int, int]] = []
    for low, high in _indexed(source, spans):
        start, end = _place(source, low), _place(source, high)
        if found and found[-1][0] <= start <= found[-1][1] + 1:
            start, end = found[-1][0], max(found.pop()[1], end)
        found.append((start, end))
    return {"spans": found, "nan": any(nan(source, low) for low, _ in spans)}


def axis(source: Format, target: Format) -> dict[str, Any] | None:
    """Return the labelled places of the source's line and of the destination's ends.

    None for a text source.
    """
    if isinstance(source, Text):
        return None
    low, high = ends(source)
    decades = [(v, said) for v, said in _DECADES if value_at(source, low) < v < source.max]
    ticks = [
        (0, _short(source, low)),
        *((_place(source, index_below(source, Fraction(v))), said) for v, said in decades),
        (ACROSS, _short(source, high)),
    ]
    if isinstance(target, Text):
        return {"ticks": ticks, "reach": None}
    reach = [
        (_place(source, index_below(source, value_at(target, index))), _short(target, index))
        for index in ends(target)
    ]
    return {"ticks": ticks, "reach": reach}


def _short(fmt: Numeric, index: int) -> str:
    said = spell(fmt, code_at_index(fmt, index))
    return said if len(said) <= _ROOM else f"{float(value_at(fmt, index)):.4g}"


def _place(fmt: Numeric, index: int) -> int:
    """Return the place of an index, clamped to the ends.

    Floats are linear in the index, integers logarithmic.
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
