"""Compare a chain of casts with the direct one."""

import operator
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import astuple, dataclass, replace
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
_MOST = 1 << 18  # intervals in a step; with more, the proof is given up
_FEW, _MANY = 1 << 12, 8  # fewer intervals are cut into more parts
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Counts:
    """The number of inputs of each kind."""

    same: int = 0
    #: defined and different
    different: int = 0
    #: only the chain is undefined, only the direct cast, both
    chain_open: int = 0
    direct_open: int = 0
    both_open: int = 0

    @property
    def inputs(self) -> int:
        """The number of all inputs."""
        return self.same + self.different + self.open

    @property
    def open(self) -> int:
        """The number of inputs with an undefined side."""
        return self.chain_open + self.direct_open + self.both_open

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(*map(operator.add, astuple(self), astuple(other)))


@dataclass(frozen=True)
class ChainComparison:
    """A chain and the direct cast, under one reading of each."""

    proof: Proof
    #: of all inputs, of the vectors, or of some inputs if `partial`
    counts: Counts
    #: the smallest code with a difference
    least: int | None
    is_least: bool = True
    #: counting stopped early on request
    partial: bool = False


def compare_chain(chain: Chain, direct: Cast, counted: bool = True) -> ChainComparison:
    """Compare on every input, if possible. Unless `counted`, stop at the smallest difference."""
    if chain.source.bits <= NARROW:
        codes = np.arange(1 << chain.source.bits, dtype=np.uint64)
        return _asked(chain, direct, codes, EXHAUSTIVE)
    found = _proven(chain, direct, counted=False)
    if found is not None and counted and found.partial:
        found = _proven(chain, direct, counted=True) or found
    if found is not None and not (counted and found.partial):
        return found
    asked = _of_vectors(chain, direct, counted)
    if found is None or asked.least is None:
        return asked
    return replace(asked, least=found.least, is_least=found.is_least)


def known_inputs(chain: Chain) -> U64:
    """Return every code of a narrow source, or the edge inputs of a wide one."""
    if chain.source.bits <= NARROW:
        return np.arange(1 << chain.source.bits, dtype=np.uint64)
    return np.unique(np.concatenate(_vectors(chain, ("edge",))))


def _of_vectors(chain: Chain, direct: Cast, counted: bool) -> ChainComparison:
    """Compare on the smallest codes and on vectors; only on edge vectors if these suffice."""
    few = [np.arange(1 << NARROW, dtype=np.uint64), *_vectors(chain, ("edge",))]
    if not counted:
        asked = _asked(chain, direct, np.concatenate(few), VECTORS)
        if asked.least is not None:
            return replace(asked, partial=True)
    more = np.concatenate([*few, *_vectors(chain, ("boundary",))])
    return _asked(chain, direct, np.unique(more), VECTORS)


def _proven(chain: Chain, direct: Cast, counted: bool) -> ChainComparison | None:
    with suppress(UnprovenError):
        return IntervalSearch(chain, direct).compared(counted)
    return None


def _asked(chain: Chain, direct: Cast, codes: U64, proof: Proof) -> ChainComparison:
    kinds = _kinds(chain.results(codes), Chain((direct,)).results(codes))
    several = np.bincount(kinds, minlength=5).tolist()
    shows = codes[kinds == DIFFERENT]
    least = int(shows.min()) if len(shows) else None
    exact = proof == EXHAUSTIVE or (least is not None and least < 1 << NARROW)
    return ChainComparison(proof, Counts(*several), least, is_least=exact)


def _vectors(chain: Chain, tiers: Sequence[Tier]) -> list[U64]:
    targets = dict.fromkeys((chain.casts[0].target, chain.target))
    return [_of_tier(chain.source, target, tier) for target in targets for tier in tiers]


@lru_cache(1024)
def _of_tier(source: Numeric, target: Numeric, tier: Tier) -> U64:
    return numeric_inputs(source, target, tier, 0)[0].astype(np.uint64)


def _kinds(chain: Results, direct: Results) -> NDArray[np.int64]:
    kinds = np.where(chain.same(direct), SAME, DIFFERENT)
    kinds[~chain.defined] = CHAIN_OPEN
    kinds[~direct.defined] = DIRECT_OPEN
    kinds[~chain.defined & ~direct.defined] = BOTH_OPEN
    return kinds


@dataclass(frozen=True)
class _Intervals:
    """Each within one segment of the chain and of the direct cast."""

    firsts: U64
    lasts: U64
    segments: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.firsts)

    def some(self, which: Mask) -> "_Intervals":
        return _Intervals(self.firsts[which], self.lasts[which], self.segments[which])

    def parts(self) -> "_Intervals":
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
    """Cuts the intervals of all codes until each has one kind."""

    def __init__(self, chain: Chain, direct: Cast) -> None:
        self.chain, self.direct = chain, Chain((direct,))
        self.intervals, both = _common(chain_segments(chain), segments_of(direct))
        self.even = np.array([[c.even, d.even] for c, d in both])
        self.alike = np.array([_alike(c, d) for c, d in both])

    def compared(self, counted: bool) -> ChainComparison | None:
        """Return the comparison, partial counts unless `counted`; None for too many intervals."""
        codes = np.concatenate(_vectors(self.chain, ("edge",)))
        least = _asked(self.chain, self.direct.casts[0], codes, VECTORS).least
        intervals, counts = self.intervals, Counts()
        while len(intervals):
            kinds, shows = self._kinds(intervals)
            counts += _counted(intervals, kinds)
            if len(shows):
                least = min(int(shows.min()), least if least is not None else 1 << 64)
            unknown = kinds == _UNKNOWN
            if least is not None and not counted:
                unknown &= intervals.firsts < np.uint64(least)
            if unknown.sum() > _MOST:
                return None
            intervals = intervals.some(unknown).parts()
        return ChainComparison(INTERVALS, counts, least, partial=not counted and least is not None)

    def _kinds(self, intervals: _Intervals) -> tuple[NDArray[np.int64], U64]:
        """The kind of each interval, or _UNKNOWN, and the ends that differ."""
        ends = np.concatenate([intervals.firsts, intervals.lasts])
        chain, direct = self.chain.results(ends), self.direct.results(ends)
        kinds = _kinds(chain, direct)
        shows = ends[kinds == DIFFERENT]
        both = kinds.reshape(2, -1)
        exact = (chain.patterns == EXACT) & (direct.patterns == EXACT)
        known = self._known(intervals, chain, direct)
        alike = self.alike[intervals.segments] & (both == SAME).all(axis=0)
        unsure = exact.reshape(2, -1)[0] & ~known & ~alike
        return np.where(unsure & (intervals.firsts != intervals.lasts), _UNKNOWN, both[0]), shows

    def _known(self, intervals: _Intervals, *results: Results) -> Mask:
        """Both results are constant, or their ranges are disjoint."""
        even = self.even[intervals.segments].all(axis=1)
        at = (positions(self.chain.target, each.codes).reshape(2, -1) for each in results)
        chain, direct = (np.sort(each, axis=0) for each in at)
        same = (chain[0] == chain[1]) & (direct[0] == direct[1])
        apart = (chain[1] < direct[0]) | (direct[1] < chain[0])
        return np.asarray(even & (same | apart))


def _counted(intervals: _Intervals, kinds: NDArray[np.int64]) -> Counts:
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
    """Whether both segments treat numbers alike, or leave them unchanged."""
    if is_constant(chain) or is_constant(direct):
        return False
    known = chain.effect is not None
    return (chain.kept and direct.kept) or (known and chain.effect == direct.effect)
