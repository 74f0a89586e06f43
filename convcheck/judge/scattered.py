"""Judge the answers to chunk after chunk of scattered codes against a chart.

Answers that are what is due, or free, are counted and put to their digest, a sort of slot at a
time; all others are tallied as elements.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import cast

import numpy as np
from numpy.typing import NDArray

from convcheck.judge.answers import ANSWERED, Answers
from convcheck.judge.digest import PairSums
from convcheck.judge.elements import due_word, tally_of_elements
from convcheck.judge.kinds import errors_of, kinds_of
from convcheck.judge.matching import matching
from convcheck.judge.result import Example
from convcheck.judge.tally import RIGHT, Key, PlacedExample, Tally, TallyEntry, merge, named
from convcheck.numerics.codes import Codes
from convcheck.numerics.format import Numeric
from convcheck.numerics.order import lowest, position_of
from convcheck.rules.model import Case
from convcheck.semantics.chart import Chart, Slots
from convcheck.semantics.evaluate import run_program
from convcheck.semantics.expected import EXACT, PATTERNS, REFUSED, UNDEFINED, Decision, Reading
from convcheck.semantics.program import Program
from convcheck.vectors.model import VectorSet

_NOTED = 1 << 15  # answers that are looked at closer at a time
_ENOUGH, _WAITING = 1 << 12, 32  # answers that are put to a digest at a time; fewer, so many times
_STRAYS = 16  # ways to be wrong under another reading that are told apart
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
    #: Whether what is due is the same code under each reading.
    agreed: bool
    #: Where it is not: how the code that is due under the first reading is wrong under each, a kind
    #: ('' for not at all) and how far off. Empty where that is not known of all slots.
    strays: tuple[tuple[str, float], ...] = ()

    @property
    def is_counted(self) -> bool:
        """Whether there is nothing to be noted of answers that are right but their number."""
        return len(self.patterns) == 1 and self.patterns[0] not in (UNDEFINED, REFUSED)

    @property
    def is_even(self) -> bool:
        """Whether no right answer is farther off than another, so that the first one tells all."""
        if len(self.patterns) > 1 and set(self.patterns) == {EXACT} and not self.agreed:
            return False  # there is none
        return self.is_counted or set(self.patterns) <= {EXACT, UNDEFINED}

    @property
    def is_free(self) -> bool:
        """Whether no answer is wrong."""
        return set(self.patterns) == {UNDEFINED}


@dataclass(frozen=True)
class _Sorts:
    """The sorts of a chart's slots: first those of which the code that is due is right under every
    reading, last those of which every code is.
    """

    sorts: tuple[_Sort, ...]
    #: How many are of the first kind.
    told: int
    #: The first one of the last kind.
    free: int
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


class _AsDue:
    """Answers of one sort that are right, or free: how many, their digest, the lowest code."""

    def __init__(self, source: Numeric, itemsize: int) -> None:
        self.source, self.count = source, 0
        self.sums = PairSums(itemsize)
        self.waiting: list[tuple[Codes, Codes]] = []
        self.lowest: tuple[int, int, int] | None = None  # its position, the code, the answer

    def add(self, codes: Codes, got: Codes) -> None:
        """Add codes, one at the least, with their answers; few wait for more."""
        if len(codes) >= _ENOUGH:
            self._sum(codes, got)
            return
        self.waiting.append((codes, got))
        if len(self.waiting) >= _WAITING:
            self._sum_waiting()

    def _sum_waiting(self) -> None:
        if self.waiting:
            codes, got = map(np.concatenate, zip(*self.waiting, strict=True))
            self.waiting = []
            self._sum(codes, got)

    def _sum(self, codes: Codes, got: Codes) -> None:
        self.sums.add(codes, got)
        self.count += len(codes)
        least = lowest(self.source, codes)
        code = int(codes[least])
        here = position_of(self.source, code), code, int(got[least])
        self.lowest = min(self.lowest or here, here)

    def tally(self, sort: _Sort, chart: Chart, program: Program) -> Tally:
        """Return what was found, if anything was."""
        self._sum_waiting()
        if self.lowest is None:
            return Tally({}, {})
        entries, (at, code, got), digest = {}, self.lowest, self.sums.digest()
        slot = int(chart.slots(np.array([code], self.source.storage))[0])
        strays = sort.strays or [("", 0.0)] * len(sort.patterns)
        for reading, (pattern, (kind, error)) in enumerate(zip(sort.patterns, strays, strict=True)):
            free = pattern == UNDEFINED
            due = due_word(chart.expected.readings[reading], slot) if free or kind else got
            first = PlacedExample(at, error, Example((code,), due, got))
            key = Key(sort.row, reading, "undefined" if free else "fail" if kind else RIGHT, kind)
            entries[key] = TallyEntry(self.count, digest, first=first, extreme=first)
        return Tally({sort.row: self.count}, entries, decisions=named(program.decisions, entries))


class Comparing:
    """What was found of the chunks so far."""

    def __init__(self, case: Case, program: Program, form: Decision, chart: Chart) -> None:
        self.case, self.program, self.form, self.chart = case, program, form, chart
        self.source = cast(Numeric, case.inputs[0].format)
        self.due = np.asarray(chart.expected.readings[0].codes)
        self.sorts = _sorts_of(chart)
        sorts = self.sorts.sorts
        self.right = np.zeros(len(sorts), np.int64)  # elements of each sort that are but counted
        self.as_due = [_AsDue(self.source, self.due.itemsize) for _ in sorts]
        self.found: list[Tally] = []
        self.noted = _Pile()  # what is looked at closer
        self.left = _Pile()  # what of that is judged one by one

    def chunk(self, codes: Codes, got: Codes) -> None:
        """Judge the answers to codes, all of them codes of the destination."""
        slots = self.chart.slots(codes)
        numbers = self.sorts.numbers.take(slots)
        closer = self._closer(slots, numbers, got)
        index = np.flatnonzero(closer)
        self._note(codes.take(index), slots.take(index), got.take(index))
        numbers[index] = len(self.right)
        for number, sort in enumerate(self.sorts.sorts):
            if self.sorts.told <= number < self.sorts.free:
                continue
            here = numbers == np.uint8(number)
            if sort.is_counted:  # there are few: quicker than bincount
                self.right[number] += np.count_nonzero(here)
            else:
                self._add(number, codes, got, np.flatnonzero(here))

    def _closer(self, slots: Slots, numbers: NDArray[np.uint8], got: Codes) -> Mask:
        """Return which answers are looked at closer: they are not free, and not what is due."""
        closer: Mask = self.due.take(slots) != got
        closer |= numbers >= np.uint8(self.sorts.told)
        closer &= numbers < np.uint8(self.sorts.free)
        return closer

    def _note(self, *asked: *_Asked) -> None:
        """Keep answers to be looked at closer."""
        self.noted.add(asked)
        if self.noted.size >= _NOTED:
            self._settle()

    def _add(self, number: int, codes: Codes, got: Codes, index: Slots) -> None:
        """Note answers of one sort that are right, or free."""
        if self.sorts.sorts[number].is_counted:
            self.right[number] += len(index)
        elif len(index):
            self.as_due[number].add(codes.take(index), got.take(index))

    def tally(self) -> Tally:
        """Put together what was found in the chunks, and what is right."""
        self._settle()
        self._otherwise()
        as_due = (
            found.tally(sort, self.chart, self.program)
            for sort, found in zip(self.sorts.sorts, self.as_due, strict=True)
        )
        return merge([self._counted(), *as_due, *self.found])

    def _counted(self) -> Tally:
        asked: dict[int, int] = {}
        for sort, count in zip(self.sorts.sorts, self.right.tolist(), strict=True):
            if count:
                asked[sort.row] = asked.get(sort.row, 0) + count
        entries = {Key(row, 0, RIGHT): TallyEntry(count) for row, count in asked.items()}
        return Tally(asked, entries, decisions=named(self.program.decisions, entries))

    def _settle(self) -> None:
        """Look closer at what was noted."""
        if not self.noted.size:
            return
        noted = self.noted.all()
        codes, slots, got = noted
        numbers = self.sorts.numbers.take(slots)
        right = self._right(slots, numbers, got)
        if right.any():
            numbers[~right] = len(self.right)
            for number in np.flatnonzero(np.bincount(numbers)[: len(self.right)]).tolist():
                self._add(number, codes, got, np.flatnonzero(numbers == np.uint8(number)))
            noted = _taken(noted, np.flatnonzero(~right))
        self.left.add(noted)
        if self.left.size >= _MANY:
            self._otherwise()

    def _right(self, slots: Slots, numbers: NDArray[np.uint8], got: Codes) -> Mask:
        """Return which answers are right, or free, under every reading of their sort."""
        even = np.array([sort.row >= 0 and sort.is_even for sort in self.sorts.sorts])
        right: Mask = even.take(numbers)
        for reading in self.chart.expected.readings:
            if right.any():
                due = Reading(reading.codes.take(slots), reading.patterns.take(slots))
                # of numbers, it does not matter what they come from
                right &= matching(due, got, self.case.outputs[0].format, self.source, got)
        return right

    def _otherwise(self) -> None:
        """Judge answers one by one."""
        if not self.left.size:
            return
        codes, slots, got = self.left.all()
        expected = self.chart.expected.take(slots)
        unknown = np.flatnonzero(expected.rows < 0)
        if len(unknown):
            expected.put(unknown, run_program(self.program, self.case, codes[unknown]))
        vectors = VectorSet(self.case, (codes,), expected, "exhaustive", self.form)
        answers = Answers(got, np.full(len(got), ANSWERED, np.uint8), {})
        self.found.append(tally_of_elements(vectors, answers, None))


@lru_cache(maxsize=4)
def _sorts_of(chart: Chart) -> _Sorts:
    """Sort a chart's slots."""
    expected, under = chart.expected, chart.expected.readings[0]
    agreed = np.ones(len(expected), bool)
    for reading in expected.readings:
        agreed &= np.asarray(reading.codes == under.codes, bool)
    names = expected.rows.astype(np.int64) * 2 + agreed
    for reading in expected.readings:
        names = names * len(PATTERNS) + reading.patterns
    strays = _strays_of(chart, ~agreed & (expected.rows >= 0))
    names = names * len(strays.each) + strays.numbers
    _, firsts, groups = np.unique(names, return_index=True, return_inverse=True)
    sorts = [_sort_of(chart, int(first), bool(agreed[first]), strays) for first in firsts]
    strange = ~matching(under, under.codes, chart.target, chart.source, under.codes)
    told = np.bincount(groups[strange], minlength=len(sorts)) == 0
    told &= [sort.row >= 0 and _is_told(sort) for sort in sorts]
    kinds = np.where(told, 0, [2 if sort.is_free else 1 for sort in sorts])
    order = np.argsort(kinds, kind="stable")
    numbers = np.argsort(order).astype(np.uint8)[groups]
    free = int((kinds < 2).sum())
    return _Sorts(tuple(sorts[i] for i in order), int(told.sum()), free, numbers)


def _is_told(sort: _Sort) -> bool:
    """Return whether of one code, if it is that which is due under the first reading, all is known
    under every reading.
    """
    told = sort.agreed or bool(sort.strays)
    return sort.is_counted or (told and set(sort.patterns) == {EXACT})


def _sort_of(chart: Chart, slot: int, agreed: bool, strays: _Strays) -> _Sort:
    expected, row = chart.expected, int(chart.expected.rows[slot])
    readings = expected.readings[: len(expected.decisions[row].readings) if row >= 0 else 0]
    patterns = tuple(int(reading.patterns[slot]) for reading in readings)
    return _Sort(row, patterns, agreed, strays.each[strays.numbers[slot]][: len(readings)])


@dataclass(frozen=True)
class _Strays:
    """In what ways the code that is due under the first reading is wrong under others: a kind and a
    distance for each reading; and which of them each slot has. The first one is none.
    """

    each: tuple[tuple[tuple[str, float], ...], ...]
    numbers: NDArray[np.int64]


def _strays_of(chart: Chart, disputed: Mask) -> _Strays:
    """Look for them at slots of which readings expect different codes; at none where there are too
    many kinds to be counted apart.
    """
    first, *_ = readings = chart.expected.readings
    numbers = np.zeros(len(chart.expected), np.int64)
    for reading in readings:
        disputed = disputed & (reading.patterns == EXACT)
    here = np.flatnonzero(disputed)
    got, ways = first.codes.take(here), []
    for reading in readings:
        due = reading.codes.take(here)
        kinds = kinds_of(chart.target, due, reading.patterns.take(here), got)
        kinds[np.asarray(due == got)] = ""
        ways.append(zip(kinds.tolist(), errors_of(chart.target, due, got).tolist(), strict=True))
    found = list(zip(*ways, strict=True))
    each = {way: n for n, way in enumerate(dict.fromkeys([(), *found]))}
    if len(each) > _STRAYS:
        return _Strays(((),), numbers)
    numbers[here] = [each[way] for way in found]
    return _Strays(tuple(each), numbers)
