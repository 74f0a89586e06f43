"""Exponents of a source, so close that no window of a few of them is left out.

A shift by an amount that is taken modulo 32 or 64, or an exponent that is cut to eight bits, is
wrong in a window of a few exponents, far from the destination's range.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from convcheck.numerics.codes import Codes, is_negative
from convcheck.numerics.format import Float, Format, Int, Numeric
from convcheck.numerics.neighbours import signed
from convcheck.numerics.order import each_once
from convcheck.vectors.binades import Binades, binades_of

_MANY = 512  # binades, more than any source of up to 32 bits has
_WINDOW = 4  # neighbouring binades outside the range, of which one may be without a value
_NEAR = 64  # binades: what is taken modulo 64 shows there
_STEP = 13  # odd, and no power of two is near a multiple of it soon
MOST = 900  # vectors of a case

U64 = NDArray[np.uint64]
I64 = NDArray[np.int64]
Mask = NDArray[np.bool_]


def left_out(source: Numeric, target: Format, asked: Codes, rng: np.random.Generator) -> Codes:
    """Return the codes that are missing so that, of any two neighbouring binades of the source, one
    has a value that is no power of two; of any four outside the destination's range, three have
    one, and each sign is among them.

    Subnormal binades count as those of other values do. Those of integers are their lengths. Where
    there are very many, this holds next to the destination's range; farther out and within it is
    one binade of 13, in the two signs by turns: one in each residue of any power of two. It is one
    of 15, 17, ... as far as a case would have more than 900 vectors.
    """
    every = np.array(_roomy(source), np.uint64)
    beyond = _beyond_range(source, target, len(every))
    there = [_there(source, asked, every, sign) for sign in (False, True)[: 1 + source.signed]]
    room = MOST - len(each_once(asked))
    steps = range(_STEP, _MANY, 2) if room >= 0 else ()  # else none fits
    tried = (_missing(beyond, there, step) for step in steps)
    fitting = (turns for turns in tried if sum(map(np.count_nonzero, turns)) <= room)
    found = [np.empty(0, source.storage)]
    for negative, turns in enumerate(next(fitting, _missing(beyond, there, _MANY))):
        missing = every[turns]
        magnitudes = missing[:, 0] + rng.integers(1, missing[:, 1], dtype=np.uint64)
        found.append(signed(source, magnitudes, np.full(len(missing), bool(negative))))
    return np.concatenate(found)


def _missing(beyond: I64, there: Sequence[Mask], step: int) -> list[Mask]:
    """Return, for each sign, which binades to ask besides those that are there."""
    far = ((beyond > _NEAR) | (beyond <= 0)) & (len(beyond) > _MANY)
    inside = (beyond <= 0) & np.any(there, axis=0)
    every = np.arange(len(beyond)) % (2 * step)
    found = [far & ~here & ~inside & (every == step * s) for s, here in enumerate(there)]
    for place, sign in _gaps(np.transpose([here | far for here in there]), beyond > 0):
        found[sign][place] = True
    return found


def _beyond_range(source: Numeric, target: Format, count: int) -> I64:
    """Return by how many binades a source's are outside the destination's range, 0 or less inside;
    a destination without a range is taken for one that has 1 alone.
    """
    low, high = 0, 0
    if isinstance(target, Float):
        low, high = target.lowest_exponent, target.highest_exponent
    elif isinstance(target, Int):
        high = target.bits
    first = source.lowest_exponent if isinstance(source, Float) else 0
    exponents = first + 1 + np.arange(count)
    return np.maximum(low - exponents, exponents - high)


def _roomy(source: Numeric) -> Binades:
    """Return the binades of a source, each with its first magnitude and how many there are, that
    have more than a power of two.
    """
    if not isinstance(source, Float):
        return [(1 << k, 1 << k) for k in range(1, source.bits - source.signed)]
    return [binade for binade in binades_of(source, source.max_magnitude) if binade[1] > 1]


def _there(source: Numeric, codes: Codes, binades: U64, negative: bool) -> Mask:
    """Return in which binades there is a code of that sign and of no power of two."""
    magnitude, minus = _parts(source, codes)
    here = magnitude[minus == negative]
    at = np.searchsorted(binades[:, 0], here, side="right") - 1
    found = np.zeros(len(binades), bool)
    start, size = binades[at].T
    found[at[(at >= 0) & (here > start) & (here < start + size)]] = True
    return found


def _parts(source: Numeric, codes: Codes) -> tuple[U64, Mask]:
    """Return the magnitudes of codes, and which are negative."""
    wide = codes.astype(np.uint64)
    if isinstance(source, Float):
        return wide & np.uint64(source.magnitude_mask), is_negative(source, codes)
    minus = wide > np.uint64(int(source.max))
    return np.where(minus, (np.uint64(0) - wide) & np.uint64(source.mask), wide), minus


def _gaps(there: Mask, outside: Mask) -> Iterator[tuple[int, int]]:
    """Yield the places to fill, each with the sign that is missing longest: every second empty
    place inside the range, outside it all but one of four places.
    """
    last_empty, missing = -_WINDOW, np.zeros(there.shape[1], np.int64)
    for place, here in enumerate(there):
        missing = np.where(here | ~outside[place], 0, missing + 1)
        fill = missing.max() >= _WINDOW
        if not here.any() and not fill:
            fill = place - last_empty < (_WINDOW if outside[place] else 2)
            last_empty = last_empty if fill else place
        if fill:
            sign = int(missing.argmax()) if outside[place] else place // 2 % len(missing)
            missing[sign] = 0
            yield place, sign
