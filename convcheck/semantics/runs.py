"""Describe the expectations of consecutive codes as runs.

Within a binade, the values of each type that x is rounded to are equally spaced. So an expectation
changes only at multiples of half a step of the coarsest type, at the code after, and half a step of
another type away. If steps are small, tiles of codes differ by a constant.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import cast

import numpy as np

from convcheck.numerics.codec import decode
from convcheck.numerics.format import Float, Format, Numeric
from convcheck.numerics.number import FAR, Codes
from convcheck.semantics.expected import Expected
from convcheck.semantics.program import Program
from convcheck.semantics.segments import U64, Interval, Segment, Segments, cut_at, segments

TILE = 1 << 14  # codes; a float32 binade has 2^23
NARROW = 8  # bits; below, all changes of a destination are looked up
_FEW = 1 << 10  # changes in a binade
_KEPT = 64


@dataclass(frozen=True)
class Constant:
    """Codes from `first` up to `end` with one expectation."""

    first: int
    end: int
    row: int
    #: (code, pattern) of each reading
    outcomes: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Affine:
    """Whole tiles of codes with expectations `shape + base`, modulo the destination's storage."""

    first: int
    end: int
    row: int
    patterns: tuple[int, ...]
    shapes: tuple[Codes, ...]
    bases: tuple[Codes, ...]


@dataclass(frozen=True)
class Unknown:
    """Codes to evaluate one by one."""

    first: int
    end: int


Run = Constant | Affine | Unknown
Piece = tuple[Run, int, int]  # a run, and the part of it within a chunk


def runs(
    program: Program, source: Numeric, target: Numeric, first: int, count: int, tile: int = TILE
) -> list[Run]:
    """Return the runs of consecutive codes, without gaps."""
    end = first + count
    if program.computed:
        changes = program.computed.changes(first, end - 1)
        known = None if changes is None else _constants(program.computed.expect, [changes], end)
        return [Unknown(first, end)] if known is None else list(known)
    by_code = lookup(program, source, target)
    found: list[Run] = []
    starts: list[U64] = []  # of adjacent constants
    for part in by_code.parts:
        within = max(part.first, first), min(part.last, end - 1)
        apart = tile // 2 if part.only else tile // 4  # with several rows, tiles rarely agree
        for interval, changes in _cut(by_code, part, within, apart=apart):
            if changes is not None:
                starts.append(changes)
                continue
            found += _constants(by_code.expected, starts, interval[0])
            found += _tiles(by_code, part, interval, tile)
            starts = []
    return [*found, *_constants(by_code.expected, starts, end)]


def in_chunks(found: Iterable[Run], first: int, end: int, size: int) -> Iterator[list[Piece]]:
    """Yield the pieces of runs in each chunk."""
    more = iter(found)
    run = next(more)
    for begin in range(first, end, size):
        at, stop, pieces = begin, begin + size, []
        while run.end < stop:
            if at < run.end:
                pieces.append((run, at, run.end))
                at = run.end
            run = next(more)
        pieces.append((run, at, stop))
        yield pieces


@lru_cache(_KEPT)
def lookup(program: Program, source: Numeric, target: Numeric) -> Segments:
    """Return the segments of a conversion, constants for a narrow destination."""
    by_code = Segments(program, source, target, segments(program, source, target))
    if target.bits > NARROW:
        return by_code
    parts: list[Segment] = []
    for part in by_code.parts:
        changes = changes_of(by_code, part, _FEW)
        if changes is None:
            parts.append(part)
            continue
        starts, _ = joined(by_code.expected, changes)
        intervals = cut_at((part.first, part.last), starts.tolist())
        parts += (replace(part, first=a, last=b, constant=True) for a, b in intervals)
    return Segments(program, source, target, parts)


def changes_of(by_code: Segments, part: Segment, most: int) -> U64 | None:
    """Return the codes where the expectation may change; None if unknown or over `most`."""
    found: list[U64] = []
    for _, changes in _cut(by_code, part, (part.first, part.last), most=most):
        if changes is None:
            return None
        found.append(changes)
    return np.concatenate(found)


def joined(expect: Callable[[Codes], Expected], starts: U64) -> tuple[U64, Expected]:
    """Return the codes whose expectation differs from the one before, and the expectations."""
    expected = expect(starts)
    facts = [expected.rows, *(a for r in expected.readings for a in (r.codes, r.patterns))]
    change = np.ones(len(starts), bool)
    change[1:] = np.any([fact[1:] != fact[:-1] for fact in facts], axis=0)
    return starts[change], expected.take(np.flatnonzero(change))


def _constants(
    expect: Callable[[Codes], Expected], starts: list[U64], end: int
) -> Iterator[Constant]:
    if starts:
        firsts, expected = joined(expect, np.concatenate(starts))
        ends = [*firsts[1:].tolist(), end]
        pairs = [zip(r.codes.tolist(), r.patterns.tolist(), strict=True) for r in expected.readings]
        yield from map(
            Constant, firsts.tolist(), ends, expected.rows.tolist(), zip(*pairs, strict=True)
        )


def _tiles(by_code: Segments, part: Segment, interval: Interval, tile: int) -> Iterator[Run]:
    if part.formats is None:
        yield Unknown(interval[0], interval[1] + 1)
        return
    first, end = -(-interval[0] // tile) * tile, (interval[1] + 1) // tile * tile
    whole = by_code.expected(np.arange(first, first + tile, dtype=np.uint64))
    same = [np.ptp(whole.rows), *(np.ptp(reading.patterns) for reading in whole.readings)]
    if first >= end or any(same):
        yield Unknown(interval[0], interval[1] + 1)
        return
    if interval[0] < first:
        yield Unknown(interval[0], first)
    firsts = by_code.expected(np.arange(first, end, tile, dtype=np.uint64))
    patterns = tuple(int(reading.patterns[0]) for reading in whole.readings)
    codes = [cast(Codes, reading.codes) for reading in whole.readings]
    shapes = tuple(each - each[0] for each in codes)
    bases = tuple(cast(Codes, reading.codes) for reading in firsts.readings)
    yield Affine(first, end, int(whole.rows[0]), patterns, shapes, bases)
    if end <= interval[1]:
        yield Unknown(end, interval[1] + 1)


def _cut(
    by_code: Segments, part: Segment, within: Interval, most: int = 1 << 32, apart: int = 1
) -> Iterator[tuple[Interval, U64 | None]]:
    """Cut at powers of two, each with the codes where the expectation may change."""
    first, last = within
    if first > last:
        return
    if part.constant or part.formats is None:
        yield within, np.array([first], np.uint64) if part.constant else None
        return
    begins, exponents = _binades(by_code.source)
    least = min(map(_least, part.formats), default=-FAR)
    at = bisect_right(begins, first) - 1
    while begins[at] <= last:
        after = at + 1
        while exponents[at] < least and exponents[after] < least and begins[after] <= last:
            after += 1  # numbers below every step
        interval = max(first, begins[at]), min(last, begins[after] - 1)
        steps = _steps(by_code.source, part.formats, exponents[at])
        half = max(steps[0] // 2, 1)
        few = apart <= half and (begins[after] - begins[at]) // half <= most
        changes = _changes(interval, (begins[at], begins[after]), steps) if few else None
        yield interval, changes
        at = after


def _changes(interval: Interval, binade: Interval, steps: Sequence[int]) -> U64:
    size, half = binade[1] - binade[0], max(steps[0] // 2, 1)
    near = {0}
    for step in steps[1:]:
        near |= {at + side for at in near for side in (-(step // 2), step // 2)}
    offsets = np.array(
        [(binade[0] + at + more) % (1 << 64) for at in near for more in (0, 1)], np.uint64
    )
    codes = np.arange(0, size + 1, min(half, size), dtype=np.uint64)[:, None] + offsets
    first, last = map(np.uint64, interval)
    return np.sort(np.append(codes[(codes > first) & (codes <= last)], first))


def _steps(source: Numeric, formats: Sequence[Format], exponent: int) -> list[int]:
    """The steps of each type in codes of the source, largest first; [1] if all are 1."""
    own = _spacing(source, exponent)
    wide = {1 << max(_spacing(fmt, exponent) - own, 0) for fmt in formats}
    return sorted(wide - {1}, reverse=True) or [1]


def _spacing(fmt: Format, exponent: int) -> int:
    return max(exponent - fmt.mantissa, fmt.lowest_exponent) if isinstance(fmt, Float) else 0


def _least(fmt: Format) -> int:
    """The exponent below which all numbers of a sign round alike."""
    if not isinstance(fmt, Float):
        return -1
    return fmt.lowest_exponent - 1 if fmt.zero else -FAR


@lru_cache
def _binades(source: Numeric) -> tuple[list[int], list[int]]:
    """The first code of each binade and the end of all codes, and the exponents."""
    if isinstance(source, Float):
        within = [1 << place for place in range(source.mantissa)] if source.zero else []
        magnitudes = [*within, *range(0, source.magnitude_mask, 1 << source.mantissa)]
        begins = {code + sign for code in magnitudes for sign in {0, source.sign_bit}}
    else:
        places = [1 << place for place in range(source.bits)]
        begins = {0, *places, *(source.mask + 1 - place for place in places if source.signed)}
    codes = [*sorted(begins), 1 << source.bits]
    lasts = np.array([code - 1 for code in codes[1:]], np.uint64).astype(source.storage)
    return codes, decode(source, lasts).exponent.tolist()
