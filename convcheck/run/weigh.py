"""Judge the answers to chunk after chunk of consecutive codes against an outline.

What is expected of many codes at once is compared at once; an answer that is not that is
evaluated by itself. No array is longer than a chunk.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import cast

import numpy as np
from numpy.typing import NDArray

from convcheck.numerics.format import Codes, Numeric
from convcheck.numerics.order import position_of, positions
from convcheck.run.answers import ANSWERED, Answers, Fault
from convcheck.run.digest import digest_of_run
from convcheck.run.judge import group_of_fault
from convcheck.run.matching import matching
from convcheck.run.ranges import Pair, Ranges, joining
from convcheck.run.result import Group
from convcheck.run.settle import Settled, settle
from convcheck.run.tally import RIGHT, Entry, Key, Tally, combined, merge
from convcheck.run.wellformed import strangers
from convcheck.semantics.evaluate import run_program
from convcheck.semantics.expected import EXACT, UNDEFINED, Decision, Reading
from convcheck.semantics.outline import Flat, Shaped, Stretch
from convcheck.semantics.program import Program
from convcheck.spec.model import Case
from convcheck.vectors.model import VectorSet

Piece = tuple[Stretch, int, int]  # a stretch, and what of it lies in the chunk
_Compared = Flat | Shaped
Index = NDArray[np.intp]
_MANY = 64  # tallies of chunks are merged when there are so many
_NONE: Index = np.empty(0, np.intp)


def codes_from(case: Case, first: int, count: int) -> Codes:
    """Give consecutive codes of a case's source."""
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
        self.out, self.spare, self.wrong = out, np.zeros_like(out), np.zeros(len(out), bool)
        self.settled = Settled(case)
        self.right: dict[int, int] = defaultdict(int)  # elements of a row, under every reading
        self.asked: dict[int, int] = defaultdict(int)  # elements of a row in `runs`
        self.runs: dict[Key, list[Entry]] = defaultdict(list)
        self.found: list[Tally] = []
        self.covered: list[Pair] = []

    def chunk(self, at: int, pieces: list[Piece]) -> None:
        """Judge what is in the output buffer, the answers to the codes from `at` on.

        What is due is compared where it is one code or one shape; what is wrong is looked at
        closer, and so is where something else is due.
        """
        quick = [self._compare(at, *piece) for piece in pieces]
        if all(quick) and not self.wrong.any():
            self.covered.append(self._range(at, at + len(self.out)))
            for stretch, begin, end in pieces:
                self.right[cast(_Compared, stretch).row] += end - begin
        else:
            self._closer(at, pieces, quick)

    def _closer(self, at: int, pieces: list[Piece], quick: list[bool]) -> None:
        looked: list[Index] = []
        runs: list[tuple[int, int]] = []
        for (stretch, begin, end), compared in zip(pieces, quick, strict=True):
            part = slice(begin - at, end - at)
            if self._is_run(stretch, part, compared):
                self._run(cast(Flat, stretch), begin, end, part)
                runs.append((begin, end))
            else:
                looked.append(part.start + self._looked_at(stretch, part, compared))
        index = np.concatenate([_NONE, *looked])
        if len(index):  # a range found one by one may go on in a run: they are of different parts
            self.covered.extend(self._range(*run) for run in runs)
            self._settle(at, index, runs)
        else:
            self.covered.append(self._range(at, at + len(self.out)))

    def keep(self, tally: Tally) -> None:
        """Put the tally of codes to it that were asked otherwise."""
        self.found.append(tally)
        if len(self.found) >= _MANY:
            self.found = [merge(self.found)]

    def tally(self) -> Tally:
        """Put together what was found in the chunks, and what is right."""
        covered = joining(self.covered)
        edges = frozenset(position for pair in covered for position in pair)
        asked = dict(self.asked)
        runs = {key: list(found) for key, found in self.runs.items()}
        for row, count in self.right.items():
            if not count:
                continue
            asked[row] = asked.get(row, 0) + count
            for reading in self._readings(row):
                runs.setdefault(Key(row, reading, RIGHT), []).append(Entry(count))
        entries = {key: combined(found, edges) for key, found in runs.items()}
        return merge([Tally(asked, entries, covered), *self.found])

    def _readings(self, row: int) -> range:
        return range(len(self.program.decisions[row].readings))

    def _agreed(self, row: int) -> bool:
        """Tell whether a row has one reading: what is right under one of several is recorded."""
        return len(self.program.decisions[row].readings) == 1

    # What came back, and what is due ---------------------------------------------------------

    def _compare(self, at: int, stretch: Stretch, begin: int, end: int) -> bool:
        """Set what is wrong of a piece, or tell that this cannot be done so."""
        part = slice(begin - at, end - at)
        if isinstance(stretch, Flat) and _one_code(stretch) and self._agreed(stretch.row):
            due = self.out.dtype.type(stretch.outcomes[0][0])
            np.not_equal(self.out[part], due, out=self.wrong[part])
            return True
        if isinstance(stretch, Shaped) and stretch.patterns == (EXACT,):
            first, last = ((code - stretch.first) // self.tile for code in (begin, end))
            tiles = [array[part].reshape(-1, self.tile) for array in (self.out, self.spare)]
            np.subtract(tiles[0], stretch.shapes[0], out=tiles[1])
            wrong = self.wrong[part].reshape(-1, self.tile)
            np.not_equal(tiles[1], stretch.bases[0][first:last, None], out=wrong)
            return True
        self.wrong[part] = False
        return False

    def _is_run(self, stretch: Stretch, part: slice, compared: bool) -> bool:
        """Tell whether one judgement holds for all answers, not as right as can be seen at once."""
        if not isinstance(stretch, Flat) or (compared and not self.wrong[part].all()):
            return False
        out = self.out[part]
        if _undefined(stretch):
            return strangers(self.target, out) is None
        return bool((out == out[0]).all()) and strangers(self.target, out[:1]) is None

    def _looked_at(self, stretch: Stretch, part: slice, compared: bool) -> Index:
        """Give the elements of a piece that have to be evaluated; count the others as right."""
        size = part.stop - part.start
        if compared:
            index = np.flatnonzero(self.wrong[part])
        elif isinstance(stretch, Flat) and _same_due(stretch) and self._agreed(stretch.row):
            index = np.flatnonzero(~self._matches(stretch.outcomes[0], part))
        else:
            return np.arange(size)
        self.right[cast(_Compared, stretch).row] += size - len(index)
        return index

    def _matches(self, outcome: tuple[int, int], part: slice) -> NDArray[np.bool_]:
        out = self.out[part]
        code, pattern = np.asarray(outcome[0], out.dtype), np.uint8(outcome[1])
        reading = Reading(np.broadcast_to(code, out.shape), np.broadcast_to(pattern, out.shape))
        # of numbers, it does not matter what they come from
        right = matching(reading, out, self.target, self.source, out)
        return right if strangers(self.target, out) is None else np.zeros(len(out), bool)

    # What becomes of it ----------------------------------------------------------------------

    def _run(self, flat: Flat, begin: int, end: int, part: slice) -> None:
        """Note codes in a row that have the same expectation, and answers that are the same or
        never judged.
        """
        self.asked[flat.row] += end - begin
        pair = self._range(begin, end)
        lowest = part.start if position_of(self.source, begin) == pair[0] else part.stop - 1
        code, got = begin + lowest - part.start, int(self.out[lowest])
        digest = 0
        for reading in self._readings(flat.row):
            sort, kind, sample = self.settled.one(flat.outcomes[reading], code, got, pair[0])
            entry = Entry(end - begin)
            if sort != RIGHT or not self._agreed(flat.row):
                digest = digest or digest_of_run(begin, self.out[part])
                entry = Entry(end - begin, digest, Ranges(loose=(pair,)), sample, sample)
            self.runs[Key(flat.row, reading, sort, kind)].append(entry)

    def _settle(self, at: int, index: Index, runs: Iterable[tuple[int, int]]) -> None:
        """Evaluate elements of a chunk one by one: those that cannot be known to be right of what
        is not in `runs`.

        The codes are made anew: what a backend did to its input is no code that was asked.
        """
        codes, got = (at + index).astype(self.source.storage), self.out[index]
        faults: tuple[Group, ...] = ()
        strange = strangers(self.target, got)
        if strange is not None:
            faults = (self._stranger(codes[strange], got[strange]),)
            codes, got = codes[~strange], got[~strange]
        covered = tuple(self._range(*ends) for ends in _between(at, at + len(self.out), runs))
        expected = run_program(self.program, self.case, codes)
        tally = settle(self.case, codes, expected, _answered(got), covered)
        self.keep(Tally(tally.asked, tally.entries, tally.covered, faults))

    def _stranger(self, codes: Codes, got: Codes) -> Group:
        """Make the group of answers that are no codes of the type, with the lowest as example."""
        lowest = int(np.argmin(positions(self.source, codes)))
        one, answer = codes[[lowest]], got[[lowest]]
        expected = run_program(self.program, self.case, one)
        vectors = VectorSet(self.case, (one,), expected, "exhaustive", self.form)
        message = f"{int(answer[0]):#x}, {len(got)} of {len(self.out)} elements"
        fault = Fault("not a code of the type", "bulk", message, 0)
        return group_of_fault(vectors, _answered(answer), fault)

    def _range(self, begin: int, end: int) -> Pair:
        """Give the positions of codes from `begin` up to `end`, ends included."""
        first, last = (position_of(self.source, code) for code in (begin, end - 1))
        return min(first, last), max(first, last)


def _between(begin: int, end: int, runs: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Give the codes of a chunk that are in none of the runs, which are in order."""
    edges = [begin, *(edge for run in runs for edge in run), end]
    pairs = zip(edges[::2], edges[1::2], strict=True)
    return [(first, last) for first, last in pairs if first < last]


def _one_code(flat: Flat) -> bool:
    return flat.outcomes[0][1] == EXACT and _same_due(flat)


def _same_due(flat: Flat) -> bool:
    return flat.outcomes.count(flat.outcomes[0]) == len(flat.outcomes)


def _undefined(flat: Flat) -> bool:
    return all(pattern == UNDEFINED for _, pattern in flat.outcomes)


def _answered(got: Codes) -> Answers:
    return Answers(got, np.full(len(got), ANSWERED, np.uint8), {})
