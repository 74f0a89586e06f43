"""A chain of casts against the direct one: where they agree, by what proof, and where not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from convcheck.chains.cast import NARROW, U64, Cast, Chain, Results
from convcheck.chains.segments import (
    CastSegment,
    UnprovenError,
    chain_segments,
    is_constant,
    segments_of,
)
from convcheck.numerics.format import Numeric
from convcheck.numerics.order import positions
from convcheck.semantics.expected import EXACT
from convcheck.vectors.inputs import numeric_inputs
from convcheck.vectors.model import Tier

Proof = Literal["exhaustive", "intervals", "vectors"]
EXHAUSTIVE: Proof = "exhaustive"
INTERVALS: Proof = "intervals"
VECTORS: Proof = "vectors"
SAME, DIFFERENT, CHAIN_OPEN, DIRECT_OPEN, BOTH_OPEN = range(5)
_UNKNOWN = -1
_MOST = 1 << 18  # intervals that are halved at a time; with more, no proof is tried
_FEW, _MANY = 1 << 12, 8  # so few are cut into so many parts
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Counts:
    """How many inputs there are of each kind."""

    #: Both give the same.
    same: int = 0
    #: Both are defined, and differ.
    different: int = 0
    #: The chain is undefined, the direct cast is not.
    chain_open: int = 0
    #: The direct cast is undefined, the chain is not.
    direct_open: int = 0
    #: Both are undefined.
    both_open: int = 0

    @property
    def inputs(self) -> int:
        """All of them."""
        return self.same + self.different + self.open

    @property
    def open(self) -> int:
        """Where one of the two is undefined, or both are."""
        return self.chain_open + self.direct_open + self.both_open

    def __add__(self, other: Counts) -> Counts:
        """Add kind by kind."""
        return Counts(
            self.same + other.same,
            self.different + other.different,
            self.chain_open + other.chain_open,
            self.direct_open + other.direct_open,
            self.both_open + other.both_open,
        )


@dataclass(frozen=True)
class ChainComparison:
    """A chain and the direct cast, under one reading of each."""

    #: How it is known: from every input; from intervals that hold every input; from those asked.
    proof: Proof
    #: Of every input, or where that is not the proof, of those asked. Where `partial`, of some.
    counts: Counts
    #: The least code of which another result comes, None for none.
    least: int | None
    #: Whether no lesser code shows it.
    is_least: bool = True
    #: Whether the counts are not of all inputs, as was not asked for.
    partial: bool = False


def compare_chain(chain: Chain, direct: Cast, counted: bool = True) -> ChainComparison:
    """Compare them on every input, if that can be done; `counted`: else only as far as it takes to
    find the least code that shows a difference.
    """
    if chain.source.bits <= NARROW:
        codes = np.arange(1 << chain.source.bits, dtype=np.uint64)
        return _asked(chain, direct, codes, EXHAUSTIVE)
    found = _proven(chain, direct)
    if found is not None and counted and found.least is not None:
        counts = IntervalSearch(chain, direct).counts()
        found = found if counts is None else replace(found, counts=counts, partial=False)
    if found is not None and not (counted and found.partial):
        return found
    asked = _of_vectors(chain, direct, counted)
    if found is None or asked.least is None:
        return asked
    return replace(asked, least=found.least, is_least=found.is_least)


def known_inputs(chain: Chain) -> U64:
    """Return every code of a narrow source, and the edge inputs of a wide one."""
    if chain.source.bits <= NARROW:
        return np.arange(1 << chain.source.bits, dtype=np.uint64)
    return np.unique(np.concatenate(_vectors(chain, ("edge",))))


def _of_vectors(chain: Chain, direct: Cast, counted: bool) -> ChainComparison:
    """Compare them on the least codes and on vectors; on those of the edge alone, where they show a
    difference and nothing is counted.
    """
    few = [np.arange(1 << NARROW, dtype=np.uint64), *_vectors(chain, ("edge",))]
    if not counted:
        asked = _asked(chain, direct, np.concatenate(few), VECTORS)
        if asked.least is not None:
            return replace(asked, partial=True)
    more = np.concatenate([*few, *_vectors(chain, ("boundary",))])
    return _asked(chain, direct, np.unique(more), VECTORS)


def _proven(chain: Chain, direct: Cast) -> ChainComparison | None:
    """Compare them by intervals, up to the least code that shows a difference; None where that is
    no proof.
    """
    try:
        return IntervalSearch(chain, direct).first()
    except UnprovenError:
        return None


def _asked(chain: Chain, direct: Cast, codes: U64, proof: Proof) -> ChainComparison:
    """Compare them on codes."""
    kinds = _kinds(chain.results(codes), Chain((direct,)).results(codes))
    several = np.bincount(kinds, minlength=5).tolist()
    shows = codes[kinds == DIFFERENT]
    least = int(shows.min()) if len(shows) else None
    exact = proof == EXHAUSTIVE or (least is not None and least < 1 << NARROW)
    return ChainComparison(proof, Counts(*several), least, is_least=exact)


def _vectors(chain: Chain, tiers: Sequence[Tier]) -> list[U64]:
    """Return the inputs of tiers for the first and for the direct cast."""
    targets = dict.fromkeys((chain.casts[0].target, chain.target))
    return [_of_tier(chain.source, target, tier) for target in targets for tier in tiers]


@lru_cache(1024)
def _of_tier(source: Numeric, target: Numeric, tier: Tier) -> U64:
    return numeric_inputs(source, target, tier, 0)[0].astype(np.uint64)


def _kinds(chain: Results, direct: Results) -> NDArray[np.int64]:
    """Return the kind of each input: SAME, DIFFERENT, CHAIN_OPEN, …"""
    kinds = np.where(chain.same(direct), SAME, DIFFERENT)
    kinds[~chain.defined] = CHAIN_OPEN
    kinds[~direct.defined] = DIRECT_OPEN
    kinds[~chain.defined & ~direct.defined] = BOTH_OPEN
    return kinds


@dataclass(frozen=True)
class _Intervals:
    """Intervals of codes, each within one segment of the chain and of the direct cast."""

    firsts: U64
    lasts: U64
    #: Of each interval the number of the segment of both.
    segments: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.firsts)

    def some(self, which: Mask) -> _Intervals:
        return _Intervals(self.firsts[which], self.lasts[which], self.segments[which])

    def parts(self) -> _Intervals:
        """Cut each interval into parts of about the same size."""
        many = np.uint64(_MANY if len(self) < _FEW else 2)
        rest = self.lasts - self.firsts
        step = rest // many + np.uint64(1)
        offsets = np.arange(int(many), dtype=np.uint64)[:, None] * step
        there = offsets <= rest
        firsts = np.where(there, self.firsts + offsets, np.uint64(0))
        lasts = firsts + np.minimum(step - np.uint64(1), rest - np.where(there, offsets, rest))
        segments = np.broadcast_to(self.segments, there.shape)
        return _Intervals(firsts[there], lasts[there], segments[there])


class IntervalSearch:
    """The intervals of all codes, cut until of each the same can be said of all its codes."""

    def __init__(self, chain: Chain, direct: Cast) -> None:
        self.chain, self.direct = chain, Chain((direct,))
        self.intervals, both = _common(chain_segments(chain), segments_of(direct))
        self.even = np.array([[c.even, d.even] for c, d in both])
        self.alike = np.array([_alike(c, d) for c, d in both])

    def first(self) -> ChainComparison | None:
        """Return the least code that shows a difference; without one, the counts are of all. None
        where there are too many intervals to tell.
        """
        intervals, counts, least = self.intervals, Counts(), self._guess()
        while len(intervals):
            kinds, shows = self._kinds(intervals)
            counts += _counted(intervals, kinds)
            if len(shows):
                least = min(int(shows.min()), least if least is not None else int(shows.min()))
            unknown = kinds == _UNKNOWN
            if least is not None:
                unknown &= intervals.firsts < np.uint64(least)
            if unknown.sum() > _MOST:
                return None
            intervals = intervals.some(unknown).parts()
        return ChainComparison(INTERVALS, counts, least, partial=least is not None)

    def _guess(self) -> int | None:
        """Return the least of the edge inputs that show a difference."""
        codes = np.concatenate(_vectors(self.chain, ("edge",)))
        kinds = _kinds(self.chain.results(codes), self.direct.results(codes))
        shows = codes[kinds == DIFFERENT]
        return int(shows.min()) if len(shows) else None

    def counts(self) -> Counts | None:
        """Return how many codes there are of each kind; None where there are too many intervals."""
        intervals, counts = self.intervals, Counts()
        while len(intervals):
            kinds, _ = self._kinds(intervals)
            counts += _counted(intervals, kinds)
            unknown = kinds == _UNKNOWN
            if unknown.sum() > _MOST:
                return None
            intervals = intervals.some(unknown).parts()
        return counts

    def _kinds(self, intervals: _Intervals) -> tuple[NDArray[np.int64], U64]:
        """Return the kind of each interval, _UNKNOWN where its codes may be of several; and the
        ends that differ.
        """
        ends = np.concatenate([intervals.firsts, intervals.lasts])
        chain, direct = self.chain.results(ends), self.direct.results(ends)
        kinds = _kinds(chain, direct)
        shows = ends[kinds == DIFFERENT]
        both = kinds.reshape(2, -1)
        exact = (chain.patterns == EXACT) & (direct.patterns == EXACT)
        known = self._known(intervals, _ordered(chain, direct, self.chain.target))
        alike = self.alike[intervals.segments] & (both == SAME).all(axis=0)
        unsure = exact.reshape(2, -1)[0] & ~known & ~alike
        return np.where(unsure & (intervals.firsts != intervals.lasts), _UNKNOWN, both[0]), shows

    def _known(self, intervals: _Intervals, ordered: tuple[U64, U64]) -> Mask:
        """Return in which intervals the ends tell of all codes: both results stay the same, or
        those of one are all beyond those of the other.
        """
        even = self.even[intervals.segments].all(axis=1)
        chain, direct = (np.sort(each.reshape(2, -1), axis=0) for each in ordered)
        same = (chain[0] == chain[1]) & (direct[0] == direct[1])
        apart = (chain[1] < direct[0]) | (direct[1] < chain[0])
        return np.asarray(even & (same | apart))


def _ordered(chain: Results, direct: Results, target: Numeric) -> tuple[U64, U64]:
    return positions(target, chain.codes), positions(target, direct.codes)


def _counted(intervals: _Intervals, kinds: NDArray[np.int64]) -> Counts:
    """Count the codes of intervals of which the kind is known."""
    rest = intervals.lasts - intervals.firsts
    low = np.uint64((1 << 32) - 1)
    found = []
    for kind in range(5):
        those = rest[kinds == kind]
        high = int((those >> np.uint64(32)).sum()) << 32
        found.append(high + int((those & low).sum()) + len(those))
    return Counts(*found)


def _common(
    chain: Sequence[CastSegment], direct: Sequence[CastSegment]
) -> tuple[_Intervals, list[tuple[CastSegment, CastSegment]]]:
    """Cut all codes at the ends of the segments of both."""
    both: list[tuple[CastSegment, CastSegment]] = []
    ends: list[tuple[int, int]] = []
    one, other = iter(chain), iter(direct)
    left, right = next(one), next(other)
    while True:
        ends.append((max(left.first, right.first), min(left.last, right.last)))
        both.append((left, right))
        if left.last == right.last == chain[-1].last:
            break
        last = min(left.last, right.last)
        left = next(one) if left.last == last else left
        right = next(other) if right.last == last else right
    firsts, lasts = (np.array(each, np.uint64) for each in zip(*ends, strict=True))
    return _Intervals(firsts, lasts, np.arange(len(both))), both


def _alike(chain: CastSegment, direct: CastSegment) -> bool:
    """Return whether the same is done to each number, or nothing at all."""
    if is_constant(chain) or is_constant(direct):
        return False
    known = chain.effect is not None
    return (chain.kept and direct.kept) or (known and chain.effect == direct.effect)
