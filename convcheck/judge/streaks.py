"""Streaks: codes in a row of which the same is expected, and to which the same came or all is free.

Chunks are judged one after the other: a streak that goes on in the next chunk becomes one entry.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

import numpy as np

from convcheck.judge.digest import added, digest_of_consecutive, digest_of_constant, spell_digest
from convcheck.judge.elements import due_word
from convcheck.judge.kinds import errors_of, kinds_of
from convcheck.judge.matching import matching
from convcheck.judge.ranges import Pair, Ranges
from convcheck.judge.result import Example, Word
from convcheck.judge.tally import RIGHT, Key, PlacedExample, TallyEntry
from convcheck.numerics.codes import Codes
from convcheck.numerics.format import Numeric
from convcheck.numerics.order import position_of
from convcheck.rules.model import Case
from convcheck.semantics.expected import UNDEFINED, Reading
from convcheck.semantics.program import Program
from convcheck.semantics.runs import Constant


def undefined(flat: Constant) -> bool:
    """Return whether nothing is due, under any reading."""
    return all(pattern == UNDEFINED for _, pattern in flat.outcomes)


def pair_of(source: Numeric, begin: int, end: int) -> Pair:
    """Return the positions of codes of one sign from `begin` up to `end`, ends included."""
    first, last = position_of(source, begin), position_of(source, end - 1)
    return (first, last) if first <= last else (last, first)


@dataclass
class _Streak:
    """A streak that may go on: `code` and `got` are those of its lowest position."""

    flat: Constant
    free: bool  # answers may differ
    hashed: bool
    pair: Pair
    code: int
    got: int
    digest: int = 0  # but for those of `constant`
    #: first code, number and answer of the last ones, where they are constant
    constant: tuple[int, int, int] = (0, 0, 0)
    itemsize: int = 1  # of an answer, in bytes

    def hash(self, first: int, got: Codes, same: bool) -> None:
        """Add the answers, of shape (n,), to consecutive codes; `same`: they are all one."""
        self.itemsize = got.dtype.itemsize
        if not same:
            self.digest = added((self.digest, digest_of_consecutive(first, got)))
            return
        begin, count, answer = self.constant
        if count and (begin + count, answer) == (first, int(got[0])):
            self.constant = begin, count + len(got), answer
        else:
            self.digest = self.total
            self.constant = first, len(got), int(got[0])

    @property
    def total(self) -> int:
        """The digest of all."""
        return added((self.digest, digest_of_constant(*self.constant, self.itemsize)))


class Streaks:
    """What was noted of streaks so far; `asked` counts the elements of each row in them."""

    def __init__(self, case: Case, program: Program) -> None:
        self.source, self.program = cast(Numeric, case.inputs[0].format), program
        self.settled = _Judged(case)
        self.asked: dict[int, int] = defaultdict(int)
        self.found: dict[Key, list[TallyEntry]] = defaultdict(list)
        self.last: _Streak | None = None

    def add(self, flat: Constant, first: int, got: Codes, same: bool) -> None:
        """Note the answers, of shape (n,), to codes of one sign from `first` on.

        `same` says that all are the same; otherwise nothing is due.
        """
        count = len(got)
        pair = pair_of(self.source, first, first + count)
        at = 0 if position_of(self.source, first) == pair[0] else count - 1
        code, lowest = first + at, int(got[at])
        streak = self._going_on(flat, pair, lowest) or self._begun(flat, pair, code, lowest)
        if pair[0] < streak.pair[0]:
            streak.code, streak.got = code, lowest
        streak.pair = min(pair[0], streak.pair[0]), max(pair[1], streak.pair[1])
        self.asked[flat.row] += count
        if streak.hashed:
            streak.hash(first, got, same)

    def entries(self) -> Mapping[Key, list[TallyEntry]]:
        """Return what was noted, a list of disjoint parts a key."""
        self._close()
        return self.found

    def _going_on(self, flat: Constant, pair: Pair, got: int) -> _Streak | None:
        streak = self.last
        if streak is None or flat is not streak.flat or not (streak.free or got == streak.got):
            return None
        touching = pair[0] == streak.pair[1] + 1 or pair[1] + 1 == streak.pair[0]
        return streak if touching else None

    def _begun(self, flat: Constant, pair: Pair, code: int, got: int) -> _Streak:
        self._close()
        outcomes = [flat.outcomes[reading] for reading in self._readings(flat)]
        sorts = {self.settled.one(outcome, code, got, pair[0])[0] for outcome in outcomes}
        hashed = len(outcomes) > 1 or sorts != {RIGHT}
        self.last = _Streak(flat, undefined(flat), hashed, pair, code, got)
        return self.last

    def _close(self) -> None:
        """Make entries of the last streak: of what is right under one reading, there is a count."""
        streak, self.last = self.last, None
        for reading in self._readings(streak.flat) if streak else ():
            assert streak is not None  # noqa: S101
            outcome, lowest = streak.flat.outcomes[reading], streak.pair[0]
            sort, kind, sample = self.settled.one(outcome, streak.code, streak.got, lowest)
            entry = TallyEntry(streak.pair[1] + 1 - lowest)
            if streak.hashed:
                place = Ranges(loose=(streak.pair,))
                entry = TallyEntry(entry.count, spell_digest(streak.total), place, sample, sample)
            self.found[Key(streak.flat.row, reading, sort, kind)].append(entry)

    def _readings(self, flat: Constant) -> range:
        return range(len(self.program.decisions[flat.row].readings))


class _Judged:
    """Judges one element for many of which the same is expected, and the same came back."""

    def __init__(self, case: Case) -> None:
        self.source = cast(Numeric, case.inputs[0].format)
        self.target = cast(Numeric, case.outputs[0].format)
        self._known: dict[tuple[int, int, int], tuple[str, str, Word, float]] = {}

    def one(
        self, outcome: tuple[int, int], code: int, got: int, position: int
    ) -> tuple[str, str, PlacedExample]:
        """Return what became of an element, in what way, and it as a sample.

        `outcome` is the code that is due and its pattern.
        """
        key = (*outcome, got)
        if key not in self._known:
            self._known[key] = self._judged(outcome, code, got)
        sort, kind, due, error = self._known[key]
        return sort, kind, PlacedExample(position, error, Example((code,), due, got))

    def _judged(
        self, outcome: tuple[int, int], code: int, got: int
    ) -> tuple[str, str, Word, float]:
        storage = self.target.storage
        due, patterns = np.array([outcome[0]], storage), np.array([outcome[1]], np.uint8)
        answers, inputs = np.array([got], storage), np.array([code], self.source.storage)
        reading = Reading(due, patterns)
        word = due_word(reading, 0)
        if outcome[1] == UNDEFINED:
            return "undefined", "", word, 0.0
        error = float(errors_of(self.target, due, answers)[0])
        if matching(reading, answers, self.target, self.source, inputs)[0]:
            return RIGHT, "", word, error
        return "fail", str(kinds_of(self.target, due, patterns, answers)[0]), word, error
