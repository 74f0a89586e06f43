"""Judge the answers to chunk after chunk of scattered codes against a chart.

Answers that are what is due are counted, a sort of slot at a time; all others are tallied as
elements.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import cast

import numpy as np
from numpy.typing import NDArray

from convcheck.judge.answers import ANSWERED, Answers
from convcheck.judge.digest import digest_of_pairs
from convcheck.judge.elements import tally_of_elements
from convcheck.judge.matching import matching
from convcheck.judge.result import Example, entry_word
from convcheck.judge.tally import RIGHT, Key, PlacedExample, Tally, TallyEntry, merge, named
from convcheck.numerics.format import Codes, Numeric
from convcheck.numerics.order import lowest, position_of
from convcheck.rules.model import Case
from convcheck.semantics.chart import Chart, Slots
from convcheck.semantics.evaluate import run_program
from convcheck.semantics.expected import EXACT, PATTERNS, REFUSED, UNDEFINED, Decision, Reading
from convcheck.semantics.program import Program
from convcheck.vectors.model import VectorSet

_BLOCK = 1 << 15  # elements that are judged at a time: what the work needs stays in the cache
_MANY = 1 << 16  # wrong answers that are judged at a time: some of each kind
Mask = NDArray[np.bool_]
_Asked = tuple[Codes, Slots, Codes]  # codes, their slots, the answers


@dataclass(frozen=True)
class _Sort:
    """Slots of one row, and of one pattern under each reading of it; of the row -1 where what is
    expected is not known.
    """

    row: int
    patterns: tuple[int, ...]

    @property
    def is_counted(self) -> bool:
        """Whether there is nothing to be noted of answers that are right but their number."""
        return len(self.patterns) == 1 and self.patterns[0] not in (UNDEFINED, REFUSED)

    @property
    def is_even(self) -> bool:
        """Whether no right answer is farther off than another, so that the first one tells all."""
        return self.is_counted or set(self.patterns) <= {EXACT, UNDEFINED}


@dataclass(frozen=True)
class _Sorts:
    """The sorts of a chart's slots; the first `counted` are those of which the code that is due is
    right, and is counted.
    """

    sorts: tuple[_Sort, ...]
    counted: int
    #: The number of each slot's sort.
    numbers: NDArray[np.uint8]


class _Pile:
    """Elements that wait until there are enough of them."""

    def __init__(self) -> None:
        self.parts: list[_Asked] = []
        self.size = 0

    def add(self, part: _Asked) -> None:
        """Put more of them on it."""
        self.parts.append(part)
        self.size += len(part[0])

    def all(self) -> _Asked:
        """Take all of them off it."""
        codes, slots, got = (np.concatenate(arrays) for arrays in zip(*self.parts, strict=True))
        self.parts, self.size = [], 0
        return codes, slots, got


def _taken(asked: _Asked, index: Slots) -> _Asked:
    codes, slots, got = asked
    return codes.take(index), slots.take(index), got.take(index)


class Comparing:
    """What was found of the chunks so far."""

    def __init__(self, case: Case, program: Program, form: Decision, chart: Chart) -> None:
        self.case, self.program, self.form, self.chart = case, program, form, chart
        self.source = cast(Numeric, case.inputs[0].format)
        self.due = np.asarray(chart.expected.readings[0].codes)
        self.sorts = _sorts_of(chart)
        self.right = np.zeros(len(self.sorts.sorts), np.int64)  # elements of each sort
        self.found: list[Tally] = []
        # of each sort, what is looked at closer, and what of that is judged one by one
        self.noted = [_Pile() for _ in self.sorts.sorts]
        self.left = [_Pile() for _ in self.sorts.sorts]

    def chunk(self, codes: Codes, got: Codes) -> None:
        """Judge the answers to codes, all of them codes of the destination."""
        for start in range(0, len(codes), _BLOCK):
            part = slice(start, start + _BLOCK)
            self._block(codes[part], got[part])

    def _block(self, codes: Codes, got: Codes) -> None:
        block = codes, self.chart.slots(codes), got
        sorts, counted = self.sorts.numbers.take(block[1]), self.sorts.counted
        for number in range(counted, len(self.right)):  # more is noted of them than their number
            self._note(number, block, np.flatnonzero(sorts == np.uint8(number)))
        if not counted:
            return
        wrong = self.due.take(block[1]) != got
        wrong &= sorts < np.uint8(counted)
        for number in range(counted):  # there are few: quicker than bincount
            self.right[number] += np.count_nonzero(sorts == np.uint8(number))
        index = np.flatnonzero(wrong)
        of = sorts.take(index)
        for number in np.flatnonzero(np.bincount(of)).tolist():
            here = index.take(np.flatnonzero(of == np.uint8(number)))
            self.right[number] -= len(here)
            self._note(number, block, here)

    def _note(self, number: int, block: _Asked, index: Slots) -> None:
        """Keep answers of a sort to be looked at closer."""
        if not len(index):
            return
        self.noted[number].add(_taken(block, index))
        if self.noted[number].size >= _BLOCK:
            self._settle(number)

    def tally(self) -> Tally:
        """Put together what was found in the chunks, and what is right."""
        for number in range(len(self.right)):
            self._settle(number)
            self._otherwise(number)
        return merge([self._counted(), *self.found])

    def _counted(self) -> Tally:
        asked: dict[int, int] = {}
        for sort, count in zip(self.sorts.sorts, self.right.tolist(), strict=True):
            if count:
                asked[sort.row] = asked.get(sort.row, 0) + count
        entries = {Key(row, 0, RIGHT): TallyEntry(count) for row, count in asked.items()}
        return Tally(asked, entries, decisions=named(self.program.decisions, entries))

    def _settle(self, number: int) -> None:
        """Look closer at what was noted of a sort."""
        if not self.noted[number].size:
            return
        noted = self.noted[number].all()
        _, slots, got = noted
        right = self._right(self.sorts.sorts[number], slots, got)
        if not right.all():
            self.left[number].add(_taken(noted, np.flatnonzero(~right)))
            noted = _taken(noted, np.flatnonzero(right))
        if len(noted[0]):
            self._as_due(number, noted[0], noted[2])
        if self.left[number].size >= _MANY:
            self._otherwise(number)

    def _right(self, sort: _Sort, slots: Slots, got: Codes) -> Mask:
        """Return which answers are right, or free, under every reading of their sort."""
        right = np.full(len(got), sort.row >= 0 and sort.is_even)
        for pattern, reading in zip(sort.patterns, self.chart.expected.readings, strict=False):
            if pattern != UNDEFINED and right.any():
                codes, patterns = reading.codes.take(slots), np.full(len(got), pattern, np.uint8)
                due, target = Reading(codes, patterns), self.case.outputs[0].format
                # of numbers, it does not matter what they come from
                right &= matching(due, got, target, self.source, got)
        return right

    def _as_due(self, number: int, codes: Codes, got: Codes) -> None:
        """Note answers of one sort that are right, or free."""
        sort = self.sorts.sorts[number]
        if sort.is_counted:
            self.right[number] += len(got)
            return
        least, digest = lowest(self.source, codes), digest_of_pairs(codes, got)
        at = position_of(self.source, int(codes[least]))
        entries = {}
        for reading, pattern in enumerate(sort.patterns):
            free = pattern == UNDEFINED
            due = f"<{PATTERNS[UNDEFINED]}>" if free else entry_word(got[least])
            example = Example((entry_word(codes[least]),), due, entry_word(got[least]))
            first = PlacedExample(at, 0.0, example)
            key = Key(sort.row, reading, "undefined" if free else RIGHT)
            entries[key] = TallyEntry(len(got), digest, first=first, extreme=first)
        decisions = named(self.program.decisions, entries)
        self.found.append(Tally({sort.row: len(got)}, entries, decisions=decisions))

    def _otherwise(self, number: int) -> None:
        """Judge answers of a sort one by one."""
        if not self.left[number].size:
            return
        codes, slots, got = self.left[number].all()
        expected = self.chart.expected.take(slots)
        unknown = np.flatnonzero(expected.rows < 0)
        if len(unknown):
            expected.put(unknown, run_program(self.program, self.case, codes[unknown]))
        vectors = VectorSet(self.case, (codes,), expected, "exhaustive", self.form)
        answers = Answers(got, np.full(len(got), ANSWERED, np.uint8), {})
        self.found.append(tally_of_elements(vectors, answers, None))


@lru_cache(maxsize=4)
def _sorts_of(chart: Chart) -> _Sorts:
    """Sort a chart's slots, those first of which the code that is due is counted."""
    expected, under = chart.expected, chart.expected.readings[0]
    names = expected.rows.astype(np.int64)
    for reading in expected.readings:
        names = names * len(PATTERNS) + reading.patterns
    _, firsts, groups = np.unique(names, return_index=True, return_inverse=True)
    sorts = [_sort_of(chart, int(first)) for first in firsts]
    strange = ~matching(under, under.codes, chart.target, chart.source, under.codes)
    told = np.bincount(groups[strange], minlength=len(sorts)) == 0
    told &= [sort.row >= 0 and sort.is_counted for sort in sorts]
    order = np.argsort(~told, kind="stable")
    numbers = np.argsort(order).astype(np.uint8)[groups]
    return _Sorts(tuple(sorts[i] for i in order), int(told.sum()), numbers)


def _sort_of(chart: Chart, slot: int) -> _Sort:
    expected, row = chart.expected, int(chart.expected.rows[slot])
    readings = expected.readings[: len(expected.decisions[row].readings) if row >= 0 else 0]
    return _Sort(row, tuple(int(reading.patterns[slot]) for reading in readings))
