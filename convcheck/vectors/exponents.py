"""Add inputs so that every few exponents of a source are tested.

A shift count modulo 32 or 64, or an exponent cut to eight bits, fails in a window of a few
exponents far outside the destination's range.
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

_MANY = 512  # binades; more than any source of up to 32 bits has
_WINDOW = 4  # adjacent binades outside the range, at most one of them without a value
_NEAR = 64  # binades; a count modulo 64 shows within them
_STEP = 13  # odd, and its small multiples are not near a power of two
MOST = 900  # vectors of a case

U64 = NDArray[np.uint64]
I64 = NDArray[np.int64]
Mask = NDArray[np.bool_]


def left_out(source: Numeric, target: Format, asked: Codes, rng: np.random.Generator) -> Codes:
    """Return the codes that complete the coverage of exponents.

    Afterwards, one of any two adjacent binades has a value that is not a power of two. Outside the
    destination's range, three of any four have one, in both signs. Subnormal binades count; those
    of integers are their lengths.

    If there are very many binades, this holds near the range only. Elsewhere every 13th binade is
    tested with alternating signs, so every residue modulo a power of two occurs. The step grows to
    15, 17, ... if a case would exceed 900 vectors.
    """
    every = np.array(_roomy(source), np.uint64)
    beyond = _beyond_range(source, target, len(every))
    there = [_there(source, asked, every, sign) for sign in (False, True)[: 1 + source.signed]]
    room = MOST - len(each_once(asked))
    steps = range(_STEP, _MANY, 2) if room >= 0 else ()  # otherwise none fits
    tried = (_missing(beyond, there, step) for step in steps)
    fitting = (turns for turns in tried if sum(map(np.count_nonzero, turns)) <= room)
    found = [np.empty(0, source.storage)]
    for negative, turns in enumerate(next(fitting, _missing(beyond, there, _MANY))):
        missing = every[turns]
        magnitudes = missing[:, 0] + rng.integers(1, missing[:, 1], dtype=np.uint64)
        found.append(signed(source, magnitudes, np.full(len(missing), bool(negative))))
    return np.concatenate(found)


def _missing(beyond: I64, there: Sequence[Mask], step: int) -> list[Mask]:
    far = ((beyond > _NEAR) | (beyond <= 0)) & (len(beyond) > _MANY)
    inside = (beyond <= 0) & np.any(there, axis=0)
    every = np.arange(len(beyond)) % (2 * step)
    found = [far & ~here & ~inside & (every == step * s) for s, here in enumerate(there)]
    for place, sign in _gaps(np.transpose([here | far for here in there]), beyond > 0):
        found[sign][place] = True
    return found


def _beyond_range(source: Numeric, target: Format, count: int) -> I64:
    """Return the distance of each binade from the destination's range, 0 or less inside.

    A destination without a range counts as the single value 1.
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
    if not isinstance(source, Float):
        return [(1 << k, 1 << k) for k in range(1, source.bits - source.signed)]
    return [binade for binade in binades_of(source, source.max_magnitude) if binade[1] > 1]


def _there(source: Numeric, codes: Codes, binades: U64, negative: bool) -> Mask:
    magnitude, minus = _parts(source, codes)
    here = magnitude[minus == negative]
    at = np.searchsorted(binades[:, 0], here, side="right") - 1
    found = np.zeros(len(binades), bool)
    start, size = binades[at].T
    found[at[(at >= 0) & (here > start) & (here < start + size)]] = True
    return found


def _parts(source: Numeric, codes: Codes) -> tuple[U64, Mask]:
    wide = codes.astype(np.uint64)
    if isinstance(source, Float):
        return wide & np.uint64(source.magnitude_mask), is_negative(source, codes)
    minus = wide > np.uint64(int(source.max))
    return np.where(minus, (np.uint64(0) - wide) & np.uint64(source.mask), wide), minus


def _gaps(there: Mask, outside: Mask) -> Iterator[tuple[int, int]]:
    """Yield the index and sign of each binade to fill.

    Inside the range every second empty binade is filled, outside three of four, with the sign
    missing longest.
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
