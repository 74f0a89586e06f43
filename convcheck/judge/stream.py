"""Judge the answers to chunk after chunk of consecutive codes against an runs.

What is expected of many codes at once is compared at once; an answer that is not that is
evaluated by itself. No array is longer than a chunk.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import cast

import numpy as np
from numpy.typing import NDArray

from convcheck.judge.answers import ANSWERED, Answers, Fault
from convcheck.judge.elements import group_of_fault, tally_of_elements
from convcheck.judge.form import strangers
from convcheck.judge.matching import matching
from convcheck.judge.ranges import joining
from convcheck.judge.result import Group
from convcheck.judge.streaks import Streaks, pair_of, undefined
from convcheck.judge.tally import RIGHT, Key, Tally, TallyEntry, combined, merge, named
from convcheck.numerics.codes import Codes
from convcheck.numerics.format import Numeric
from convcheck.numerics.order import positions
from convcheck.records import replace
from convcheck.rules.model import Case
from convcheck.semantics.evaluate import run_program
from convcheck.semantics.expected import EXACT, Decision, Reading
from convcheck.semantics.program import Program
from convcheck.semantics.runs import Affine, Constant, Piece, Run
from convcheck.vectors.model import VectorSet
from convcheck.wording import plural

_Compared = Constant | Affine
Index = NDArray[np.intp]
_MANY = 64  # tallies of chunks are merged when there are so many
_NONE: Index = np.empty(0, np.intp)


def codes_from(case: Case, first: int, count: int) -> Codes:
    """Return consecutive codes of a case's source."""
    codes = np.arange(first, first + count, dtype=np.int64)
    return codes.astype(case.inputs[0].format.storage)


class Weighing:
    """What was found of the chunks so far.

    Of a chunk, all codes are of one sign: positions rise, or fall, where the codes rise.
    """

    def __init__(
        self, case: Case, program: Program, form: Decision, out: Codes, tile: int
    ) -> None:  # fmt: skip
        self.case, self.program, self.form, self.tile = case, program, form, tile
        self.source = cast(Numeric, case.inputs[0].format)
        self.target = cast(Numeric, case.outputs[0].format)
        self.out, self.wrong = out, np.zeros(len(out), bool)
        self.row = bytearray(out.nbytes)  # what is due of a chunk, to be compared as memory
        self.due: Codes = np.frombuffer(self.row, out.dtype)
        self.filled: int | None = 0  # the code that all of the row is, if it is one
        self.laid: Constant | None = None  # of which that is due
        self.going: Constant | None = None  # of which that was answered, in a streak
        self.agreed = [len(decision.readings) == 1 for decision in program.decisions]
        self.right: dict[int, int] = defaultdict(int)  # elements of a row, under every reading
        self.streaks = Streaks(case, program)
        self.found: list[Tally] = []
        self.covered: list[tuple[int, int]] = []  # codes of one sign, as (begin, end)
        self.turn = 1 << (self.source.bits - 1)  # where another sign begins

    def chunk(self, at: int, pieces: list[Piece]) -> None:
        """Judge what is in the output buffer, the answers to the codes from `at` on.

        What is due is compared all at once where it is known; what is wrong is looked at closer,
        and so is where something else is due.
        """
        if self._goes_on(at, pieces):
            return
        known = [piece[0] is self.laid or self._lay(at, *piece) for piece in pieces]
        if all(known) and self._is_row():
            self._cover(at, at + len(self.out))
            for run, begin, end in pieces:
                self.right[cast(_Compared, run).row] += end - begin
        else:
            self._closer(at, pieces, known)

    def _is_row(self) -> bool:
        """Tell whether the answers are the row: a bytearray compares its memory with any other."""
        return self.row == self.out

    def _goes_on(self, at: int, pieces: list[Piece]) -> bool:
        """Judge a chunk in which the streak of the last one goes on, or tell that it does not."""
        run = pieces[0][0]
        if run is not self.going or len(pieces) > 1 or not self._is_row():
            return False
        self.streaks.add(self.going, at, self.out, True)
        self._cover(at, at + len(self.out))
        return True

    def _closer(self, at: int, pieces: list[Piece], known: list[bool]) -> None:
        looked: list[Index] = []
        streaks: list[tuple[int, int]] = []
        for (run, begin, end), laid in zip(pieces, known, strict=True):
            part = slice(begin - at, end - at)
            if laid:
                np.not_equal(self.out[part], self.due[part], out=self.wrong[part])
            same = self._same(part)
            if isinstance(run, Constant) and self._is_run(run, part, laid, same):
                self.streaks.add(run, begin, self.out[part], same)
                self.going = run if same and len(pieces) == 1 else None
                streaks.append((begin, end))
            else:
                looked.append(part.start + self._looked_at(run, part, laid))
        index = np.concatenate(looked) if looked else _NONE
        if len(index):  # such a range may go on in a streak: they are covered apart
            for one in streaks:
                self._cover(*one)
            self._settle(at, index, streaks)
        else:
            self._cover(at, at + len(self.out))

    def keep(self, tally: Tally) -> None:
        """Put the tally of codes to it that were asked otherwise."""
        self.found.append(tally)
        if len(self.found) >= _MANY:
            self.found = [merge(self.found)]

    def tally(self) -> Tally:
        """Put together what was found in the chunks, and what is right."""
        covered = joining(pair_of(self.source, *ends) for ends in self.covered)
        edges = frozenset(position for pair in covered for position in pair)
        asked = dict(self.streaks.asked)
        streaks = {key: list(found) for key, found in self.streaks.entries().items()}
        for row, count in self.right.items():
            if not count:
                continue
            asked[row] = asked.get(row, 0) + count
            for reading in self._readings(row):
                streaks.setdefault(Key(row, reading, RIGHT), []).append(TallyEntry(count))
        entries = {key: combined(found, edges) for key, found in streaks.items()}
        decisions = named(self.program.decisions, entries)
        tally = Tally(asked, tuple(entries.items()), covered, decisions=decisions)
        return merge([tally, *self.found])

    def _cover(self, begin: int, end: int) -> None:
        """Note that codes of one sign were judged."""
        if self.covered and self.covered[-1][1] == begin and begin != self.turn:
            begin = self.covered.pop()[0]
        self.covered.append((begin, end))

    def _readings(self, row: int) -> range:
        return range(len(self.program.decisions[row].readings))

    # What came back, and what is due ---------------------------------------------------------

    def _lay(self, at: int, run: Run, begin: int, end: int) -> bool:
        """Put what is due of a piece into the row, or tell that this cannot be done."""
        part = slice(begin - at, end - at)
        if isinstance(run, Constant) and self._has_one_code(run):
            self._fill(part, run.outcomes[0][0])
            self.laid = None if self.filled is None else run
            return True
        if isinstance(run, Affine) and run.patterns == (EXACT,):
            first, last = ((code - run.first) // self.tile for code in (begin, end))
            due = self.due[part].reshape(-1, self.tile)
            np.add(run.shapes[0], run.bases[0][first:last, None], out=due)
            self.filled = self.laid = self.going = None
            return True
        return False

    def _has_one_code(self, flat: Constant) -> bool:
        """Return whether one code is right, and that of a rule that is not disputed."""
        return flat.outcomes[0][1] == EXACT and self.agreed[flat.row] and _same_due(flat)

    def _fill(self, part: slice, code: int) -> None:
        """Put one code into a part of the row."""
        if self.filled != code:
            self.due[part], self.laid, self.going = code, None, None
            self.filled = code if part.stop - part.start == len(self.due) else None

    def _same(self, part: slice) -> bool:
        """Return whether all answers of a part are one and the same."""
        out = self.out[part]
        if out[0] != out[-1]:
            return False
        if len(out) < len(self.out):
            return bool((out == out[0]).all())
        self._fill(part, int(out[0]))
        return self._is_row()

    def _is_run(self, flat: Constant, part: slice, laid: bool, same: bool) -> bool:
        """Tell whether one judgement holds for all answers, not as right as can be seen at once."""
        if laid and not self.wrong[part].all():
            return False
        if same:
            return strangers(self.target, self.out[part][:1]) is None
        return undefined(flat) and strangers(self.target, self.out[part]) is None

    def _looked_at(self, run: Run, part: slice, compared: bool) -> Index:
        """Return the elements of a piece that have to be evaluated; count the others as right."""
        size = part.stop - part.start
        if compared:
            index = np.flatnonzero(self.wrong[part])
        elif isinstance(run, Constant) and _same_due(run) and self.agreed[run.row]:
            index = np.flatnonzero(~self._matches(run.outcomes[0], part))
        else:
            return np.arange(size)
        self.right[cast(_Compared, run).row] += size - len(index)
        return index

    def _matches(self, outcome: tuple[int, int], part: slice) -> NDArray[np.bool_]:
        out = self.out[part]
        reading = Reading(np.asarray(outcome[0], out.dtype), np.asarray(outcome[1], np.uint8))
        # of numbers, it does not matter what they come from
        right = matching(reading, out, self.target, self.source, out)
        return right if strangers(self.target, out) is None else np.zeros(len(out), bool)

    # What becomes of it ----------------------------------------------------------------------

    def _settle(self, at: int, index: Index, streaks: Iterable[tuple[int, int]]) -> None:
        """Evaluate elements of a chunk one by one: those that cannot be known to be right of what
        is not in `streaks`.

        The codes are made anew: what a backend did to its input is no code that was asked.
        """
        codes, got = (at + index).astype(self.source.storage), self.out[index]
        faults: tuple[Group, ...] = ()
        strange = strangers(self.target, got)
        if strange is not None:
            faults = (self._stranger(codes[strange], got[strange]),)
            codes, got = codes[~strange], got[~strange]
        parts = _between(at, at + len(self.out), streaks)
        covered = tuple(pair_of(self.source, *part) for part in parts)
        expected = run_program(self.program, self.case, codes)
        vectors = VectorSet(self.case, (codes,), expected, "exhaustive", self.form)
        tally = tally_of_elements(vectors, _answered(got), covered)
        self.keep(replace(tally, faults=faults))

    def _stranger(self, codes: Codes, got: Codes) -> Group:
        """Make the group of answers that are no codes of the type, with the lowest as example."""
        lowest = int(np.argmin(positions(self.source, codes)))
        one, answer = codes[[lowest]], got[[lowest]]
        expected = run_program(self.program, self.case, one)
        vectors = VectorSet(self.case, (one,), expected, "exhaustive", self.form)
        message = f"{int(answer[0]):#x}, {len(got)} of {plural(len(self.out), 'element')}"
        fault = Fault("not a code of the type", "bulk", message, 0)
        return group_of_fault(vectors, _answered(answer), fault)


def _between(begin: int, end: int, streaks: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the codes of a chunk that are in none of the streaks, which are in order."""
    edges = [begin, *(edge for one in streaks for edge in one), end]
    pairs = zip(edges[::2], edges[1::2], strict=True)
    return [(first, last) for first, last in pairs if first < last]


def _same_due(flat: Constant) -> bool:
    return flat.outcomes.count(flat.outcomes[0]) == len(flat.outcomes)


def _answered(got: Codes) -> Answers:
    return Answers(got, np.full(len(got), ANSWERED, np.uint8), {})
