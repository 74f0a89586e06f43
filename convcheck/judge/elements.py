"""Judge and tally the answers to elements, under each reading of a disputed rule."""

from collections.abc import Iterator, Mapping

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
    may_refuse,
)
from convcheck.judge.digest import digest_of_pairs, spell_digest
from convcheck.judge.examples import example_of, fault_groups
from convcheck.judge.matching import errors_of, matching, named_kinds
from convcheck.judge.ranges import Pair, Ranges, outermost, ranges_of
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
from convcheck.numerics.format import Text
from convcheck.numerics.order import positions
from convcheck.records import replace
from convcheck.semantics.expected import EXACT, UNDEFINED, Expected, Reading
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
