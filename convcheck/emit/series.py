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

from convcheck.numerics.format import Float, Numeric
from convcheck.numerics.number import Codes
from convcheck.semantics.answers_at import run_conversion
from convcheck.semantics.expected import EXACT, Expected, Reading
from convcheck.semantics.program import Program
from convcheck.semantics.runs import changes_of, joined, lookup

NARROW, WIDEST = 16, 32  # bits of sources that are evaluated whole, and at most have series
_MOST = 6  # period of plateaus: a value and both its sides, for odd and even codes
Ints = NDArray[np.integer[Any]]


@dataclass(frozen=True)
class Series:
    """Consecutive plateaus that alternate in a few kinds.

    Each kind has a number of inputs, the index of the deciding row, an index into PATTERNS and the
    first expected code, 0 if the pattern is not EXACT.
    """

    first: int
    #: The number of plateaus.
    count: int
    #: The rise of codes per period, modulo the width.
    step: int
    turns: list[list[int]]


def plateaus_of(
    program: Program, source: Numeric, target: Numeric
) -> tuple[Codes, Expected] | None:
    """Return the first source codes of all plateaus, some to be joined, with expected results.

    None if the source is too wide, or the results are only known code by code.
    """
    if source.bits <= NARROW:
        codes = np.arange(1 << source.bits, dtype=np.uint64)
        return codes, run_conversion(program, source, target, codes.astype(source.storage))
    if source.bits > WIDEST or not isinstance(source, Float):
        return None
    by_code = lookup(program, source, target)
    changes = [changes_of(by_code, part, 1 << NARROW) for part in by_code.parts]
    known = [each for each in changes if each is not None]
    return joined(by_code.expected, np.concatenate(known)) if len(known) == len(changes) else None


def series_of(
    firsts: Codes, expected: Expected, source: Numeric, target: Numeric
) -> tuple[tuple[Series, ...], ...]:
    """Return the expected results of all source codes under each reading, in order."""
    bits = target.storage.itemsize * 8 if target.bits == 1 else target.bits
    return tuple(
        tuple(_series(firsts, expected.rows, reading, 1 << source.bits, bits))
        for reading in expected.readings
    )


def _series(firsts: Codes, rows: Ints, reading: Reading, end: int, bits: int) -> Iterator[Series]:
    """Join equal neighbours, then those that alternate."""
    codes = np.where(reading.patterns == EXACT, reading.codes, 0).astype(np.uint64)
    facts: list[Ints] = [rows, reading.patterns, codes]
    change = np.ones(len(firsts), bool)
    change[1:] = np.any([fact[1:] != fact[:-1] for fact in facts], axis=0)
    starts = firsts[change].astype(np.int64)
    lengths, count = np.diff(starts, append=end), len(starts)
    facts = [lengths, *(fact[change] for fact in facts)]
    kinds = np.stack([fact.astype(np.uint64) for fact in facts], axis=1)
    codes = kinds[:, 3]
    periods = range(1, _MOST + 1)
    steps = [(codes[k:] - codes[:-k]) & np.uint64((1 << bits) - 1) for k in periods]
    ends = [_ends(kinds[:, :3], k, step) for k, step in zip(periods, steps, strict=True)]
    at = 0
    while at < count:
        k, last = max(enumerate((each[at] for each in ends), 1), key=lambda pair: pair[1])
        stop = int(last)
        step = int(steps[k - 1][at]) if stop - at > k else 0
        yield Series(int(starts[at]), stop - at, step, kinds[at : min(at + k, stop)].tolist())
        at = stop


def _ends(facts: Ints, period: int, steps: Codes) -> Ints:
    """Return the index after the last plateau of the series that begins at each plateau."""
    ends = np.full(len(facts), len(facts))
    at = np.arange(len(steps))
    if len(steps):
        breaks = (facts[period:] != facts[:-period]).any(axis=1)
        changes = np.append(steps[1:] != steps[:-1], False)
        stops = np.where(breaks, at, np.where(changes, at + 1, len(facts)))
        ends[at] = np.minimum(np.minimum.accumulate(stops[::-1])[::-1] + period, len(facts))
    return ends
