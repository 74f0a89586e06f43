"""Elements with their answers -> a tally: every one of them is evaluated and compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import cast

import numpy as np
from numpy.typing import NDArray

from convcheck.judge.answers import ANSWERED, CRASHED, NOT_ASKED, REFUSED, WITH_OTHERS, Answers
from convcheck.judge.digest import digest
from convcheck.judge.elements import due_word
from convcheck.judge.kinds import errors_of, kinds_of
from convcheck.judge.matching import matching
from convcheck.judge.ranges import KEPT, Pair, Ranges, merged
from convcheck.judge.result import Example, Word
from convcheck.judge.tally import RIGHT, Entry, Key, Sample, Tally
from convcheck.numerics.format import Codes, Numeric
from convcheck.numerics.order import positions
from convcheck.rules.model import Case
from convcheck.semantics import expected as pattern
from convcheck.semantics.expected import Expected, Reading

Mask = NDArray[np.bool_]
Positions = NDArray[np.uint64]
Index = NDArray[np.intp]
_FEW = 64  # ranges that all become objects


def settle(
    case: Case,
    inputs: Codes,
    expected: Expected,
    answers: Answers,
    covered: tuple[Pair, ...] | None,
) -> Tally:
    """Tally elements, `inputs` of shape (n,), which are some or all of those covered.

    Of codes that are scattered, nothing is covered, None, and no ranges are made. Faults are not
    looked at.
    """
    return _Settling(case, inputs, expected, answers, covered).tally()


class _Settling:
    def __init__(
        self,
        case: Case,
        inputs: Codes,
        expected: Expected,
        answers: Answers,
        covered: tuple[Pair, ...] | None,
    ) -> None:
        source = cast(Numeric, case.inputs[0].format)
        at = positions(source, inputs)
        order = np.argsort(at, kind="stable")
        self.case, self.target = case, cast(Numeric, case.outputs[0].format)
        self.at, self.inputs, self.got = at[order], inputs[order], cast(Codes, answers.got)[order]
        self.state, self.expected, self.order = answers.state[order], expected.take(order), order
        self.messages: Mapping[int, str] = answers.messages
        self.with_others = np.zeros(len(order), bool)
        self.with_others[list(answers.with_others)] = True
        self.with_others = self.with_others[order]
        self.scattered, self.covered = covered is None, covered or ()
        self.edges = frozenset(position for pair in self.covered for position in pair)
        self.wrong = [~self._right(reading) for reading in self.expected.readings]

    def _right(self, reading: Reading) -> Mask:
        source = self.case.inputs[0].format
        right = matching(reading, self.got, self.target, source, self.inputs)
        right &= self.state == ANSWERED
        accepted = np.isin(reading.patterns, [pattern.REFUSED, pattern.UNDEFINED])
        right |= (self.state == REFUSED) & (accepted | self.case.refusal)
        return right

    def tally(self) -> Tally:
        rows = np.where(self.state == NOT_ASKED, np.int16(-1), self.expected.rows)
        found, counts = np.unique(rows, return_counts=True)
        asked = {int(r): int(n) for r, n in zip(found, counts, strict=True) if r >= 0}
        entries: dict[Key, Entry] = {}
        for row in asked:
            for reading in range(len(self.expected.decisions[row].readings)):
                for sort, kind, index in self._sorted_out(rows == row, reading):
                    key = Key(row, reading, sort, kind)
                    entries[key] = self._entry(index, key, self.expected.readings[reading])
        return Tally(asked, entries, self.covered)

    def _sorted_out(self, here: Mask, reading: int) -> Iterator[tuple[str, str, Index]]:
        under, wrong = self.expected.readings[reading], here & self.wrong[reading]
        free = under.patterns == pattern.UNDEFINED
        if self.case.refusal:
            free = free | (self.state == REFUSED)
        crashed, refused = here & (self.state == CRASHED), wrong & (self.state == REFUSED)
        for sort, kind, mask in (
            ("undefined", "", here & free & ~crashed),
            (RIGHT, "", here & ~wrong & ~free & ~crashed),
            ("refused", "refused", refused & ~self.with_others),
            ("refused", WITH_OTHERS, refused & self.with_others),
        ):
            if mask.any():
                yield sort, kind, np.flatnonzero(mask)
        index = np.flatnonzero(wrong & ~free & (self.state == ANSWERED))
        kinds = kinds_of(self.target, under.codes[index], under.patterns[index], self.got[index])
        yield from (("fail", kind, index[kinds == kind]) for kind in sorted(set(kinds)))
        yield from self._by_message(np.flatnonzero(crashed))

    def _by_message(self, crashed: Index) -> Iterator[tuple[str, str, Index]]:
        said = [self._message(int(i)) for i in crashed]
        for message in sorted(set(said)):
            yield "crashed", message, crashed[[other == message for other in said]]

    def _message(self, i: int) -> str:
        return self.messages.get(int(self.order[i]), "")

    def _entry(self, index: Index, key: Key, reading: Reading) -> Entry:
        disputed = len(self.expected.decisions[key.decision].readings) > 1
        if key.sort == RIGHT and not disputed:
            return Entry(len(index))
        errors = errors_of(self.target, reading.codes[index], self.got[index])
        if key.sort == "undefined":  # nothing is due that it could be far from
            errors[:] = 0
        first = self._sample(index, 0, errors, reading)
        extreme = self._sample(index, int(np.argmax(errors)), errors, reading)
        sums = digest(self.inputs[index], self.got[index])
        ranges = Ranges() if self.scattered else ranges_of(self.at[index], self.edges)
        return Entry(len(index), sums, ranges, first, extreme)

    def _sample(
        self, index: Index, i: int, errors: NDArray[np.float64], reading: Reading
    ) -> Sample:
        element = int(index[i])
        answered = self.state[element] == ANSWERED
        got = int(self.got[element]) if answered else None
        due = due_word(reading, element)
        example = Example((int(self.inputs[element]),), due, got, self._message(element))
        return Sample(int(self.at[element]), float(errors[i]), example)


def ranges_of(at: Positions, edges: frozenset[int]) -> Ranges:
    """Make ranges of positions in order, shape (n,), one or more; `edges` are the first and last
    positions of what was covered. Of many ranges, only the outermost become objects.
    """
    cuts = np.flatnonzero(np.diff(at) != 1)
    firsts = np.concatenate([at[:1], at[cuts + 1]])
    lasts = np.concatenate([at[cuts], at[-1:]])
    chosen = np.arange(len(firsts))
    if len(firsts) > _FEW:
        outer = (chosen < KEPT) | (chosen >= len(firsts) - KEPT)
        loose = [np.isin(ends, list(edges)) for ends in (firsts, lasts)]
        chosen = chosen[outer | loose[0] | loose[1]]
    runs = tuple(zip(firsts[chosen].tolist(), lasts[chosen].tolist(), strict=True))
    some = merged([Ranges(loose=runs)], edges)
    return Ranges(some.kept, some.count + len(firsts) - len(chosen), some.loose)


class Settled:
    """Judges one element for many of which the same is expected, and the same came back."""

    def __init__(self, case: Case) -> None:
        self.source = cast(Numeric, case.inputs[0].format)
        self.target = cast(Numeric, case.outputs[0].format)
        self._known: dict[tuple[int, int, int], tuple[str, str, Word, float]] = {}

    def one(
        self, outcome: tuple[int, int], code: int, got: int, position: int
    ) -> tuple[str, str, Sample]:
        """Give what became of an element, in what way, and it as a sample.

        `outcome` is the code that is due and its pattern.
        """
        key = (*outcome, got)
        if key not in self._known:
            self._known[key] = self._judged(outcome, code, got)
        sort, kind, due, error = self._known[key]
        return sort, kind, Sample(position, error, Example((code,), due, got))

    def _judged(
        self, outcome: tuple[int, int], code: int, got: int
    ) -> tuple[str, str, Word, float]:
        storage = self.target.storage
        due, patterns = np.array([outcome[0]], storage), np.array([outcome[1]], np.uint8)
        answers, inputs = np.array([got], storage), np.array([code], self.source.storage)
        reading = Reading(due, patterns)
        word = due_word(reading, 0)
        if outcome[1] == pattern.UNDEFINED:
            return "undefined", "", word, 0.0
        error = float(errors_of(self.target, due, answers)[0])
        if matching(reading, answers, self.target, self.source, inputs)[0]:
            return RIGHT, "", word, error
        return "fail", str(kinds_of(self.target, due, patterns, answers)[0]), word, error
