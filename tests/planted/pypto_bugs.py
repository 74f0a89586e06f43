"""The planted bugs of casts with seven rounding modes, each with a name.

What rounds, flushes and overflows in another way is shared with float_bugs; here is what modes,
their default and clamping can be got wrong by.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
from planted.bugs import Bug
from planted.float_bugs import (
    BFLOAT16,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    flush_inputs,
    flush_results,
    infinity_to_nan,
    nan_to_max,
    nan_to_zero,
    negative_zero_lost,
    overflow_of_x,
    rounding,
    through,
    to_max,
    within,
)
from planted.problem import BadPoints, Bugged, Problem, answers, put, rounding_by

from convcheck.numerics.codec import decode
from convcheck.numerics.codes import Bits
from convcheck.numerics.format import Float, Int
from convcheck.numerics.modes import MODES, toward_zero
from convcheck.numerics.number import INFINITY, NAN, Numbers, exceeds, normalised
from convcheck.numerics.rounding import round_to
from convcheck.semantics.vocabulary import Mask

WORDS = {
    "CAST_RINT": "nearest-even",
    "CAST_ROUND": "nearest-away",
    "CAST_FLOOR": "floor",
    "CAST_CEIL": "ceil",
    "CAST_TRUNC": "toward-zero",
    "CAST_ODD": "odd",
}
NONE = "CAST_NONE"


# Modes ------------------------------------------------------------------------------------------


def mode_of(p: Problem) -> str:
    """The mode that is asked for."""
    return str(p.case.attribute("mode"))


def in_mode(mode: str, bug: Bugged) -> Bugged:
    """A bug of one mode."""
    return lambda p: bug(p) if mode_of(p) == mode else None


def taken_for(mode: str, other: str) -> Bugged:
    """One mode rounds as another does; what is out of range is not affected."""
    known = WORDS if mode == NONE else {mode: WORDS[mode]}
    modes = {word: WORDS[other] for word in known.values() if word != WORDS[other]}
    return in_mode(mode, partial(rounding, modes=modes))


def half_added(p: Problem) -> Bits | None:
    """Half away from zero as truncation of x + 0.5, added in the format of the source."""
    if not isinstance(p.target, Int) or p.source not in (FLOAT16, FLOAT32):
        return None
    kind = np.float16 if p.source == FLOAT16 else np.float32
    with np.errstate(all="ignore"):
        x = p.bits.view(kind)
        moved = (x + np.copysign(kind(0.5), x)).view(p.bits.dtype)
    points = BadPoints(p.source, p.target, moved, decode(p.source, moved))
    return answers(rounding_by(p.program, {"nearest-away": "toward-zero"}), points)


def whole(p: Problem) -> Bits | None:
    """A float destination gets a whole number: rounded before the point, not at its last bit."""
    if not isinstance(p.target, Float) or not isinstance(p.source, Float):
        return None
    mode = WORDS.get(mode_of(p), "nearest-even")
    small = (p.x.kind != NAN) & (p.x.kind != INFINITY) & (p.x.exponent < 62)
    numbers = replace(p.x, exponent=np.where(small, p.x.exponent, 0))
    rounded = round_to(numbers, Int(64, True), MODES[mode]).magnitude
    exponent, significand = normalised(rounded, 0)
    fields = (
        np.where(small, exponent, p.x.exponent),
        np.where(small, significand, p.x.significand),
    )
    return p.denoting(Numbers(p.x.kind, p.x.sign, *fields))


# Out of range -----------------------------------------------------------------------------------


def wrapped(p: Problem) -> Bits | None:
    """The low bits of the whole part, as the destination's type; none of it beyond 64 bits."""
    if not isinstance(p.target, Int):
        return None
    rounded = round_to(p.x, p.target, toward_zero)
    magnitude = rounded.magnitude
    if rounded.beyond is not None:
        magnitude = np.where(rounded.beyond, np.uint64(0), magnitude)
    codes = np.where(p.x.sign, np.uint64(0) - magnitude, magnitude) & np.uint64(p.target.mask)
    return codes.astype(p.target.storage)


def outside(p: Problem, low: int, high: int) -> Mask:
    """Tell which numbers are below low or above high."""
    above, under = exceeds(p.x, high) & ~p.x.sign, exceeds(p.x, low) & p.x.sign
    return (p.x.kind != NAN) & np.where(p.x.sign, under, above)


def wrap(p: Problem, past: int | None = None) -> Bits | None:
    """What is out of range wraps; or only what is by no more than so much."""
    codes = wrapped(p)
    if codes is None:
        return None
    low, high = int(p.target.min), int(p.target.max)
    here = outside(p, low, high)
    if past is not None:
        here &= ~outside(p, low - past, high + past)
    return put(p, here, codes)


def wrap_near(p: Problem) -> Bits | None:
    """What is out of range by no more than max wraps, the rest is clamped."""
    return wrap(p, int(p.target.max)) if isinstance(p.target, Int) else None


def lowest_beyond(bits: int) -> Bugged:
    """Numbers beyond an integer of so many bits give the lowest one there, and are clamped then."""

    def bug(p: Problem) -> Bits | None:
        if not isinstance(p.target, Int):
            return None
        here = outside(p, -(1 << bits - 1), (1 << bits - 1) - 1)
        return put(p, here, int(p.target.min) & p.target.mask)

    return bug


def clamped_by_sign(p: Problem) -> Bits | None:
    """Below the range comes out as the largest value too."""
    if not isinstance(p.target, Int):
        return None
    here = outside(p, int(p.target.min), int(p.target.max))
    return put(p, here, int(p.target.max))


def symmetric(p: Problem) -> Bits | None:
    """Clamped to -max instead of min."""
    if not isinstance(p.target, Int) or not p.target.signed:
        return None
    lowest = int(p.target.min) & p.target.mask
    return put(p, p.right == lowest, lowest + 1)


def clamped_near(p: Problem) -> Bits | None:
    """What is out of range by no more than max is clamped, the rest wraps."""
    if not isinstance(p.target, Int):
        return None
    low, high = int(p.target.min), int(p.target.max)
    near = outside(p, low, high) & ~outside(p, low - high, high + high)
    return put(p, near, np.where(p.x.sign, low & p.target.mask, high))


def wrapped_unrounded(p: Problem) -> Bits | None:
    """The low bits are those of the value before it was rounded."""
    if not isinstance(p.target, Int) or isinstance(p.source, Int):
        return None
    cut = answers(rounding_by(p.program, dict.fromkeys(MODES, "toward-zero")), p.points)
    return put(p, outside(p, int(p.target.min), int(p.target.max)), cut)


def infinity_to_zero(p: Problem) -> Bits | None:
    """Infinities come out as 0."""
    return put(p, p.x.kind == INFINITY, 0) if isinstance(p.target, Int) else None


# Where a value out of range may wrap, or else all of them be clamped.
OF_WRAPPING = (
    Bug("some wrap, some are clamped", clamped_near),
    Bug("wrapped as it was before rounding", wrapped_unrounded),
    Bug("lowest beyond int64", lowest_beyond(64)),
    Bug("lowest beyond int32", lowest_beyond(32)),
    Bug("clamped to max on either side", clamped_by_sign),
    Bug("clamped to -max instead of min", symmetric),
)
TIES_TO_ZERO = dict.fromkeys(("nearest-even", "nearest-away"), "nearest-toward-zero")
HALVES_UP = {"nearest-away": "nearest-up"}
AWAY = {"ceil": "away", "floor": "away"}
SWAPS = tuple(
    Bug(f"{mode} as {other}", taken_for(mode, other))
    for mode in WORDS
    for other in WORDS
    if other != mode
)
WRONG_DEFAULTS = tuple(Bug(f"default is {mode}", taken_for(NONE, mode)) for mode in WORDS)
BUGS = (
    *SWAPS,
    *WRONG_DEFAULTS,
    Bug("ties toward zero", partial(rounding, modes=TIES_TO_ZERO)),
    Bug("halves up instead of away from zero", partial(rounding, modes=HALVES_UP)),
    Bug("FLOOR and CEIL away from zero", partial(rounding, modes=AWAY)),
    Bug("half added, then truncated", in_mode("CAST_ROUND", half_added)),
    Bug("rounded to a whole number", whole),
    Bug("wrap instead of clamp", wrap),
    Bug("wrap by one", partial(wrap, past=1)),
    Bug("wrap up to twice max only", wrap_near),
    Bug("lowest beyond int64", lowest_beyond(64)),
    Bug("lowest beyond int32", lowest_beyond(32)),
    Bug("clamped to max on either side", clamped_by_sign),
    Bug("clamped to -max instead of min", symmetric),
    Bug("Inf to 0", infinity_to_zero),
    Bug("Inf to NaN", infinity_to_nan),
    Bug("NaN to max", nan_to_max),
    Bug("NaN to 0", nan_to_zero),
    Bug("flush of subnormal results", flush_results),
    Bug("flush of subnormal inputs", flush_inputs),
    Bug("-0 lost", negative_zero_lost),
    Bug("overflow tested on x instead of [x]", overflow_of_x),
    Bug("overflow to max instead of inf", to_max),
    Bug("overflow to max beyond 4 max only", partial(to_max, factor=4)),
    Bug("overflow to max beyond 1024 max only", partial(to_max, factor=1024)),
    Bug("double rounding through float64", through(FLOAT64)),
    Bug("double rounding through float32", through(FLOAT32)),
    Bug("double rounding through float16", through(FLOAT16)),
    Bug("double rounding through bfloat16", through(BFLOAT16)),
    Bug("double rounding within float32's normal range", within(FLOAT32)),
    Bug("double rounding within float16's normal range", within(FLOAT16)),
    Bug("double rounding within bfloat16's normal range", within(BFLOAT16)),
)
