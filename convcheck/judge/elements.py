"""Judge and tally the answers to elements, under each reading of a disputed rule.

In a sweep, chunks of consecutive codes are judged against runs of expectations: only answers that
differ are evaluated one by one. A *streak* is a run of codes with one expectation and one answer,
or an undefined one: one code is judged for all.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

from convcheck.judge.answers import (
    ANSWERED,
    CRASHED,
    LOST,
    NOT_ASKED,
    REFUSED,
    WITH_OTHERS,
    Answers,
    Fault,
    may_refuse,
)
from convcheck.judge.digest import added, digest_of_constant, digest_of_pairs, spell_digest
from convcheck.judge.examples import example_of, fault_group, fault_groups
from convcheck.judge.matching import errors_of, matching, named_kinds, strangers
from convcheck.judge.ranges import Pair, Ranges, joining, outermost, ranges_of
from convcheck.judge.result import (
    RIGHT,
    Group,
    Key,
    PlacedExample,
    Tally,
    TallyEntry,
    Whole,
    entry_word,
)
from convcheck.judge.tally import MAIN, merge, named
from convcheck.numerics.format import Numeric, Text
from convcheck.numerics.number import Codes
from convcheck.numerics.order import position_of, positions
from convcheck.records import replace
from convcheck.rules.model import Case
from convcheck.semantics.answers_at import run_program
from convcheck.semantics.expected import EXACT, UNDEFINED, Decision, Expected, Reading
from convcheck.semantics.program import Program
from convcheck.semantics.runs import Affine, Constant, Piece, Unknown
from convcheck.streams import plural
from convcheck.vectors.model import VectorSet

Mask = NDArray[np.bool_]
Index = NDArray[np.intp]


def tally_of(
    vectors: VectorSet,
    answers: Answers,
    main: str,
    inconsistent: tuple[Group, ...] = (),
    whole: Whole | None = None,
) -> Tally:
    """Tally the answers to a case's vectors in every placement.

    `main` is MAIN if a sweep asks and counts the same codes again, else ''.
    """
    tally = tally_of_elements(vectors, answers, None, whole=whole)
    entries = {replace(key, placement=main): entry for key, entry in tally.entries}
    for other in answers.elsewhere:
        got = Answers(other.got, np.full(len(other.got), ANSWERED, np.uint8), {})
        there = tally_of_elements(vectors.take(other.index), got, None, whole=whole)
        entries |= {replace(key, placement=other.placement): one for key, one in there.entries}
    asked = {} if main == MAIN else tally.asked
    faults = (*fault_groups(vectors, answers.faults), *inconsistent)
    decisions = named(vectors.decisions, entries)
    count = sum(asked.values())
    tally = Tally(asked, tuple(entries.items()), (), faults, 0, count, decisions, whole)
    return tally if whole else merge([tally])


def tally_of_elements(
    vectors: VectorSet,
    answers: Answers,
    covered: tuple[Pair, ...] | None,
    *,
    whole: Whole | None = None,
) -> Tally:
    """Tally elements of the covered positions. Ignores faults.

    `covered` are ranges of positions, or None for scattered codes. These get ranges only if they
    are the `whole` case: a range joins elements that were asked one after the other.
    """
    text = isinstance(vectors.case.inputs[0].format, Text)  # the position of a text is its index
    if covered is not None or whole or text or answers.messages or answers.with_others:
        return _Tallying(vectors, answers, covered, whole).tally()
    rows, first = vectors.expected.rows, vectors.expected.readings[0]
    agreed = np.array([len(decision.readings) == 1 for decision in vectors.decisions])
    right = np.asarray(answers.got == first.codes) & (first.patterns == EXACT)
    right &= (answers.state == ANSWERED) & agreed.take(rows)
    counts, index = _counts(np.where(right, rows, np.int16(-1))), np.flatnonzero(~right)
    others = replace(answers, got=answers.got[index], state=answers.state[index])
    entries = {Key(row, 0, RIGHT): TallyEntry(count) for row, count in counts.items()}
    decisions = named(vectors.decisions, entries)
    plain = Tally(counts, tuple(entries.items()), decisions=decisions)
    return merge([plain, _Tallying(vectors.take(index), others, None, None).tally()])


class _Tallying:
    def __init__(
        self,
        vectors: VectorSet,
        answers: Answers,
        covered: tuple[Pair, ...] | None,
        whole: Whole | None,
    ) -> None:
        self.case, self.whole = vectors.case, whole is not None
        self.show_all = whole is not None and whole.show_all
        self.target = self.case.outputs[0].format
        source = self.case.inputs[0].format
        if isinstance(source, Text):  # a text has no order
            at = np.arange(len(vectors), dtype=np.uint64)
        else:
            at = positions(source, np.asarray(vectors.inputs[0]))
        # ranges need an order; the lowest scattered element is found faster without sorting
        ordered = self.whole or covered is not None
        order = np.argsort(at, kind="stable") if ordered else slice(None)
        self.at, self.inputs = at[order], tuple(tensor[order] for tensor in vectors.inputs)
        self.got, self.state = answers.got[order], answers.state[order]
        self.expected: Expected = vectors.expected.take(order)
        self.order = np.arange(len(at))[order]
        self.messages: Mapping[int, str] = answers.messages
        with_others = np.zeros(len(at), bool)
        with_others[list(answers.with_others)] = True
        self.with_others = with_others[order]
        self.scattered, self.covered = covered is None, covered or ()
        self.edges = frozenset(position for pair in self.covered for position in pair)
        self.wrong: list[Mask] = []
        for reading in self.expected.readings:
            right = matching(reading, self.got, self.target, source, self.inputs[0])
            right &= self.state == ANSWERED
            right |= (self.state == REFUSED) & may_refuse(self.case, reading)
            self.wrong.append(~right)

    def tally(self) -> Tally:
        rows = np.where(self.state == NOT_ASKED, np.int16(-1), self.expected.rows)
        asked = _counts(rows)
        entries: dict[Key, TallyEntry] = {}
        for row in asked:
            for reading in range(len(self.expected.decisions[row].readings)):
                for sort, kind, index in self._sorted_out(rows == row, reading):
                    key = Key(row, reading, sort, kind)
                    entries[key] = self._entry(index, key, self.expected.readings[reading])
        decisions = named(self.expected.decisions, entries)
        return Tally(asked, tuple(entries.items()), self.covered, decisions=decisions)

    def _sorted_out(self, here: Mask, reading: int) -> Iterator[tuple[str, str, Index]]:
        under, wrong = self.expected.readings[reading], here & self.wrong[reading]
        free = under.patterns == UNDEFINED
        if self.case.refusal:
            free = free | (self.state == REFUSED)
        crashed, refused = here & (self.state == CRASHED), wrong & (self.state == REFUSED)
        for sort, kind, mask in (
            ("undefined", "", here & free & ~crashed),
            (RIGHT, "", here & ~wrong & ~free & ~crashed),
            ("refused", "refused", refused & ~self.with_others),
            ("refused", WITH_OTHERS, refused & self.with_others),
        ):
            (index,) = mask.nonzero()
            if len(index):
                yield sort, kind, index
        (index,) = (wrong & ~free & (self.state == ANSWERED)).nonzero()
        if len(index):
            due, patterns = under.codes.take(index), under.patterns.take(index)
            kinds = named_kinds(self.target, due, patterns, self.got.take(index))
            yield from (("fail", kind, index.take(here)) for kind, here in kinds.by_name())
        yield from self._by_message("crashed", np.flatnonzero(crashed))
        yield from self._by_message("error", np.flatnonzero(here & (self.state == LOST) & ~free))

    def _by_message(self, sort: str, index: Index) -> Iterator[tuple[str, str, Index]]:
        said = [self._message(int(i)) for i in index]
        for message in sorted(set(said)):
            yield sort, message, index[[other == message for other in said]]

    def _message(self, i: int) -> str:
        return self.messages.get(int(self.order[i]), "")

    def _entry(self, index: Index, key: Key, reading: Reading) -> TallyEntry:
        disputed = len(self.expected.decisions[key.decision].readings) > 1
        if key.sort == RIGHT and not disputed and not self.show_all:
            return TallyEntry(len(index))
        got = self.got.take(index)
        errors = errors_of(self.target, reading.codes.take(index), got)
        # runs of undefined codes have no error either
        if key.sort == "undefined" and not self.whole:
            errors[:] = 0
        at = self.at.take(index)
        lowest = int(np.argmin(at))
        first = extreme = self._sample(index, lowest, errors, reading)
        if key.sort == RIGHT and not disputed:
            return TallyEntry(len(index), first=first)
        if errors[lowest] < (most := errors.max()):
            farthest = np.flatnonzero(errors == most)
            lowest = int(farthest[np.argmin(at[farthest])])
            extreme = self._sample(index, lowest, errors, reading)
        sums = spell_digest(digest_of_pairs(self.inputs[0].take(index), got))
        ranges = Ranges()
        if self.whole and not isinstance(self.case.inputs[0].format, Text):
            rank = np.cumsum(self.state != NOT_ASKED)[index]
            cuts = np.flatnonzero(np.diff(rank) != 1)
            firsts, lasts = index[np.r_[0, cuts + 1]], index[np.r_[cuts, len(index) - 1]]
            runs = zip(self.at[firsts].tolist(), self.at[lasts].tolist(), strict=True)
            ranges = Ranges(outermost(list(runs)), len(firsts))
        elif not self.scattered:
            ranges = ranges_of(at, self.edges)
        return TallyEntry(len(index), sums, ranges, first, extreme)

    def _sample(
        self, index: Index, i: int, errors: NDArray[np.float64], reading: Reading
    ) -> PlacedExample:
        element = int(index[i])
        answered = self.state[element] == ANSWERED
        got = entry_word(self.got[element]) if answered else None
        example = example_of(self.inputs, reading, element, got, self._message(element))
        return PlacedExample(int(self.at[element]), float(errors[i]), example)


def _counts(rows: NDArray[np.int16]) -> dict[int, int]:
    if len(rows) and (rows == rows[0]).all():  # common in small batches
        return {int(rows[0]): len(rows)} if rows[0] >= 0 else {}
    counts = np.bincount(rows + 1)[1:].tolist()
    return {row: count for row, count in enumerate(counts) if count}


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
            lone = int(positions(self.source, codes[strange]).argmin())
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
