"""Judge the answers to chunk after chunk of scattered codes against a chart.

Answers that are foreseen, or free, are counted and put to the digests of their sorts; all others
are tallied as elements.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from convcheck.judge.answers import ANSWERED, Answers
from convcheck.judge.digest import PairSums
from convcheck.judge.elements import due_word, tally_of_elements
from convcheck.judge.foreseen import Numbers, Sorts, sorts_of
from convcheck.judge.result import Example
from convcheck.judge.tally import RIGHT, Key, PlacedExample, Tally, TallyEntry, merge, named
from convcheck.numerics.codes import Codes
from convcheck.numerics.format import Numeric
from convcheck.numerics.order import lowest, position_of, positions
from convcheck.rules.model import Case
from convcheck.semantics.chart import Chart, Slots
from convcheck.semantics.evaluate import run_program
from convcheck.semantics.expected import UNDEFINED, Decision
from convcheck.semantics.program import Program
from convcheck.vectors.model import VectorSet

_ENOUGH = 1 << 12  # answers that are put to their digests at a time, at the least
_MOST = 0.7  # of the answers: where more have a digest, all are put there, which is quicker
_MANY = 1 << 16  # wrong answers that are judged at a time: some of each kind
Mask = NDArray[np.bool_]


class _Waiting:
    """Elements, each a few arrays, that wait until there are enough of them."""

    def __init__(self) -> None:
        self.parts: list[tuple[Codes | Slots, ...]] = []
        self.size = 0

    def add(self, part: tuple[Codes | Slots, ...]) -> None:
        """Put more of them on it."""
        self.parts.append(part)
        self.size += len(part[0])

    def all(self) -> Iterator[Any]:
        """Take all of them off it: array by array."""
        parts, self.parts, self.size = self.parts, [], 0
        return (a[0] if len(a) == 1 else np.concatenate(a) for a in zip(*parts, strict=True))


class _Summed:
    """Answers that have digests, sort by sort: how many, their digest, the lowest code."""

    def __init__(self, source: Numeric, itemsize: int, sorts: Sorts) -> None:
        self.source, self.sorts = source, sorts
        self.which = range(sorts.counted, sorts.unknown)
        self.sums = PairSums(itemsize, sorts.unknown + 1)
        self.counts = dict.fromkeys(self.which, 0)
        self.lowest: dict[int, tuple[int, int, int]] = {}  # its position, the code, the answer
        #: Of each sort, the last position at which a code may be lower than that.
        self.bounds = np.zeros(sorts.unknown + 1, np.uint64)
        self.bounds[self.which] = (1 << source.bits) - 1
        self.waiting = _Waiting()

    def add(self, numbers: Numbers, codes: Codes, got: Codes) -> None:
        """Add those of some answers whose sorts have digests."""
        here = (numbers >= self.which.start) & (numbers < self.which.stop)
        if np.count_nonzero(here) > _MOST * len(here):
            self._all(numbers, codes, got)
            return
        for number in self.which:
            index = np.flatnonzero(numbers == number)
            if len(index) >= _ENOUGH:
                self._one(number, codes.take(index), got.take(index))
            elif len(index):
                self.waiting.add((numbers.take(index), codes.take(index), got.take(index)))
        if self.waiting.size >= _ENOUGH:
            self._all(*self.waiting.all())

    def _one(self, number: int, codes: Codes, got: Codes) -> None:
        """Add answers of one sort."""
        self.sums.add(codes, got, number)
        self.counts[number] += len(codes)
        self._look(number, codes, got)

    def _all(self, numbers: Numbers, codes: Codes, got: Codes) -> None:
        """Add answers of many sorts, those of sorts that have no digest to piles of their own."""
        piles = numbers.astype(np.intp)
        self.sums.add_to(piles, codes, got)
        lower = np.flatnonzero(positions(self.source, codes) <= self.bounds.take(piles))
        of_them = numbers.take(lower)
        for number in self.which:
            self.counts[number] += int(np.count_nonzero(numbers == number))
            if len(lower):
                index = lower.take(np.flatnonzero(of_them == number))
                self._look(number, codes.take(index), got.take(index))

    def _look(self, number: int, codes: Codes, got: Codes) -> None:
        """Look for the lowest code of a sort, where there are any."""
        if not len(codes):
            return
        least = lowest(self.source, codes)
        code = int(codes[least])
        here = position_of(self.source, code), code, int(got[least])
        self.lowest[number] = min(self.lowest.get(number, here), here)
        self.bounds[number] = max(self.lowest[number][0], 1) - 1

    def tallies(self, chart: Chart, program: Program) -> Iterator[Tally]:
        """Yield what was found of each sort."""
        if self.waiting.size:
            self._all(*self.waiting.all())
        for number in self.lowest:
            yield self._tally(number, chart, program)

    def _tally(self, number: int, chart: Chart, program: Program) -> Tally:
        sort, count = self.sorts.sorts[number], self.counts[number]
        digest = self.sums.digest(number)
        entries, (at, code, got) = {}, self.lowest[number]
        slot = int(chart.slots(np.array([code], self.source.storage))[0])
        ways = sort.ways or [("", 0.0)] * len(sort.patterns)
        for reading, (pattern, (kind, error)) in enumerate(zip(sort.patterns, ways, strict=True)):
            free = pattern == UNDEFINED
            due = due_word(chart.expected.readings[reading], slot) if free or kind else got
            first = PlacedExample(at, error, Example((code,), due, got))
            key = Key(sort.row, reading, "undefined" if free else "fail" if kind else RIGHT, kind)
            entries[key] = TallyEntry(count, digest, first=first, extreme=first)
        return Tally({sort.row: count}, entries, decisions=named(program.decisions, entries))


class Comparing:
    """What was found of the chunks so far."""

    def __init__(self, case: Case, program: Program, form: Decision, chart: Chart) -> None:
        self.case, self.program, self.form, self.chart = case, program, form, chart
        source, target = (cast(Numeric, t[0].format) for t in (case.inputs, case.outputs))
        self.sorts = sorts_of(chart)
        self.due = self.sorts.answers[0]
        self.right = np.zeros(self.sorts.counted, np.int64)  # elements of each sort but counted
        self.summed = _Summed(source, target.storage.itemsize, self.sorts)
        self.found: list[Tally] = []
        self.left = _Waiting()  # what is judged one by one

    def chunk(self, codes: Codes, got: Codes) -> None:
        """Judge the answers to codes, all of them codes of the destination."""
        slots = self.chart.slots(codes)
        numbers = self.due.numbers.take(slots)
        index = np.flatnonzero(self._others(numbers, self.due.codes.take(slots) != got))
        if len(index):
            index = self._left(numbers, index, slots, got)
            self._leave(codes.take(index), slots.take(index), got.take(index))
        self._sort(numbers, codes, got)

    def _others(self, numbers: Numbers, wrong: Mask) -> Mask:
        """Return which answers are neither what is due under the first reading nor free."""
        wrong &= numbers < self.sorts.free
        wrong |= numbers == self.sorts.unknown
        return wrong

    def _sort(self, numbers: Numbers, codes: Codes, got: Codes) -> None:
        """Note answers whose sorts have these numbers."""
        for number in range(self.sorts.counted):  # there are few: quicker than bincount
            self.right[number] += np.count_nonzero(numbers == number)
        if self.summed.which:
            self.summed.add(numbers, codes, got)

    def _left(self, numbers: Numbers, index: Slots, slots: Slots, got: Codes) -> Slots:
        """Put further answers that are foreseen to their sorts; return which are not."""
        first = numbers.take(index)
        numbers[index] = self.sorts.unknown
        for other in self.sorts.answers[1:]:
            here = index.take(np.flatnonzero(other.beside.take(first)))
            of_them = slots.take(here)
            right = np.flatnonzero(other.codes.take(of_them) == got.take(here))
            numbers[here.take(right)] = other.numbers.take(of_them.take(right))
        return index.take(np.flatnonzero(numbers.take(index) == self.sorts.unknown))

    def _leave(self, codes: Codes, slots: Slots, got: Codes) -> None:
        """Leave answers to be judged one by one."""
        self.left.add((codes, slots, got))
        if self.left.size >= _MANY:
            self._otherwise()

    def tally(self) -> Tally:
        """Put together what was found in the chunks, and what is right."""
        self._otherwise()
        summed = self.summed.tallies(self.chart, self.program)
        return merge([self._counted(), *summed, *self.found])

    def _counted(self) -> Tally:
        asked: dict[int, int] = {}
        for sort, count in zip(self.sorts.sorts, self.right.tolist(), strict=False):
            if count:
                asked[sort.row] = asked.get(sort.row, 0) + count
        entries = {Key(row, 0, RIGHT): TallyEntry(count) for row, count in asked.items()}
        return Tally(asked, entries, decisions=named(self.program.decisions, entries))

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
