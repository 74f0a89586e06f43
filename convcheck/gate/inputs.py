"""The inputs of a listed failure: a few ranges, so that what fails outside of them is new.

A range is written `float32 0x43e80001 … 0x43f00009`, or with one code. Together they hold every
input that failed; where there were more, neighbours are one range, with what lies between them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from convcheck.judge.ranges import joining
from convcheck.judge.result import Group
from convcheck.judge.words import hexadecimal
from convcheck.numerics.format import Numeric, Text
from convcheck.numerics.order import code_at, position_of
from convcheck.rules.model import Case, DType

MOST = 8  # ranges of an entry, but one of each type at least
WRITTEN = re.compile(r"(\S+) (0x[0-9a-f]{1,16})(?: … (0x[0-9a-f]{1,16}))?")
Failing = Sequence[tuple[Case, Group]]
_Span = tuple[int, int]  # first and last position


def failing_inputs(failing: Failing) -> tuple[str, ...]:
    """Return ranges that hold all inputs of a failure; none of texts and whole calls."""
    found = _spans(failing)
    most = max(MOST // max(len(found), 1), 1)
    return tuple(
        _written(dtype, span) for dtype, spans in found.items() for span in _few(spans, most)
    )


def new_inputs(listed: Iterable[str], failing: Failing) -> tuple[str, ...]:
    """Return inputs that fail now and are in none of the listed ranges: a few of them."""
    known: dict[str, list[tuple[str, str]]] = {}
    if not (listed := tuple(listed)):
        return ()
    for text in listed:
        if found := WRITTEN.fullmatch(text):
            known.setdefault(found[1], []).append((found[2], found[3] or found[2]))
    new = {
        f"{dtype} {hexadecimal(_format(dtype), code)}": 0
        for dtype, spans in _spans(failing).items()
        for code in _outside(_format(dtype), spans, known.get(dtype.name, []))
    }
    return tuple(new)[:MOST]


def _outside(
    fmt: Numeric, spans: Sequence[_Span], known: Sequence[tuple[str, str]]
) -> Iterable[int]:
    """Return the ends of ranges that lie in no listed one: they fail, what is between them may."""
    inside = [tuple(position_of(fmt, int(code, 16)) for code in span) for span in known]
    for position in dict.fromkeys(end for span in spans for end in span):
        if not any(first <= position <= last for first, last in inside):
            yield code_at(fmt, position)


def _spans(failing: Failing) -> dict[DType, list[_Span]]:
    """Return the ranges of a failure, type by type, in order. What a group leaves out between its
    lowest and its highest ranges is taken to fail whole.
    """
    found: dict[DType, list[_Span]] = {}
    for case, group in failing:
        dtype = case.inputs[0]
        if group.ranges and not isinstance(dtype.format, Text):
            at = [_positions(dtype.format, span) for span in group.ranges]
            half = len(at) // 2
            if group.more_ranges:
                at = [*at[: half - 1], (at[half - 1][0], at[half][1]), *at[half + 1 :]]
            found.setdefault(dtype, []).extend(at)
    return {dtype: list(joining(spans)) for dtype, spans in found.items()}


def _positions(fmt: Numeric, span: Sequence[int | str]) -> _Span:
    first, last = (position_of(fmt, int(code)) for code in span)
    return first, last


def _few(spans: list[_Span], most: int) -> list[_Span]:
    """Make one of neighbours, those nearest to each other first, until there are few."""
    widest = set(
        sorted(range(1, len(spans)), key=lambda i: spans[i - 1][1] - spans[i][0])[: most - 1]
    )
    kept = [spans[0]]
    for i, span in enumerate(spans[1:], 1):
        if i in widest:
            kept.append(span)
        else:
            kept[-1] = (kept[-1][0], span[1])
    return kept


def _format(dtype: DType) -> Numeric:
    assert not isinstance(dtype.format, Text)  # noqa: S101  `_spans` has none
    return dtype.format


def _written(dtype: DType, span: _Span) -> str:
    fmt = _format(dtype)
    codes = dict.fromkeys(hexadecimal(fmt, code_at(fmt, position)) for position in span)
    return f"{dtype.name} {' … '.join(codes)}"
