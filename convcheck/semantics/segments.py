"""Cut a conversion into segments: intervals of codes with the rows that still decide.

Numbers of one sign cross a threshold at most once (see `CaseWord`), so equal results at both ends
of an interval hold between them, and bisection finds the crossing.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain, pairwise, repeat

import numpy as np
from numpy.typing import NDArray

from convcheck.numerics.codec import decode
from convcheck.numerics.format import Float, Format, Int, Numeric
from convcheck.numerics.number import Codes
from convcheck.rules.hop import MAGNITUDE, WHOLE, Hop
from convcheck.semantics.answers_at import CHUNK, run_conversion
from convcheck.semantics.expected import Expected, end_to_end
from convcheck.semantics.program import CompiledOutcome, CompiledRow, Program
from convcheck.semantics.vocabulary import COMPUTATIONS, Nature, Points

SPECIAL: Nature = "special"
THRESHOLD: Nature = "threshold"
GRID: Nature = "grid"
_OF_CODES, _ROUNDING, _WRAPPING = (
    frozenset(COMPUTATIONS[word][0] for word in words)
    for words in (
        ("same", "low-bits"),
        ("[x]", "payload", "zero", "most", "leading-bit"),
        ("wrapped", "wrapped-magnitude"),
    )
)
_PARTS = 16  # of an interval in a search step
_KEPT = 1024
U64 = NDArray[np.uint64]
Interval = tuple[int, int]  # first and last code
Path = tuple[tuple[Hop, bool], ...]  # hops of x, and whether each reinterprets


@dataclass(frozen=True)
class Segment:
    """Codes that the same rows decide."""

    first: int
    last: int
    program: Program
    #: of each reading, if one row remains without a hop
    only: tuple[CompiledOutcome, ...] | None
    constant: bool
    #: that x is rounded to, if known
    formats: tuple[Format, ...] | None


class Segments:
    """The segments of a conversion, in the order of codes."""

    def __init__(
        self, program: Program, source: Numeric, target: Numeric, parts: Sequence[Segment]
    ) -> None:
        self.program, self.source, self.target, self.parts = program, source, target, parts
        self.starts = np.array([part.first for part in parts], source.storage)
        self._firsts = run_conversion(program, source, target, self.starts)
        self._numbers = np.zeros(len(parts), np.uint8)  # of the remaining rows; 0 for constants
        self._left: dict[object, tuple[int, Segment]] = {}
        for at, part in enumerate(parts):
            if not part.constant:
                key = (int(self._firsts.rows[at]), part.only) if part.only else part
                self._numbers[at], _ = self._left.setdefault(key, (len(self._left) + 1, part))

    def expected(self, codes: Codes) -> Expected:
        """Return the expectation of codes, shape (n,)."""
        codes = codes.astype(self.source.storage, copy=False)
        starts = range(0, max(len(codes), 1), CHUNK)
        return end_to_end([self._of_chunk(codes[at : at + CHUNK]) for at in starts])

    def _of_chunk(self, codes: Codes) -> Expected:
        which = self.starts.searchsorted(codes, side="right") - 1
        found = self._firsts.take(which)
        numbers = self._numbers.take(which)
        for number, part in self._left.values():
            here = np.flatnonzero(numbers == number)
            if len(here):
                self._put(found, here, part, codes)
        return found

    def _put(self, found: Expected, here: NDArray[np.intp], part: Segment, codes: Codes) -> None:
        bits = codes.take(here)
        if part.only is None:
            found.put(here, run_conversion(part.program, self.source, self.target, bits))
            return
        points = Points(self.source, self.target, bits, decode(self.source, bits))
        repeated = chain(part.only, repeat(part.only[-1]))
        for reading, outcome in zip(found.readings, repeated, strict=False):
            if outcome.compute:
                np.put(reading.codes, here, outcome.compute(points, outcome.mode))


@lru_cache(_KEPT)
def segments(program: Program, source: Numeric, target: Numeric) -> tuple[Segment, ...]:
    """Cut the codes of a source by the rows of a program."""
    cut = _Cutting(source, target).reduced(program, (), intervals_of(source))
    found = []
    for (first, last), left in cut:
        only = _only(left)
        constant = first == last or (only is not None and not any(one.compute for one in only))
        found.append(Segment(first, last, left, only, constant, _formats(left, target)))
    return tuple(sorted(found, key=lambda segment: segment.first))


def _formats(program: Program, target: Numeric) -> tuple[Format, ...] | None:
    """None if the expectation may not be monotone."""
    found: list[Format] = []
    for entry in program.entries:
        word = entry.test
        if word and word.nature not in (GRID, "level"):
            return None
        found += [target, word.between or target] if word else []
        for step in entry.steps:
            known = _formats_of(step, target)
            if known is None:
                return None
            found += known
    return tuple(found)


def _formats_of(step: CompiledOutcome, target: Numeric) -> tuple[Format, ...] | None:
    if step.program is None:
        if step.compute is None or step.compute in _OF_CODES:
            return ()
        whole = target.bits == 8 * target.storage.itemsize
        steady = step.compute in _ROUNDING or (whole and step.compute in _WRAPPING)
        return (target,) if steady else None
    inner = _formats(step.program, target)
    if step.hop is None or inner is None:
        return inner
    if not rises(step.hop):
        return None
    if isinstance(step.hop.type, str):
        return inner if step.hop.type == MAGNITUDE else (*inner, Int(64, signed=True))
    return (*inner, step.hop.type.format)


def key_changes(
    intervals: Sequence[Interval], key: Callable[[U64], NDArray[np.int64]]
) -> list[int]:
    """Return the codes where a key changes. Equal keys at both ends must hold throughout."""
    firsts, lasts = (np.array(ends, np.uint64) for ends in zip(*intervals, strict=True))
    keys = np.split(key(np.concatenate([firsts, lasts])).reshape(2 * len(firsts), -1), 2)
    cuts: list[int] = []
    while (change := (keys[0] != keys[1]).any(axis=1)).any():
        firsts, lasts, *keys = (each[change] for each in (firsts, lasts, *keys))
        near = lasts - firsts == 1
        cuts += lasts[near].tolist()
        points = _between(firsts[~near], lasts[~near])
        several = keys[0][~near].shape
        inner = key(points[1:-1].reshape(-1)).reshape(_PARTS - 1, *several)
        of_points = np.concatenate([keys[0][None, ~near], inner, keys[1][None, ~near]])
        firsts, lasts = points[:-1].reshape(-1), points[1:].reshape(-1)
        keys = [each.reshape(-1, several[1]) for each in (of_points[:-1], of_points[1:])]
    return sorted(cuts)


def _between(firsts: U64, lasts: U64) -> U64:
    """Codes that cut intervals into parts, ends included, shape (parts + 1, n)."""
    step = np.maximum((lasts - firsts) // np.uint64(_PARTS), np.uint64(1))
    offsets = np.arange(_PARTS + 1, dtype=np.uint64)[:, None] * step
    points: U64 = firsts + np.minimum(offsets, lasts - firsts)
    points[-1] = lasts
    return points


def cut_at(interval: Interval, cuts: Sequence[int]) -> Iterator[Interval]:
    """Cut an interval before some codes."""
    first, last = interval
    starts = sorted({first, *(cut for cut in cuts if first < cut <= last)})
    yield from ((start, end - 1) for start, end in pairwise([*starts, last + 1]))


def intervals_of(source: Numeric) -> list[Interval]:
    """Return intervals of codes: finite nonzero, zero, infinity and NaN, by sign."""
    if not isinstance(source, Float):
        top = source.mask >> 1 if source.signed else source.mask
        return [(0, 0), (1, top), *([(top + 1, source.mask)] if source.signed else [])]
    most, mask = source.max_magnitude, source.magnitude_mask
    ends = [0, 1, most + 1, *([most + 2] if source.infinity else []), mask + 1]
    intervals = [(first, end - 1) for first, end in pairwise(sorted(set(ends)))]
    signs = (0, source.sign_bit) if source.signed else (0,)
    return [(first + sign, last + sign) for sign in signs for first, last in intervals]


def _only(program: Program) -> tuple[CompiledOutcome, ...] | None:
    if len(program.entries) > 1:
        return None
    outcomes: list[tuple[CompiledOutcome, ...]] = []
    steps = program.entries[0].steps
    for step in steps:
        inner = (step,) if step.program is None else _only(step.program)
        if inner is None or (step.hop and any(outcome.compute for outcome in inner)):
            return None
        outcomes.append(inner)
    if len(steps) == 1:
        return outcomes[0]
    return tuple(each[min(reading, len(each) - 1)] for reading, each in enumerate(outcomes))


class _Cutting:
    def __init__(self, source: Numeric, target: Numeric) -> None:
        self.source, self.target = source, target

    def reduced(
        self, program: Program, path: Path, intervals: Sequence[Interval]
    ) -> Iterator[tuple[Interval, Program]]:
        left: list[tuple[Interval, tuple[CompiledRow, ...]]] = [(one, ()) for one in intervals]
        for entry in program.entries:
            hit, left = self._parted(entry, path, left)
            for interval, kept in hit:
                for part, row in self._cut_by_steps(entry, path, interval):
                    if entry.test is None or _decides(entry, path):
                        yield part, replace(program, entries=(*kept, replace(row, test=None)))
                    else:
                        left.append((part, (*kept, row)))

    def _parted(
        self, entry: CompiledRow, path: Path, left: list[tuple[Interval, tuple[CompiledRow, ...]]]
    ) -> tuple[list[tuple[Interval, tuple[CompiledRow, ...]]], ...]:
        """Split into intervals that a row's word matches, or may match, and others."""
        test, mode = entry.test, entry.mode
        if not left or test is None or not _decides(entry, path):
            return left, []

        def key(codes: U64) -> NDArray[np.int64]:
            """The sign counts: past its range, an integer may be its minimum."""
            points = self._points(codes, path)
            return test(points, mode) + 2 * points.x.sign.astype(np.int64)

        cuts = key_changes([interval for interval, _ in left], key)
        parts = [(part, kept) for interval, kept in left for part in cut_at(interval, cuts)]
        holds = key(np.array([first for (first, _), _ in parts], np.uint64)) & 1
        hit, others = (
            [part for part, found in zip(parts, holds, strict=True) if found == wanted]
            for wanted in (1, 0)
        )
        return hit, others

    def _points(self, codes: U64, path: Path) -> Points:
        from convcheck.semantics.hops import gone_through  # wrong conversions only

        bits = codes.astype(self.source.storage)
        points = Points(self.source, self.target, bits, decode(self.source, bits))
        for hop, retyped in path:
            points = gone_through(points, hop, retyped)
        return points

    def _cut_by_steps(
        self, entry: CompiledRow, path: Path, interval: Interval
    ) -> Iterator[tuple[Interval, CompiledRow]]:
        cut = [self._of_step(step, path, interval) for step in entry.steps]
        starts = sorted({first for parts in cut for (first, _), _ in parts})
        for part in cut_at(interval, starts):
            steps = (next(s for (a, b), s in parts if a <= part[0] <= b) for parts in cut)
            yield part, replace(entry, steps=tuple(steps))

    def _of_step(
        self, step: CompiledOutcome, path: Path, interval: Interval
    ) -> list[tuple[Interval, CompiledOutcome]]:
        if step.program is None:
            return [(interval, step)]
        if step.hop is None:
            return [
                (part, replace(step, program=left))
                for part, left in self.reduced(step.program, path, [interval])
            ]
        return [
            (part, replace(step, hop=hop, program=left))
            for within, hop in self._without_wrapping(step.hop, path, interval)
            for part, left in self.reduced(step.program, (*path, (hop, step.retyped)), [within])
        ]

    def _without_wrapping(
        self, hop: Hop, path: Path, interval: Interval
    ) -> Iterator[tuple[Interval, Hop]]:
        """Where a wrapping type holds the numbers, it only clamps."""
        from convcheck.semantics.hops import holds

        fmt = None if isinstance(hop.type, str) else hop.type.format
        wraps = is_plain(hop) and hop.beyond == "wrap" and all(rises(before) for before, _ in path)
        if not (wraps and isinstance(fmt, Int)):
            yield interval, hop
            return

        def key(codes: U64) -> NDArray[np.int64]:
            return holds(fmt, self._points(codes, path).x, hop.round).astype(np.int64)

        for part in cut_at(interval, key_changes([interval], key)):
            within = bool(key(np.array(part[:1], np.uint64))[0])
            yield part, replace(hop, beyond="clamp") if within else hop


def _decides(entry: CompiledRow, path: Path) -> bool:
    known = entry.test is None or entry.test.nature in (SPECIAL, THRESHOLD)
    return known and all(rises(hop) for hop, _ in path)


def rises(hop: Hop) -> bool:
    """Whether a hop is monotone on numbers of one sign."""
    return is_plain(hop) and hop.beyond != "wrap"


def is_plain(hop: Hop) -> bool:
    """Whether a hop is a full type, or rounds to integers."""
    if isinstance(hop.type, str):
        return hop.type in (WHOLE, MAGNITUDE)
    return not (hop.subnormals or hop.no_specials or hop.normal_only or hop.by_code)
