"""Whole calls that are asked again: in reversed order, elsewhere, under other options."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from convcheck.ask.again import ALIGNMENT, ORDER, AskingAgain, Items, Mask, OtherWay, WayDifference
from convcheck.ask.two_answers import call_with_both, difference_of, digest_of_both
from convcheck.backends.protocol import Outputs, Oversized
from convcheck.judge.answers import ANSWERED, CallAnswers, Index
from convcheck.judge.digest import added
from convcheck.judge.form import codes_complaint
from convcheck.judge.result import CallExample, Word
from convcheck.records import replace
from convcheck.vectors.model import CallSet


class CallsAgain:
    """The calls of a case that were answered. The last one is asked again first."""

    twice = ("first", "asked again")

    def __init__(self, vectors: CallSet, answers: CallAnswers) -> None:
        self.vectors, self.decisions = vectors, vectors.decisions
        self.answered = np.array(answers.got, object)
        # of what was not fetched, there are no bits to be held against
        there = [isinstance(got, Outputs) for got in answers.got]
        self.asked = np.flatnonzero((answers.state == ANSWERED) & there)[::-1]
        self.rows = np.array([expected.row for expected in vectors.expected], np.int16)

    def ways(self, asking: AskingAgain) -> Iterator[OtherWay]:
        """Yield the reversed order, then other addresses and options."""
        backwards = replace(asking.again, calls=self._steady(asking))
        if len(self.asked) > 1:
            words = "in order", "in reverse order"
            backwards = replace(backwards, kind=ORDER, one=words[0], other=words[1])
        yield backwards
        if any(tensor.shape for i in self.asked for tensor in self.vectors.calls[i]):
            words = "at the start of a buffer", "1 element into it"
            elsewhere = OtherWay(ALIGNMENT, *words, "other place", asking.backend, offset=1)
            yield replace(elsewhere, calls=self._steady(asking))
        for _, way in asking.options():
            yield replace(way, calls=self._steady(asking))

    def _steady(self, asking: AskingAgain) -> tuple[Index, ...]:
        """Return a call of each that gave the same so far."""
        return tuple(np.array([i], np.intp) for i in self.asked if asking.steady[i])

    def plainly(self, way: OtherWay, before: tuple[Index, ...], index: Index) -> tuple[Index, ...]:
        """Return the call after the one that was made before it, then or in the other way."""
        if way.placement != "again":
            return (*before, index)
        at = int(np.flatnonzero(self.asked == index[0])[0]) + 1  # they stand in reverse order
        return (*self.asked[at : at + 1].reshape(-1, 1), index)

    def read(self, answer: Outputs | Oversized, index: Index) -> Items | str:
        """Return the outputs of a call, as the one entry of an array, or what is wrong with it."""
        wrong = codes_complaint(answer) if isinstance(answer, Outputs) else ""
        return wrong or np.array([answer], object)

    def unlike(self, due: Items, got: Items) -> Mask:
        """Return which calls gave other outputs."""
        pairs = zip(due, got, strict=True)
        return np.array([difference_of(one, other) is not None for one, other in pairs], bool)

    def digest(self, index: Index, due: Items, got: Items, first: WayDifference) -> int:
        """Return the digest of calls, each with both answers."""
        items = zip(index, due, got, strict=True)
        return added(digest_of_both(self.vectors.calls[i], one, other) for i, one, other in items)

    def example(self, difference: WayDifference, i: int) -> CallExample:
        """Show one call with what both ways gave."""
        words = difference.way.one, difference.way.other
        due, got = difference.due[i], difference.got[i]
        return call_with_both(self.vectors, int(difference.index[i]), words, due, got)

    def ranges(self, index: Index) -> tuple[tuple[tuple[Word, Word], ...], int]:
        """Return none: calls have no order of values."""
        return (), 0
