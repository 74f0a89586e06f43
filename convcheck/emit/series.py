"""Compress the expected results of all inputs into series of plateaus.

A plateau is a run of inputs with the same expected result. Between powers of two of a float, a
destination's codes are equally spaced, so plateaus form series: a few lengths alternate (a tie goes
to one neighbour, then to the other), and codes rise by a step.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convcheck.numerics.codes import Codes
from convcheck.numerics.format import Float, Numeric
from convcheck.semantics.answers_at import run_conversion
from convcheck.semantics.expected import EXACT, Expected, Reading
from convcheck.semantics.program import Program
from convcheck.semantics.runs import changes_of, joined, lookup

NARROW, WIDEST = 16, 32  # bits of sources that are evaluated whole, and at most have series
_MOST = 6  # period of plateaus: a value and both its sides, for odd and even codes
Ints = NDArray[np.integer[Any]]


@dataclass(frozen=True)
class Plateau:
    """One of the plateaus that alternate in a series."""

    #: The number of inputs.
    length: int
    #: The index of the deciding row.
    row: int
    #: The comparison of a code, an index into PATTERNS.
    pattern: int
    #: The first expected code; 0 if the pattern is not EXACT.
    code: int


@dataclass(frozen=True)
class Series:
    """Consecutive plateaus that alternate in a few kinds."""

    first: int
    #: The number of plateaus.
    count: int
    #: The rise of codes per period, modulo the width.
    step: int
    turns: tuple[Plateau, ...]


def series_of(program: Program, source: Numeric, target: Numeric) -> list[list[Series]] | None:
    """Return the expected results of all source codes under each reading, in order.

    Returns None if the source is too wide, or the results are only known code by code.
    """
    found = _plateaus(program, source, target)
    if found is None:
        return None
    firsts, expected = found
    bits = target.storage.itemsize * 8 if target.bits == 1 else target.bits
    ends = 1 << source.bits
    return [list(_series(firsts, expected.rows, r, ends, bits)) for r in expected.readings]


def _plateaus(program: Program, source: Numeric, target: Numeric) -> tuple[Codes, Expected] | None:
    """Return the first codes of plateaus, some to be joined, with expected results."""
    if source.bits <= NARROW:
        codes = np.arange(1 << source.bits, dtype=np.uint64)
        return codes, run_conversion(program, source, target, codes.astype(source.storage))
    if source.bits > WIDEST or not isinstance(source, Float):
        return None
    by_code = lookup(program, source, target)
    changes = [changes_of(by_code, part, 1 << NARROW) for part in by_code.parts]
    known = [each for each in changes if each is not None]
    return joined(by_code.expected, np.concatenate(known)) if len(known) == len(changes) else None


def _series(firsts: Codes, rows: Ints, reading: Reading, end: int, bits: int) -> Iterator[Series]:
    """Join equal neighbours, then those that alternate."""
    codes = np.where(reading.patterns == EXACT, reading.codes, 0).astype(np.uint64)
    facts = [rows, reading.patterns, codes]
    change = np.ones(len(firsts), bool)
    change[1:] = np.any([fact[1:] != fact[:-1] for fact in facts], axis=0)
    starts = firsts[change].astype(np.int64)
    rows, patterns, codes = rows[change], reading.patterns[change], codes[change]
    lengths = np.diff(starts, append=end)
    turns = [_Turns(k, (lengths, rows, patterns), codes, bits) for k in range(1, _MOST + 1)]
    at = 0
    while at < len(starts):
        chosen = max(turns, key=lambda one: one.end(at))
        stop = chosen.end(at)
        taken = tuple(
            Plateau(int(lengths[i]), int(rows[i]), int(patterns[i]), int(codes[i]))
            for i in range(at, min(at + chosen.period, stop))
        )
        step = chosen.step(at) if stop - at > chosen.period else 0
        yield Series(int(starts[at]), stop - at, step, taken)
        at = stop


class _Turns:
    """The extent of a series with one period, from any plateau."""

    def __init__(self, period: int, facts: tuple[Ints, ...], codes: Codes, bits: int) -> None:
        self.period, self.count = period, len(codes)
        self.steps = (codes[period:] - codes[:-period]) & np.uint64((1 << bits) - 1)
        self.breaks = np.flatnonzero(
            np.any([fact[period:] != fact[:-period] for fact in facts], axis=0)
        )
        self.changes = np.flatnonzero(self.steps[1:] != self.steps[:-1]) + 1

    def end(self, at: int) -> int:
        """Return the index after the last plateau of the series that begins at `at`."""
        ends = (self._next(self.breaks, at), self._next(self.changes, at + 1))
        return min(*ends, self.count)

    def _next(self, places: Ints, at: int) -> int:
        i = int(np.searchsorted(places, at))
        return int(places[i]) + self.period if i < len(places) else self.count

    def step(self, at: int) -> int:
        return int(self.steps[at])
