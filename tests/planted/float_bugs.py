"""Bugs of conversions to and from floats.

Each gives the answers with the bug in them; None where it has nothing to do with the case.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
from planted.problem import Bugged, Problem, put, reworked, rounding_by

from convcheck.numerics.codec import decode, encode
from convcheck.numerics.codes import Bits
from convcheck.numerics.format import Bool, Float, Text
from convcheck.numerics.modes import MODES, nearest_even
from convcheck.numerics.number import FINITE, INFINITY, NAN, Numbers, exceeds
from convcheck.numerics.rounding import round_to
from convcheck.semantics.program import CompiledRow, Program
from convcheck.semantics.vocabulary import CASES, Mask

FLOAT16 = Float(5, 10, 15, "ieee", infinity=True)
BFLOAT16 = Float(8, 7, 127, "ieee", infinity=True)
FLOAT32 = Float(8, 23, 127, "ieee", infinity=True)
FLOAT64 = Float(11, 52, 1023, "ieee", infinity=True)


# Rounding ---------------------------------------------------------------------------------------


def modes_of(program: Program) -> set[str]:
    """The rounding modes that a program uses."""
    steps = [s for e in program.entries for s in e.steps]
    inner = [modes_of(s.program) for s in steps if s.program]
    return {s.mode for s in steps}.union({e.mode for e in program.entries}, *inner)


def rounding(p: Problem, modes: dict[str, str]) -> Bits | None:
    """Rounding modes exchanged."""
    if not modes_of(p.program) & modes.keys():
        return None
    return p.tried(rounding_by(p.program, modes))


def always(mode: str) -> Bugged:
    """One rounding mode for everything."""
    return partial(rounding, modes={name: mode for name in MODES if name != mode})


def ties(mode: str) -> Bugged:
    """Ties rounded in another way; other numbers are not affected."""
    return partial(rounding, modes=dict.fromkeys(("nearest-even", "nearest-up"), mode))


def rounded_through(x: Numbers, fmt: Float) -> Numbers:
    """Numbers rounded to an IEEE format, which overflows to its infinity."""
    magnitude = np.minimum(round_to(x, fmt, nearest_even).magnitude, np.uint64(fmt.infinity_code))
    magnitude[x.kind == INFINITY] = fmt.infinity_code
    magnitude[x.kind == NAN] = fmt.nan_code
    return decode(fmt, encode(fmt, magnitude, x.sign))


def on_the_way(p: Problem, fmt: Float) -> Numbers | None:
    """The inputs rounded to a format; None where it has all of them, or where they become texts."""
    if isinstance(p.target, Text):
        return None
    if fmt not in p.rounded:
        twice = rounded_through(p.x, fmt)
        p.rounded[fmt] = None if same(p.x, twice) else twice
    return p.rounded[fmt]


def same(x: Numbers, y: Numbers) -> bool:
    """Tell whether numbers are equal, one by one, zeros of either sign apart."""
    nonzero = (x.kind == FINITE) & (x.significand != 0)
    return x.sticky is None and all(
        np.array_equal(getattr(x, name)[here], getattr(y, name)[here])
        for name, here in zip(_FIELDS, (..., ..., nonzero, x.kind == FINITE), strict=True)
    )


def through(fmt: Float) -> Bugged:
    """Rounded twice: to a format on the way first."""

    def bug(p: Problem) -> Bits | None:
        twice = on_the_way(p, fmt)
        return None if twice is None else p.denoting(twice)

    return bug


def within(fmt: Float) -> Bugged:
    """Rounded twice, but only where the number is in the normal range of the format on the way."""

    def bug(p: Problem) -> Bits | None:
        twice = on_the_way(p, fmt)
        if twice is None:
            return None
        there = (p.x.kind == FINITE) & (twice.kind == FINITE)
        there &= p.x.exponent >= 1 - fmt.bias
        fields = [np.where(there, getattr(twice, f), getattr(p.x, f)) for f in _FIELDS]
        sticky = None if p.x.sticky is None else p.x.sticky & ~there
        return p.denoting(Numbers(*fields, sticky))

    return bug


_FIELDS = ("kind", "sign", "exponent", "significand")


# Small numbers ------------------------------------------------------------------------------------


def tiny(fmt: Float, codes: Bits) -> Mask:
    """Tell which codes are subnormal."""
    magnitude = codes & codes.dtype.type(fmt.magnitude_mask)
    return np.asarray((magnitude > 0) & (magnitude >> codes.dtype.type(fmt.mantissa) == 0))


def flushed(fmt: Float, codes: Bits) -> Bits:
    """The same codes with zeros for subnormals, the sign kept where there is a -0."""
    sign = fmt.sign_bit if fmt.negative_zero else 0
    return np.where(tiny(fmt, codes), codes & codes.dtype.type(sign), codes)


def flush_results(p: Problem) -> Bits | None:
    """Subnormal results come out as zeros."""
    fmt = p.target
    return flushed(fmt, p.right) if isinstance(fmt, Float) and fmt.zero else None


def flush_inputs(p: Problem) -> Bits | None:
    """Subnormal inputs are taken for zeros."""
    fmt = p.source
    return p.seen(flushed(fmt, p.bits)) if isinstance(fmt, Float) and fmt.zero else None


def negative_zero_lost(p: Problem) -> Bits | None:
    """-0 comes out as +0."""
    fmt = p.target
    if not isinstance(fmt, Float) or not fmt.negative_zero:
        return None
    return put(p, p.right == fmt.sign_bit, 0)


# Large numbers ------------------------------------------------------------------------------------


def overflow_of_x(p: Problem) -> Bits | None:
    """x itself is compared with max where [x] should be."""

    def change(entry: CompiledRow) -> CompiledRow:
        label = entry.row.label
        bounded = label.startswith(("[x] >", "[x] <"))
        return replace(entry, test=CASES[label.replace("[x]", "x")]) if bounded else entry

    return p.tried(reworked(p.program, change)) if isinstance(p.target, Float) else None


def far(p: Problem, fmt: Float, factor: int) -> Mask:
    """Tell which inputs are finite, and beyond the destination's max times a factor."""
    return (p.x.kind == FINITE) & exceeds(p.x, fmt.max * factor)


def to_max(p: Problem, factor: int = 1) -> Bits | None:
    """Overflow gives max where infinity or NaN is right, beyond so many times max."""
    fmt = p.target
    if not isinstance(fmt, Float):
        return None
    finite = (p.right & fmt.magnitude_mask) <= fmt.max_magnitude
    if fmt.nan == "sign-only":
        finite = p.right != fmt.nan_code
    return put(p, far(p, fmt, factor) & ~finite, encoded(fmt, fmt.max_magnitude, p.x.sign))


def to_infinity(p: Problem, factor: int = 1) -> Bits | None:
    """Overflow gives infinity, or NaN where there is none, where max is right."""
    fmt = p.target
    if not isinstance(fmt, Float) or (fmt.nan == "none" and not fmt.infinity):
        return None
    beyond = p.points.rounded("nearest-even").magnitude > fmt.max_magnitude
    if fmt.infinity:
        return put(p, far(p, fmt, factor) & beyond, encoded(fmt, fmt.infinity_code, p.x.sign))
    return put(p, far(p, fmt, factor) & beyond, fmt.nan_code)


def encoded(fmt: Float, magnitude: int, sign: Mask) -> Bits:
    """Codes of one magnitude with signs."""
    return encode(fmt, np.full(len(sign), magnitude, np.uint64), sign)


def saturate(choose: Callable[[int], int]) -> Bugged:
    """The attribute `saturate` is taken for another value."""

    def bug(p: Problem) -> Bits | None:
        value = p.case.attribute("saturate")
        if value not in (0, 1) or choose(value) == value:
            return None
        attributes = dict(p.case.attributes) | {"saturate": choose(value)}
        return p.tried(p.compiled(replace(p.case, attributes=tuple(attributes.items()))))

    return bug


# Infinities and NaN -------------------------------------------------------------------------------


def nan_to_max(p: Problem) -> Bits | None:
    """NaN comes out as the largest value."""
    if isinstance(p.target, Text | Bool):
        return None
    fmt = p.target
    return put(p, p.x.kind == NAN, fmt.max_magnitude if isinstance(fmt, Float) else int(fmt.max))


def nan_to_zero(p: Problem) -> Bits | None:
    """NaN comes out as zero (as the lowest code in a format without)."""
    return None if isinstance(p.target, Text | Bool) else put(p, p.x.kind == NAN, 0)


def nan_to_false(p: Problem) -> Bits | None:
    """NaN is taken for False."""
    return put(p, p.x.kind == NAN, 0) if isinstance(p.target, Bool) else None


def infinity_to_nan(p: Problem) -> Bits | None:
    """Infinities come out as NaN."""
    fmt = p.target
    if not isinstance(fmt, Float) or fmt.nan == "none":
        return None
    return put(p, p.x.kind == INFINITY, fmt.nan_code)


def fnuz_bias(off: int) -> Bugged:
    """A FNUZ type has a wrong bias."""

    def bug(p: Problem) -> Bits | None:
        for fmt, side in ((p.target, "target"), (p.source, "source")):
            if isinstance(fmt, Float) and fmt.nan == "sign-only":
                return p.seen(p.bits, **{side: replace(fmt, bias=fmt.bias + off)})
        return None

    return bug
