"""The segments of casts and chains. `even` ones with equal results at both ends are constant."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from convcheck.chains.cast import U64, Cast, Chain
from convcheck.numerics.codec import decode
from convcheck.numerics.format import Float, Numeric
from convcheck.semantics.expected import EXACT, REFUSED, UNDEFINED
from convcheck.semantics.program import CompiledOutcome, Program
from convcheck.semantics.segments import GRID, Interval, cut_at, intervals_of, key_changes, segments
from convcheck.semantics.vocabulary import COMPUTATIONS

WHOLE = "whole"  # the grid of all integer types
_ROUNDED, _SAME, _LOW = (COMPUTATIONS[word][0] for word in ("[x]", "same", "low-bits"))


class UnprovenError(Exception):
    """A word without a known effect between codes."""


@dataclass(frozen=True)
class Gives:
    """A constant result."""

    pattern: int
    code: int


@dataclass(frozen=True)
class Rounds:
    """The number rounded to the values of a type."""

    mode: str
    #: the type, or WHOLE for integers
    grid: Float | str


@dataclass(frozen=True)
class LowBits:
    """The low bits of the number in two's complement."""

    bits: int


Effect = Gives | Rounds | LowBits | None


@dataclass(frozen=True)
class CastSegment:
    """Codes with a common effect."""

    first: int
    last: int
    #: comparable between casts
    effect: Effect
    #: results are monotone
    even: bool
    #: results equal their inputs
    kept: bool = False


@lru_cache(4096)
def segments_of(cast: Cast) -> tuple[CastSegment, ...]:
    """Return the segments of a cast in order. Raises UnprovenError."""
    if cast.program is None:
        same = CompiledOutcome(EXACT, compute=_SAME)
        found = [(interval, same) for interval in intervals_of(cast.source)]
    else:
        known = segments(cast.program, cast.source, cast.target)
        found = [((one.first, one.last), outcome_of(one.program, cast.reading)) for one in known]
    read = (segment for part in found for segment in _read(cast, *part))
    return tuple(sorted(read, key=lambda segment: segment.first))


def outcome_of(program: Program, reading: int) -> CompiledOutcome:
    """Return the only outcome of rows. Rows on a grid of values may differ from the last.

    Raises UnprovenError.
    """
    found: list[CompiledOutcome] = []
    for entry in program.entries:
        step = entry.steps[min(reading, len(entry.steps) - 1)]
        if step.hop or (entry.test and entry.test.nature != GRID):
            raise UnprovenError
        found.append(outcome_of(step.program, reading) if step.program else step)
    *on_grid, last = found
    if not all(one == last or one.compute is last.compute is _ROUNDED for one in on_grid):
        raise UnprovenError  # no mode rounds a value of the destination
    return last


def is_constant(segment: CastSegment) -> bool:
    """Whether a segment has one result."""
    return isinstance(segment.effect, Gives)


def chain_segments(chain: Chain) -> tuple[CastSegment, ...]:
    """Return the segments of a chain as codes of its source. Raises UnprovenError."""
    segments = segments_of(chain.casts[0])
    for length, following in enumerate(chain.casts[1:], 1):
        segments = _brought_back(Chain(chain.casts[:length]), segments, following)
    return segments


def _read(cast: Cast, interval: Interval, step: CompiledOutcome) -> Iterator[CastSegment]:
    first, last = interval
    if step.compute is None:
        yield CastSegment(first, last, Gives(step.pattern, step.code), even=True)
    elif first == last and isinstance(cast.source, Float):  # a zero has a sign, so it has no effect
        yield CastSegment(first, last, None, even=True)
    elif decode(cast.source, np.array([first], cast.source.storage)).kind[0] != 0:  # NaNs
        if step.compute is not _SAME:
            raise UnprovenError
        yield CastSegment(first, last, None, even=True, kept=True)
    else:
        effect = _effect(cast, step)
        for part in cut_at(interval, _cuts(cast, interval)):
            if step.compute is _ROUNDED and not _in_range(cast, part):
                raise UnprovenError
            kept = _is_kept(cast, *part)
            even = step.compute is not _LOW or kept or cast.source.bits <= cast.target.bits
            yield CastSegment(*part, effect, even, kept)


def _effect(cast: Cast, step: CompiledOutcome) -> Effect:
    whole = not isinstance(cast.target, Float)
    if step.compute is _ROUNDED:
        return Rounds(step.mode, cast.target if isinstance(cast.target, Float) else WHOLE)
    if step.compute is _LOW or (step.compute is _SAME and whole):
        return LowBits(cast.target.bits)
    if step.compute is not _SAME:
        raise UnprovenError
    return None


def _cuts(cast: Cast, interval: Interval) -> list[int]:
    """The codes where a float's spacing is 1, and the ends of an integer type."""
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
    """Whether rounded numbers are in the same binade, the next, or zero."""
    ends = np.array(interval, np.uint64)
    codes, patterns = cast.raw(ends)
    x = decode(cast.source, ends.astype(cast.source.storage))
    y = decode(cast.target, codes.astype(cast.target.storage))
    lowest = cast.target.lowest_exponent if isinstance(cast.target, Float) else 0
    near = (y.exponent == x.exponent) | (y.exponent == x.exponent + 1)
    near |= (y.significand == 0) & (x.exponent < lowest)
    return not patterns.any() and not y.kind.any() and bool(near.all())


def _is_kept(cast: Cast | Chain, first: int, last: int) -> bool:
    """Whether all numbers between two codes stay unchanged."""
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
    """Whether a type has all numbers of another between two exponents."""
    if not isinstance(source, Float):
        return not isinstance(target, Float) or most <= target.mantissa
    spacing = max(least - source.mantissa, source.lowest_exponent)
    if not isinstance(target, Float):
        return spacing >= 0
    return source.mantissa <= target.mantissa and spacing >= target.lowest_exponent


def _brought_back(
    before: Chain, segments: Sequence[CastSegment], after: Cast
) -> tuple[CastSegment, ...]:
    following = segments_of(after)
    starts = np.array([segment.first for segment in following], np.uint64)

    def there(codes: U64) -> NDArray[np.int64]:
        return np.searchsorted(starts, before.raw(codes)[0], side="right") - 1

    cuts = key_changes([(one.first, one.last) for one in segments if one.even], there)
    found: list[CastSegment] = []
    for segment in segments:
        if not segment.even:
            found.append(_through_any(segment, following))
        elif isinstance(segment.effect, Gives) and segment.effect.pattern in (UNDEFINED, REFUSED):
            found.append(segment)
        else:
            intervals = list(cut_at((segment.first, segment.last), cuts))
            which = there(np.array([first for first, _ in intervals], np.uint64)).tolist()
            found += (_then(before, segment, interval, following[number], after)
                      for interval, number in zip(intervals, which, strict=True))  # fmt: skip
    return tuple(found)


def _then(
    before: Chain, segment: CastSegment, interval: Interval, following: CastSegment, after: Cast
) -> CastSegment:
    even = following.even or is_constant(segment) or interval[0] == interval[1]
    effect: Effect = None
    if segment.kept or is_constant(following) or _fewer(following.effect, segment.effect):
        effect = following.effect
    elif following.kept:
        effect = segment.effect
    kept = segment.kept and (following.kept or _is_kept(Chain((*before.casts, after)), *interval))
    return CastSegment(*interval, effect, even, kept)


def _through_any(segment: CastSegment, following: Sequence[CastSegment]) -> CastSegment:
    """Raises UnprovenError unless the next cast keeps fewer low bits."""
    effects = {each.effect for each in following}
    effect = effects.pop()
    if effects or not _fewer(effect, segment.effect):
        raise UnprovenError
    return CastSegment(segment.first, segment.last, effect, even=False)


def _fewer(effect: Effect, than: Effect) -> bool:
    return isinstance(effect, LowBits) and isinstance(than, LowBits) and effect.bits <= than.bits
