"""Casts and chains of casts under one reading. Casts that distinguish NaNs leave any NaN open."""

from dataclasses import dataclass
from functools import cached_property
from typing import cast

import numpy as np
from numpy.typing import NDArray

from convcheck.numerics.format import Float, Numeric
from convcheck.numerics.number import Codes, is_nan
from convcheck.semantics.answers_at import run_conversion
from convcheck.semantics.expected import ANY_NAN, EXACT, NEGATIVE_NAN, REFUSED, UNDEFINED
from convcheck.semantics.program import Program

U64 = NDArray[np.uint64]
NARROW = 16  # up to this number of bits, every code of a source is evaluated


@dataclass(frozen=True)
class Results:
    """The results of n inputs. Codes are 0 unless the pattern is exact."""

    codes: U64
    patterns: NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.codes)

    def same(self, other: "Results") -> NDArray[np.bool_]:
        """Return a mask of equal results."""
        return np.asarray((self.codes == other.codes) & (self.patterns == other.patterns))

    @property
    def defined(self) -> NDArray[np.bool_]:
        """Mask of defined results."""
        return np.asarray(self.patterns != UNDEFINED)


@dataclass(frozen=True, eq=False)
class Cast:
    """A conversion under one reading; the identity without a program."""

    source: Numeric
    target: Numeric
    program: Program | None = None
    reading: int = 0

    def raw(self, codes: U64) -> tuple[U64, NDArray[np.uint8]]:
        """Return codes and patterns."""
        if self.source.bits > NARROW:
            return self._evaluated(codes)
        every, patterns = self._every
        return every[codes], patterns[codes]

    @cached_property
    def _every(self) -> tuple[U64, NDArray[np.uint8]]:
        return self._evaluated(np.arange(1 << self.source.bits, dtype=np.uint64))

    def _evaluated(self, codes: U64) -> tuple[U64, NDArray[np.uint8]]:
        if self.program is None:
            return codes, np.zeros(len(codes), np.uint8)
        found = run_conversion(
            self.program, self.source, self.target, codes.astype(self.source.storage)
        )
        reading = found.readings[min(self.reading, len(found.readings) - 1)]
        return cast(Codes, reading.codes).astype(np.uint64), reading.patterns

    @cached_property
    def tells_nans_apart(self) -> bool:
        """Whether the result depends on the kind of NaN."""
        nans = _nans(self.source)
        if not len(nans):
            return False
        found = _plain(self.target, *self.raw(nans))
        return not found.same(Results(found.codes[:1], found.patterns[:1])).all()


@dataclass(frozen=True, eq=False)
class Chain:
    """A sequence of casts."""

    casts: tuple[Cast, ...]

    @property
    def source(self) -> Numeric:
        """The format of the first source."""
        return self.casts[0].source

    @property
    def target(self) -> Numeric:
        """The format of the last destination."""
        return self.casts[-1].target

    def results(self, codes: U64) -> Results:
        """Return the results of the chain."""
        return _plain(self.target, *self.raw(codes))

    def raw(self, codes: U64) -> tuple[U64, NDArray[np.uint8]]:
        """Return codes and patterns, with NaNs unchanged."""
        first, *rest = self.casts
        codes, patterns = first.raw(codes)
        for each in rest:
            nan = (patterns == ANY_NAN) | (patterns == NEGATIVE_NAN)
            over = (patterns == UNDEFINED) | (patterns == REFUSED)
            codes, due = each.raw(codes)
            due = np.where(nan & each.tells_nans_apart, np.uint8(UNDEFINED), due)
            patterns = np.where(over, patterns, due)
        return codes, patterns

    def trail(self, code: int) -> list[Results]:
        """Return the result of each cast for one code."""
        made = (Chain(self.casts[: i + 1]) for i in range(len(self.casts)))
        return [chain.results(np.array([code], np.uint64)) for chain in made]


def _plain(target: Numeric, codes: U64, patterns: NDArray[np.uint8]) -> Results:
    """NaNs are equal, and codes without meaning are 0."""
    patterns = patterns.copy()
    if isinstance(target, Float) and target.nan != "none":
        nan = is_nan(target, codes) & (patterns == EXACT)
        patterns[nan] = ANY_NAN
    return Results(np.where(patterns == EXACT, codes, np.uint64(0)), patterns)


def _nans(source: Numeric) -> U64:
    if not isinstance(source, Float) or source.nan == "none":
        return np.zeros(0, np.uint64)
    if source.bits <= NARROW:
        codes = np.arange(1 << source.bits, dtype=np.uint64)
        return codes[is_nan(source, codes)]
    bits = np.uint64(1) << np.arange(source.mantissa, dtype=np.uint64)
    found = np.concatenate([bits, [np.uint64((1 << source.mantissa) - 1)]])
    found |= np.uint64(source.infinity_code)
    both = np.concatenate([found, found | np.uint64(source.sign_bit)])
    return both[is_nan(source, both)]
