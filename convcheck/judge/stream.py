"""Judge the answers to chunks of consecutive codes against runs of expectations.

Only answers that differ are evaluated one by one. A *streak* is a run of codes with one expectation
and one answer, or an undefined one: one code is judged for all.
"""

from collections import defaultdict
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

from convcheck.judge.answers import ANSWERED, Answers, Fault
from convcheck.judge.digest import added, digest_of_constant, digest_of_pairs, spell_digest
from convcheck.judge.elements import tally_of_elements
from convcheck.judge.examples import fault_group
from convcheck.judge.matching import matching, strangers
from convcheck.judge.ranges import Pair, Ranges, joining
from convcheck.judge.result import RIGHT, Group, Key, Tally, TallyEntry
from convcheck.judge.tally import merge, named
from convcheck.numerics.format import Numeric
from convcheck.numerics.number import Codes
from convcheck.numerics.order import lowest, position_of
from convcheck.records import replace
from convcheck.rules.model import Case
from convcheck.semantics.answers_at import run_program
from convcheck.semantics.expected import EXACT, UNDEFINED, Decision, Reading
from convcheck.semantics.program import Program
from convcheck.semantics.runs import Affine, Constant, Piece, Unknown
from convcheck.streams import plural
from convcheck.vectors.model import VectorSet

Index = NDArray[np.intp]
_MANY = 64  # tallies of chunks are merged at this number


def codes_from(case: Case, first: int, count: int) -> Codes:
    """Return consecutive codes of a case's source type."""
    codes = np.arange(first, first + count, dtype=np.int64)
    return codes.astype(case.inputs[0].format.storage)


@dataclass
class _Streak:
    run: Constant
    begin: int
    end: int
    first: int
    last: int
    #: The digest of the answers, None if all are equal.
    digest: int | None = None

    def total(self, itemsize: int) -> int:
        if self.digest is not None:
            return self.digest
        return digest_of_constant(self.begin, self.end - self.begin, self.first, itemsize)


class SweepJudge:
    """The tally of the chunks so far. The codes of a chunk share a sign."""

    def __init__(self, case: Case, program: Program, form: Decision, out: Codes) -> None:
        self.case, self.program, self.form = case, program, form
        self.source = cast(Numeric, case.inputs[0].format)
        self.target = cast(Numeric, case.outputs[0].format)
        self.out = out
        self.agreed = [len(decision.readings) == 1 for decision in program.decisions]
        self.right: dict[int, int] = defaultdict(int)  # elements by row
        self.streak: _Streak | None = None  # the last streak, which may continue
        self.found: list[Tally] = []
        self.covered: list[tuple[int, int]] = []  # (begin, end) of covered codes, each of one sign
        self.turn = 1 << (self.source.bits - 1)  # the first code of the other sign

    def chunk(self, at: int, pieces: list[Piece]) -> None:
        """Judge the answers in the output buffer to the codes from `at` on."""
        looked: list[Index] = []
        rest: list[tuple[int, int]] = []
        for piece in pieces:
            run, begin, end = piece
            got = self.out[begin - at : end - at]
            wrong = np.ones(len(got), bool)
            if not isinstance(run, Unknown) and self.agreed[run.row]:
                wrong = unlike(piece, got, self.source, self.target)
            if isinstance(run, Unknown) or np.count_nonzero(wrong) == len(got):
                if isinstance(run, Constant) and self._note_streak(run, begin, got):
                    continue
                index = np.arange(len(got))
            else:
                index = np.flatnonzero(wrong)
                self.right[run.row] += len(got) - len(index)
            looked.append(begin - at + index)
            rest.append((begin, end))
        index = np.concatenate(looked) if looked else np.empty(0, np.intp)
        if len(index):
            self._settle(at, index, tuple(self._pair(*one) for one in rest))
        else:
            for one in rest:
                self._cover(*one)

    def keep(self, tally: Tally) -> None:
        """Add the tally of codes that were asked in another way."""
        self.found.append(tally)
        if len(self.found) >= _MANY:
            self.found = [merge(self.found)]

    def tally(self) -> Tally:
        """Return the merged tally of all chunks."""
        self._end_streak()
        covered = joining(self._pair(*ends) for ends in self.covered)
        asked = {row: count for row, count in self.right.items() if count}
        entries = {Key(row, 0, RIGHT): TallyEntry(count) for row, count in asked.items()}
        decisions = named(self.program.decisions, entries)
        tally = Tally(asked, tuple(entries.items()), covered, decisions=decisions)
        return merge([tally, *self.found])

    def _cover(self, begin: int, end: int) -> None:
        if self.covered and self.covered[-1][1] == begin and begin != self.turn:
            begin = self.covered.pop()[0]
        self.covered.append((begin, end))

    def _pair(self, begin: int, end: int) -> Pair:
        first, last = position_of(self.source, begin), position_of(self.source, end - 1)
        return (first, last) if first <= last else (last, first)

    def _note_streak(self, run: Constant, begin: int, got: Codes) -> bool:
        """Start or continue a streak. Return whether the answers are one."""
        same = bool((got == got[0]).all())
        if not (same or _undefined(run)):
            return False
        if strangers(self.target, got[:1] if same else got) is not None:
            return False
        new = _Streak(run, begin, begin + len(got), int(got[0]), int(got[-1]))
        if not same:
            codes = np.arange(begin, begin + len(got), dtype=np.uint64)
            new.digest = digest_of_pairs(codes, got)
        last = self.streak
        if last and last.run is run and last.end == begin and begin != self.turn:
            if new.digest is last.digest is None and new.first == last.first:
                last.end = new.end
                return True
            if _undefined(run):
                last.digest = added(one.total(got.dtype.itemsize) for one in (last, new))
                last.end, last.last = new.end, new.last
                return True
        self._end_streak()
        self.streak = new
        return True

    def _end_streak(self) -> None:
        streak, self.streak = self.streak, None
        if streak is None:
            return
        pair = self._pair(streak.begin, streak.end)
        rises = position_of(self.source, streak.begin) == pair[0]
        code, got = (streak.begin, streak.first) if rises else (streak.end - 1, streak.last)
        answers = _answered(np.array([got], self.out.dtype))
        one = tally_of_elements(self._vectors(codes_from(self.case, code, 1)), answers, ())
        count = streak.end - streak.begin
        digest = spell_digest(streak.total(self.out.dtype.itemsize))
        entries = []
        for key, entry in one.entries:
            ranges = Ranges(loose=(pair,))
            full = TallyEntry(count, digest, ranges, entry.first, entry.extreme)
            entries.append((key, full if entry.first else TallyEntry(count)))
        self.keep(Tally({streak.run.row: count}, tuple(entries), (pair,), decisions=one.decisions))

    def _settle(self, at: int, index: Index, covered: tuple[Pair, ...]) -> None:
        """Evaluate elements one by one.

        The backend may have overwritten the input codes, so they are recomputed.
        """
        codes, got = (at + index).astype(self.source.storage), self.out[index]
        faults: tuple[Group, ...] = ()
        strange = strangers(self.target, got)
        if strange is not None:
            lone = lowest(self.source, codes[strange])
            answer = int(got[strange][lone])
            count = np.count_nonzero(strange)
            message = f"{answer:#x}, {count} of {plural(len(self.out), 'element')}"
            fault = Fault("not a code of the type", "bulk", message, 0)
            faults = (fault_group(self._vectors(codes[strange][[lone]]), fault),)
            codes, got = codes[~strange], got[~strange]
        tally = tally_of_elements(self._vectors(codes), _answered(got), covered)
        self.keep(replace(tally, faults=faults))

    def _vectors(self, codes: Codes) -> VectorSet:
        expected = run_program(self.program, self.case, codes)
        return VectorSet(self.case, (codes,), expected, "exhaustive", self.form)


def unlike(
    piece: Piece, got: Codes, source: Numeric, target: Numeric, reading: int = 0
) -> NDArray[np.bool_]:
    """Return a mask of answers that may differ from the outcome of a run."""
    run, begin, end = piece
    if isinstance(run, Constant):
        code, pattern = run.outcomes[min(reading, len(run.outcomes) - 1)]
        if pattern == EXACT:
            return np.asarray(got != got.dtype.type(code))
        if pattern != UNDEFINED:
            said = Reading(np.asarray(code, got.dtype), np.asarray(pattern, np.uint8))
            # the source does not matter for numbers
            wrong, strange = ~matching(said, got, target, source, got), strangers(target, got)
            return wrong if strange is None else wrong | strange
    if isinstance(run, Affine):
        number = min(reading, len(run.shapes) - 1)
        if run.patterns[number] == EXACT:
            shape, tile = run.shapes[number], len(run.shapes[number])
            tiles = slice((begin - run.first) // tile, (end - run.first) // tile)
            due = run.bases[number][tiles, None] + shape
            return np.asarray(due.reshape(-1) != got)
    return np.ones(len(got), bool)


def _undefined(run: Constant) -> bool:
    return all(pattern == UNDEFINED for _, pattern in run.outcomes)


def _answered(got: Codes) -> Answers:
    return Answers(got, np.full(len(got), ANSWERED, np.uint8), {})
