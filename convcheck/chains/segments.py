"""A cast cut into segments on each of which one row decides, with what that says of all its codes.

A segment is an interval of codes of the source. That a row decides all of it rests on what the case
words declare of themselves (see `CaseWord`): a threshold is passed once at most among the numbers
of one sign, so that what holds at both ends of an interval holds in between, and where it is passed
is found by halving. Nothing is known here of any rule.

On a segment that is `even`, results never turn back: they stay the same or go one way in the order
of the destination's values. So what is the same at both ends is the same all over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from convcheck.chains.cast import U64, Cast, Chain
from convcheck.numerics.codec import decode
from convcheck.numerics.format import Float, Numeric
from convcheck.semantics.expected import EXACT, REFUSED, UNDEFINED
from convcheck.semantics.program import CompiledOutcome, CompiledRow, Program
from convcheck.semantics.vocabulary import COMPUTATIONS, Nature, Points

SPECIAL: Nature = "special"
THRESHOLD: Nature = "threshold"
GRID: Nature = "grid"
WHOLE = "whole"  # the grid of every integer type
_ROUNDED, _SAME, _LOW = (COMPUTATIONS[word][0] for word in ("[x]", "same", "low-bits"))
_PARTS = 16  # of an interval in which a key changes
Interval = tuple[int, int]  # the first code and the last


class UnprovenError(Exception):
    """A word stands in the way of which nothing is known between two codes."""


@dataclass(frozen=True)
class Gives:
    """One result, whatever the number is."""

    #: How it is compared: an index into PATTERNS.
    pattern: int
    #: The code of an exact one.
    code: int


@dataclass(frozen=True)
class Rounds:
    """The number, rounded by a mode to the values of a type; WHOLE are those of every integer."""

    #: The rounding mode.
    mode: str
    #: The type that has the values, or WHOLE.
    grid: Float | str


@dataclass(frozen=True)
class LowBits:
    """So many low bits of the number in two's complement."""

    #: How many.
    bits: int


Effect = Gives | Rounds | LowBits | None


@dataclass(frozen=True)
class Segment:
    """Codes of which one thing can be said."""

    #: The first code.
    first: int
    #: The last code.
    last: int
    #: What is done to each number, in a form that two casts may share; None where that is unknown.
    effect: Effect
    #: Whether results never turn back.
    even: bool
    #: Whether the result is the number that it was.
    kept: bool = False


@lru_cache(4096)
def segments_of(cast: Cast) -> tuple[Segment, ...]:
    """Return the segments of a cast, in the order of the codes. Raises UnprovenError."""
    found = [
        segment
        for interval in _intervals(cast.source)
        for part in _cut(cast, interval)
        for segment in _read(cast, *part)
    ]
    return tuple(sorted(found, key=lambda segment: segment.first))


def is_constant(segment: Segment) -> bool:
    """Return whether one result comes of all codes of a segment."""
    return isinstance(segment.effect, Gives)


def chain_segments(chain: Chain) -> tuple[Segment, ...]:
    """Return the segments of a chain: those of its casts, brought back to the first source. Raises
    UnprovenError.
    """
    segments = segments_of(chain.casts[0])
    for length, following in enumerate(chain.casts[1:], 1):
        segments = _brought_back(Chain(chain.casts[:length]), segments, following)
    return segments


def key_changes(
    intervals: Sequence[Interval], key: Callable[[U64], NDArray[np.int64]]
) -> list[int]:
    """Return before which codes of intervals a key changes, given that it is the same all over
    where both ends have it.
    """
    firsts, lasts = (np.array(ends, np.uint64) for ends in zip(*intervals, strict=True))
    keys = np.split(key(np.concatenate([firsts, lasts])), 2)
    cuts: list[int] = []
    while (change := keys[0] != keys[1]).any():
        firsts, lasts, *keys = (each[change] for each in (firsts, lasts, *keys))
        near = lasts - firsts == 1
        cuts += lasts[near].tolist()
        points = _between(firsts[~near], lasts[~near])
        inner = key(points[1:-1].reshape(-1)).reshape(_PARTS - 1, -1)
        of_points = np.vstack([keys[0][~near], inner, keys[1][~near]])
        firsts, lasts = points[:-1].reshape(-1), points[1:].reshape(-1)
        keys = [of_points[:-1].reshape(-1), of_points[1:].reshape(-1)]
    return sorted(cuts)


def _between(firsts: U64, lasts: U64) -> U64:
    """Return codes that cut intervals into parts, both ends among them, of shape (parts + 1, n)."""
    step = np.maximum((lasts - firsts) // np.uint64(_PARTS), np.uint64(1))
    offsets = np.arange(_PARTS + 1, dtype=np.uint64)[:, None] * step
    points: U64 = firsts + np.minimum(offsets, lasts - firsts)
    points[-1] = lasts
    return points


def _at(first: int, last: int, cuts: Sequence[int]) -> Iterator[Interval]:
    """Cut one interval before some codes."""
    starts = sorted({first, *(cut for cut in cuts if first < cut <= last)})
    yield from ((start, end - 1) for start, end in pairwise([*starts, last + 1]))


def _intervals(source: Numeric) -> list[Interval]:
    """Return the codes of one sign that are numbers, zeros and infinities alone, and NaNs."""
    if not isinstance(source, Float):
        top = source.mask >> 1 if source.signed else source.mask
        return [(0, 0), (1, top), *([(top + 1, source.mask)] if source.signed else [])]
    most, mask = source.max_magnitude, source.magnitude_mask
    ends = [0, 1, most + 1, *([most + 2] if source.infinity else []), mask + 1]
    intervals = [(first, end - 1) for first, end in pairwise(sorted(set(ends)))]
    signs = (0, source.sign_bit) if source.signed else (0,)
    return [(first + sign, last + sign) for sign in signs for first, last in intervals]


def _cut(cast: Cast, interval: Interval) -> Iterator[tuple[Interval, CompiledOutcome]]:
    """Cut an interval by the rows that decide it, each with what it gives."""
    if cast.program is None:
        yield interval, CompiledOutcome(EXACT, compute=_SAME)
    else:
        yield from _decided(cast, cast.program, [interval])


def _decided(
    cast: Cast, program: Program, intervals: list[Interval]
) -> Iterator[tuple[Interval, CompiledOutcome]]:
    passed: list[CompiledOutcome] = []  # what rows on a grid of values give
    for entry in program.entries:
        step = entry.steps[min(cast.reading, len(entry.steps) - 1)]
        if entry.test is not None and entry.test.nature == GRID:
            passed.append(step)
            continue
        hit, intervals = _parted(cast, entry, intervals)
        if hit and not all(_is_same_on_grid(other, step) for other in passed):
            raise UnprovenError
        if hit and step.hop is not None:
            raise UnprovenError
        for interval in hit:
            inner = _decided(cast, step.program, [interval]) if step.program else [(interval, step)]
            yield from inner
        if not intervals:
            return


def _is_same_on_grid(one: CompiledOutcome, other: CompiledOutcome) -> bool:
    """Return whether two outcomes agree on values of the destination: no mode rounds those."""
    return one == other or one.compute is other.compute is _ROUNDED


def _parted(
    cast: Cast, entry: CompiledRow, intervals: list[Interval]
) -> tuple[list[Interval], list[Interval]]:
    """Part intervals into those of which a row's word holds, and the others."""
    if entry.test is None or not intervals:
        return intervals, []
    if entry.test.nature not in (SPECIAL, THRESHOLD):
        raise UnprovenError
    test, mode = entry.test, entry.mode

    def holds(codes: U64) -> NDArray[np.int64]:
        bits = codes.astype(cast.source.storage)
        points = Points(cast.source, cast.target, bits, decode(cast.source, bits))
        return test(points, mode).astype(np.int64)

    cuts = key_changes(intervals, holds)
    cut = [part for interval in intervals for part in _at(*interval, cuts)]
    there = holds(np.array([first for first, _ in cut], np.uint64))
    hit = [interval for interval, yes in zip(cut, there, strict=True) if yes]
    return hit, [interval for interval, yes in zip(cut, there, strict=True) if not yes]


# What a row says of an interval -----------------------------------------------------------------


def _read(cast: Cast, interval: Interval, step: CompiledOutcome) -> Iterator[Segment]:
    """Return the segments of an interval that one row decides."""
    first, last = interval
    if step.compute is None:
        yield Segment(first, last, Gives(step.pattern, step.code), even=True)
    elif first == last and isinstance(cast.source, Float):  # a zero is no effect: it has a sign
        yield Segment(first, last, None, even=True)
    elif decode(cast.source, np.array([first], cast.source.storage)).kind[0] != 0:  # NaNs
        if step.compute is not _SAME:
            raise UnprovenError
        yield Segment(first, last, None, even=True, kept=True)
    else:
        yield from (_computed(cast, part, step) for part in _at(first, last, _cuts(cast, interval)))


def _computed(cast: Cast, interval: Interval, step: CompiledOutcome) -> Segment:
    first, last = interval
    effect = _effect(cast, step)
    if step.compute is _ROUNDED and not _in_range(cast, interval):
        raise UnprovenError
    kept = _is_kept(cast, first, last)
    even = step.compute is not _LOW or kept or cast.source.bits <= cast.target.bits
    return Segment(first, last, effect, even, kept)


def _effect(cast: Cast, step: CompiledOutcome) -> Effect:
    """Return what a word computes. Raises UnprovenError for one of which nothing is known here."""
    whole = not isinstance(cast.target, Float)
    if step.compute is _ROUNDED:
        return Rounds(step.mode, cast.target if isinstance(cast.target, Float) else WHOLE)
    if step.compute is _LOW or (step.compute is _SAME and whole):
        return LowBits(cast.target.bits)
    if step.compute is not _SAME:
        raise UnprovenError
    return None


def _cuts(cast: Cast, interval: Interval) -> list[int]:
    """Return where numbers of an interval begin to be, or cease to be, numbers of the destination:
    where the spacing of a float is 1, and at the ends of an integer.
    """
    source, target = cast.source, cast.target
    cuts: list[int] = []
    if isinstance(source, Float) and not isinstance(target, Float):
        cuts.append((source.bias + source.mantissa) << source.mantissa)
        cuts += [cut + source.sign_bit for cut in cuts]
    elif isinstance(target, Float):
        ends = (1 << (target.mantissa + 1), 1 - (1 << (target.mantissa + 1)))
        cuts += [] if isinstance(source, Float) else [end & source.mask for end in ends]
    elif not isinstance(source, Float):
        cuts += [(int(target.max) + 1) & source.mask, int(target.min) & source.mask]
    return [cut for cut in cuts if interval[0] < cut <= interval[1]]


def _in_range(cast: Cast, interval: Interval) -> bool:
    """Return whether numbers are still those of the destination once they are rounded, in the same
    binade or the next, or to zero: a word `[x]` is of no meaning beyond its range.
    """
    ends = np.array(interval, np.uint64)
    codes, patterns = cast.raw(ends)
    x = decode(cast.source, ends.astype(cast.source.storage))
    y = decode(cast.target, codes.astype(cast.target.storage))
    lowest = cast.target.lowest_exponent if isinstance(cast.target, Float) else 0
    near = (y.exponent == x.exponent) | (y.exponent == x.exponent + 1)
    near |= (y.significand == 0) & (x.exponent < lowest)
    return not patterns.any() and not y.kind.any() and bool(near.all())


def _is_kept(cast: Cast | Chain, first: int, last: int) -> bool:
    """Return whether each number from one code to another is a number of the destination, and comes
    out as it is: given that it does if both do that are at the ends.
    """
    source, target = cast.source, cast.target
    ends = np.array([first, last], np.uint64)
    codes, patterns = cast.raw(ends)
    x, y = (
        decode(fmt, each.astype(fmt.storage)) for fmt, each in ((source, ends), (target, codes))
    )
    kept = (x.sign == y.sign) & (x.exponent == y.exponent) & (x.significand == y.significand)
    if patterns.any() or x.kind.any() or not kept.all():
        return False
    least, most = sorted(x.exponent.tolist())
    return first == last or source == target or _has_between(source, target, least, most)


def _has_between(source: Numeric, target: Numeric, least: int, most: int) -> bool:
    """Return whether a type has all numbers of another one between two that it has, given their
    exponents.
    """
    if not isinstance(source, Float):
        return not isinstance(target, Float) or most <= target.mantissa
    spacing = max(least - source.mantissa, source.lowest_exponent)
    if not isinstance(target, Float):
        return spacing >= 0
    return source.mantissa <= target.mantissa and spacing >= target.lowest_exponent


# Casts one after the other ----------------------------------------------------------------------


def _brought_back(before: Chain, segments: Sequence[Segment], after: Cast) -> tuple[Segment, ...]:
    """Cut the segments of casts where another segment of the next cast begins."""
    following = segments_of(after)
    starts = np.array([segment.first for segment in following], np.uint64)

    def there(codes: U64) -> NDArray[np.int64]:
        return np.searchsorted(starts, before.raw(codes)[0], side="right") - 1

    cuts = key_changes(
        [(segment.first, segment.last) for segment in segments if segment.even], there
    )
    found: list[Segment] = []
    for segment in segments:
        if not segment.even:
            found.append(_through_any(segment, following))
        elif _is_over(segment):
            found.append(segment)
        else:
            intervals = list(_at(segment.first, segment.last, cuts))
            which = there(np.array([first for first, _ in intervals], np.uint64)).tolist()
            found += (_then(before, segment, interval, following[number], after)
                      for interval, number in zip(intervals, which, strict=True))  # fmt: skip
    return tuple(found)


def _is_over(segment: Segment) -> bool:
    """Return whether nothing reaches the next cast."""
    return isinstance(segment.effect, Gives) and segment.effect.pattern in (UNDEFINED, REFUSED)


def _then(
    before: Chain, segment: Segment, interval: Interval, following: Segment, after: Cast
) -> Segment:
    """Return what two casts make of an interval that one segment of each decides."""
    even = following.even or is_constant(segment) or interval[0] == interval[1]
    effect: Effect = None
    if segment.kept or is_constant(following) or _fewer(following.effect, segment.effect):
        effect = following.effect
    elif following.kept:
        effect = segment.effect
    kept = segment.kept and (following.kept or _is_kept(Chain((*before.casts, after)), *interval))
    return Segment(*interval, effect, even, kept)


def _through_any(segment: Segment, following: Sequence[Segment]) -> Segment:
    """Return what becomes of low bits where the next cast takes fewer of them, of any number."""
    effects = {each.effect for each in following}
    effect = effects.pop()
    if effects or not _fewer(effect, segment.effect):
        raise UnprovenError
    return Segment(segment.first, segment.last, effect, even=False)


def _fewer(effect: Effect, than: Effect) -> bool:
    """Return whether one effect takes no more of the low bits than another one leaves."""
    return isinstance(effect, LowBits) and isinstance(than, LowBits) and effect.bits <= than.bits
