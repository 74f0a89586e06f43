"""Answers of which all is known before they come, given the slot of a code in a chart.

Such are the codes that are due under one reading or another, and a NaN of the other sign. Slots
with such answers are sorted: those of a *sort* fare alike, and need but be counted and put to a
digest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from convcheck.judge.kinds import errors_of, kinds_of
from convcheck.judge.matching import matching
from convcheck.numerics.codes import Codes, is_nan
from convcheck.numerics.format import Float
from convcheck.semantics.chart import Chart, Slots
from convcheck.semantics.expected import ANY_NAN, EXACT, PATTERNS, REFUSED, UNDEFINED, Expected

_MOST = 16  # ways to be wrong under some reading that are told apart
Mask = NDArray[np.bool_]
Numbers = NDArray[np.unsignedinteger[Any]]
_Marks = NDArray[np.intp]
Ways = tuple[tuple[str, float], ...]  # under each reading a kind, '' for right, and how far off


@dataclass(frozen=True)
class Sort:
    """Slots of one row, and of one pattern under each reading of it, with answers that are right
    or wrong in one way.
    """

    #: Of what is expected, the number of its decision; -1 where that is not known.
    row: int
    #: What each reading of it expects.
    patterns: tuple[int, ...]
    #: How the answers are wrong under each reading: a kind ('' for not at all) and how far off.
    #: Empty where they are right under every one.
    ways: Ways = ()

    @property
    def is_counted(self) -> bool:
        """Whether there is nothing to be noted of answers that are right but their number."""
        return len(self.patterns) == 1 and self.patterns[0] not in (UNDEFINED, REFUSED)

    @property
    def is_disputed(self) -> bool:
        """Whether there are several readings, and each expects one code."""
        return len(self.patterns) > 1 and set(self.patterns) == {EXACT}

    @property
    def is_free(self) -> bool:
        """Whether no answer is wrong."""
        return set(self.patterns) == {UNDEFINED}


@dataclass(frozen=True)
class Foreseen:
    """An answer for each slot, and the number of the sort that the slot has with it."""

    codes: Codes
    numbers: Numbers
    #: By the number that slots have with what is due under the first reading: whether some of them
    #: have a sort with this answer, which is another one.
    beside: Mask


@dataclass(frozen=True)
class Sorts:
    """The sorts of a chart's slots: first those that are but counted, last those that are free,
    whatever the answer is.
    """

    sorts: tuple[Sort, ...]
    #: How many are but counted.
    counted: int
    #: The number of the first one that is free.
    free: int
    #: First what is due under the first reading.
    answers: tuple[Foreseen, ...]

    @property
    def unknown(self) -> int:
        """The number of what has no sort."""
        return len(self.sorts)


@lru_cache(maxsize=4)
def sorts_of(chart: Chart) -> Sorts:
    """Return the sorts of a chart."""
    groups = _Groups(chart.expected)
    ways: dict[Ways, int] = {(): 0}
    marked = [(codes, _marks(chart, groups, codes, ways)) for codes in _foreseen(chart)]
    found = np.unique(np.concatenate([marks for _, marks in marked]))
    found = found[found >= 0]
    sorts = [groups.sort(mark, tuple(ways)) for mark in found.tolist()]
    kinds = [2 if sort.is_free else not sort.is_counted for sort in sorts]
    order = np.argsort(kinds, kind="stable")
    numbers = np.full(len(groups.sorts) * _MOST + 1, len(sorts), np.min_scalar_type(len(sorts)))
    numbers[found[order]] = np.arange(len(sorts))  # of -1, the last, it is that of no sort
    (first, of_first), answers = marked[0], []
    for codes, marks in marked:
        beside = np.zeros(len(sorts) + 1, bool)
        beside[numbers.take(of_first[(marks >= 0) & (codes != first)])] = True
        answers.append(Foreseen(codes, numbers.take(marks), beside))
    free = len(kinds) - kinds.count(2)
    return Sorts(tuple(sorts[i] for i in order), kinds.count(0), free, tuple(answers))


class _Groups:
    """Slots of one row, and of one pattern under each reading of it."""

    def __init__(self, expected: Expected) -> None:
        names = expected.rows.astype(np.int64)
        for reading in expected.readings:
            names = names * len(PATTERNS) + reading.patterns
        _, firsts, self.numbers = np.unique(names, return_index=True, return_inverse=True)
        self.sorts = [_sort_at(expected, slot) for slot in firsts.tolist()]

    def which(self, good: Callable[[Sort], bool]) -> Mask:
        """Return which slots are of such groups, of known rows."""
        return np.array([s.row >= 0 and good(s) for s in self.sorts], bool).take(self.numbers)

    def sort(self, mark: int, ways: Sequence[Ways]) -> Sort:
        """Return the sort that a mark stands for."""
        group, way = divmod(mark, _MOST)
        sort = self.sorts[group]
        return replace(sort, ways=ways[way][: len(sort.patterns)])


def _sort_at(expected: Expected, slot: int) -> Sort:
    row = int(expected.rows[slot])
    readings = expected.readings[: len(expected.decisions[row].readings) if row >= 0 else 0]
    return Sort(row, tuple(int(reading.patterns[slot]) for reading in readings))


def _foreseen(chart: Chart) -> Iterator[Codes]:
    """Yield answers to each slot: what is due under each reading, then a NaN of the other sign."""
    first, *others = chart.expected.readings
    codes = cast(Codes, first.codes)
    yield codes
    yield from (cast(Codes, other.codes) for other in others if (other.codes != codes).any())
    if isinstance(chart.target, Float):
        other = codes ^ codes.dtype.type(chart.target.sign_bit)
        if ((first.patterns == ANY_NAN) & is_nan(chart.target, other) & (other != codes)).any():
            yield other


def _marks(chart: Chart, groups: _Groups, codes: Codes, ways: dict[Ways, int]) -> _Marks:
    """Return a mark for each slot, of its group and of the way in which an answer is wrong, which
    is put to the ways if it is new; -1 where not all is known of the answer.
    """
    first, *_ = readings = chart.expected.readings
    right = matching(first, codes, chart.target, chart.source, codes)
    known = groups.which(lambda sort: sort.is_counted) & right
    known |= groups.which(lambda sort: sort.is_free)
    disputed = groups.which(lambda sort: sort.is_disputed)
    for reading in readings:
        right &= np.asarray(reading.codes == codes)
    marks = np.where(known | (disputed & right), groups.numbers * _MOST, -1)
    here = np.flatnonzero(disputed & ~right)
    found = _ways(chart, codes.take(here), here)
    if len(ways.keys() | found) <= _MOST:
        for way in found:
            ways.setdefault(way, len(ways))
        marks[here] = groups.numbers.take(here) * _MOST + [ways[way] for way in found]
    return marks


def _ways(chart: Chart, got: Codes, slots: Slots) -> list[Ways]:
    """Return how an answer to each slot, at which each reading expects one code, is wrong."""
    each = []
    for reading in chart.expected.readings:
        due = cast(Codes, reading.codes).take(slots)
        kinds = kinds_of(chart.target, due, reading.patterns.take(slots), got)
        kinds[due == got] = ""
        each.append(zip(kinds.tolist(), errors_of(chart.target, due, got).tolist(), strict=True))
    return list(zip(*each, strict=True))
