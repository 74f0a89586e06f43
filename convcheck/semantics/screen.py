"""Causes -> whether they may give some answers that the rules do not, told without a program.

What a table of a cause gives, its words say of the points at once, for all causes together: a
number has a bit for each point. A mode matters only where something is rounded.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from contextlib import suppress
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from convcheck.numerics.format import Float, Int
from convcheck.numerics.number import FINITE
from convcheck.rules.causes import Cause
from convcheck.rules.model import Outcome, Rule, Spec
from convcheck.rules.rule import ELSE
from convcheck.semantics.answers_at import of_word
from convcheck.semantics.expected import EXACT, Reading
from convcheck.semantics.vocabulary import (
    AS_BELOW,
    COMPUTATIONS,
    CONSTANTS,
    ROUNDING_WORDS,
    CaseWord,
    Mask,
    NotInFormatError,
    Points,
    case_word,
    is_computable,
    possible,
)

_KEPT = 4096  # tables
_EXACT = "[x] = x"
_WITHIN = "[x] within a binade"
Answered = Callable[[Reading], Mask]  # what is said of points -> of which it was answered


class _Row(NamedTuple):
    """A row of a table with one outcome: a constant, a computation, or what the rules give."""

    label: str
    #: None for `else`.
    test: CaseWord | None
    #: The rounding mode of the test.
    mode: str
    word: str
    #: The rounding mode of the outcome.
    rounds: str


class Screen:
    """Points of a conversion to each of which something was answered that no reading says."""

    def __init__(self, points: Points, answered: Answered) -> None:
        """Take the points, and what tells which answers are as said of them."""
        self._points, self._answered = points, answered
        self._every = _bits(np.ones(len(points.bits), bool))
        self._known: dict[Hashable, int] = {}

    def may_give(self, cause: Cause, spec: Spec) -> bool:
        """Return whether a cause may give all of the answers, in the place of the rules of a spec;
        True where a program has to tell.
        """
        if is_mode(cause):
            return not self._exact() and self._is_given_by_mode(cause.rounds)
        table = _table_of(cause, spec)
        return table is None or self._is_given_by(table)

    def _is_given_by(self, table: tuple[_Row, ...]) -> bool:
        """Return whether some row of a table holds of each point, and the first one gives its
        answer.
        """
        ends, left = (self._points.source, self._points.target), self._every
        deciding: list[tuple[_Row, int]] = []
        for row in table:
            if possible(row.label, *ends) and (here := self._held(row) & left):
                deciding.append((row, here))
                left &= ~here
        return not left and not any(here & ~self._given(row) for row, here in deciding)

    def _held(self, row: _Row) -> int:
        """Return the points of which the word of a row holds."""
        if row.test is None:
            return self._every
        key = row.test, row.mode
        if key not in self._known:
            self._known[key] = _bits(of_word(self._points, row.test, row.mode))
        return self._known[key]

    def _given(self, row: _Row) -> int:
        """Return the points to which a row gives the answers."""
        key = row.word, row.rounds
        if key not in self._known:
            said = _said(self._points, row)
            self._known[key] = 0 if said is None else _bits(self._answered(said))
        return self._known[key]

    def _exact(self) -> int:
        """Return the points at which no mode rounds anything."""
        if _EXACT not in self._known:
            self._known[_EXACT] = 0
            if isinstance(self._points.target, Float | Int):
                exact = of_word(self._points, _word_of_exact(), "")
                self._known[_EXACT] = _bits(exact & (self._points.x.kind == FINITE))
        return self._known[_EXACT]

    def _is_given_by_mode(self, mode: str) -> bool:
        """Return whether [x] by a mode is the answer wherever no rule can give anything else: where
        both numbers next to x are normal ones of one binade.
        """
        target = self._points.target
        if not isinstance(target, Float | Int):
            return True
        if _WITHIN not in self._known:
            self._known[_WITHIN] = _bits(_within(self._points, target))
        if not (within := self._known[_WITHIN]):
            return True
        codes = of_word(self._points, COMPUTATIONS["[x]"][0], mode)
        said = Reading(codes, np.full(len(codes), EXACT, np.uint8))
        return not within & ~_bits(self._answered(said))


def _within(points: Points, target: Float | Int) -> Mask:
    """Return which points lie between two neighbours that are normal numbers of one binade. Without
    a mantissa each is one of its own; integers that are not zero are all alike.
    """
    low, high = (points.rounded(mode).magnitude for mode in ("toward-zero", "away"))
    drop = np.uint64(target.mantissa if isinstance(target, Float) else 0)
    most = np.uint64(target.max_magnitude if isinstance(target, Float) else int(target.max))
    inside = (low >> drop > 0) & (high <= most) & (points.x.kind == FINITE)
    return np.asarray(inside & ((low >> drop == high >> drop) | (drop == 0)))


def is_mode(cause: Cause) -> bool:
    """Return whether a cause is another rounding mode, and nothing else."""
    return bool(cause.rounds) and not (cause.rules or cause.under or cause.version or cause.call)


def _word_of_exact() -> CaseWord:
    word = case_word(_EXACT, {})
    assert word is not None  # noqa: S101  it is in the vocabulary
    return word


def _bits(mask: Mask) -> int:
    return int.from_bytes(np.packbits(mask).tobytes(), "big")


def _said(points: Points, row: _Row) -> Reading | None:
    """Return what the outcome of a row says of points, None where the destination has no such
    code.
    """
    every, storage = len(points.bits), points.target.storage
    if row.word in CONSTANTS:
        constant, pattern = CONSTANTS[row.word]
        with suppress(NotInFormatError):
            codes = np.full(every, constant(points.target), storage)
            return Reading(codes, np.full(every, pattern, np.uint8))
        return None
    compute, pattern = COMPUTATIONS.get(row.word, (None, 0))
    if compute is None or not is_computable(row.word, points.source, points.target):
        return None  # the rules decide, which do not give it; or it has no meaning
    codes = of_word(points, compute, row.rounds)
    return Reading(codes, np.full(every, pattern, np.uint8))


@lru_cache(_KEPT)
def _table_of(cause: Cause, spec: Spec) -> tuple[_Row, ...] | None:
    """Return the rows of a cause that is a table, and nothing else; None of one with a word that a
    program has to look up.
    """
    if cause.rounds or cause.under or cause.version or cause.call or len(cause.rules) != 1:
        return None
    [rule] = cause.rules
    if rule.when or rule.columns or rule.same_type or rule.rounding.by:
        return None
    rows = [_row(rule, row.label, row.cells[0].outcomes, spec) for row in rule.rows]
    known = tuple(row for row in rows if row is not None)
    return known if len(known) == len(rows) else None


def _row(rule: Rule, label: str, outcomes: tuple[Outcome, ...], spec: Spec) -> _Row | None:
    """Return a row with what its words mean, None where that is not told by them alone."""
    [outcome, *readings] = outcomes
    test, mode = case_word(label, spec.literals), rule.rounding.mode
    rounds = outcome.round or mode
    plain = outcome.word in {*CONSTANTS, *COMPUTATIONS, AS_BELOW}
    moded = (mode or label not in ROUNDING_WORDS) and (rounds or outcome.word not in ROUNDING_WORDS)
    if (test is None and label != ELSE) or readings or not plain or not moded:
        return None
    return _Row(label, test, mode, outcome.word, rounds)
