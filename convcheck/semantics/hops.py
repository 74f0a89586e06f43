"""What becomes of numbers that go through something else on their way to the destination."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, cast

import numpy as np

from convcheck.numerics.codec import decode, encode
from convcheck.numerics.codes import Codes
from convcheck.numerics.format import Float, Format, Int, Text
from convcheck.numerics.modes import MODES
from convcheck.numerics.number import FINITE, NAN, Numbers
from convcheck.numerics.rounding import round_to
from convcheck.rules.hop import BEYOND, CARRIED_TWICE, HIDDEN_BIT, UNBOUNDED, Hop, code_width
from convcheck.semantics.hop_words import BY_WORD, KEPT_BY_WORD
from convcheck.semantics.vocabulary import COMPUTATIONS, Mask, Points, has_payload

if TYPE_CHECKING:
    from convcheck.numerics.modes import Mode


def gone_through(points: Points, hop: Hop, retyped: bool) -> Points:
    """Return points as a type holds them. If they are `retyped`, they are codes of that type from
    then on; else x alone is another number, and codes and texts stay what they are.
    """
    return points.kept((hop, retyped), lambda: _gone_through(points, hop, retyped))


def _gone_through(points: Points, hop: Hop, retyped: bool) -> Points:
    if points.part_of:
        every, index = points.part_of
        return gone_through(every, hop, retyped).at(index)
    if isinstance(hop.type, str):
        return BY_WORD[hop.type](points, hop)
    fmt = hop.type.format
    if hop.by_code and code_width(points.source) != code_width(fmt):
        return points  # of another hop: its codes are none of this type
    if hop.by_code or (fmt == points.source and (hop.subnormals == HIDDEN_BIT or hop.no_specials)):
        codes = cast(Codes, points.bits)
    elif isinstance(fmt, Float):
        fmt = _wide(fmt) if hop.subnormals == UNBOUNDED else fmt
        codes = _as_float(points, fmt, hop)
    else:
        codes = _as_integer(points, cast(Int, fmt), hop)
    if isinstance(fmt, Float) and hop.subnormals == HIDDEN_BIT:
        fmt = replace(fmt, zero=False)
    if isinstance(fmt, Float) and hop.no_specials:
        fmt = replace(fmt, nan="none", infinity=False)
    x = decode(fmt, codes)
    there = points.with_numbers(_in_normal_range(points.x, x, cast(Float, fmt), hop))
    return replace(there, source=fmt, bits=codes, _matching={}) if retyped else there


def _in_normal_range(x: Numbers, there: Numbers, fmt: Float, hop: Hop) -> Numbers:
    """Return the numbers that a type holds, and of a hop of normal numbers alone, x elsewhere."""
    if not hop.normal_only:
        return there
    here = (x.kind == FINITE) & (there.kind == FINITE)
    here &= x.exponent >= fmt.lowest_exponent + fmt.mantissa
    kept = {name: np.where(here, getattr(there, name), getattr(x, name)) for name in _FIELDS}
    return replace(x, **kept, sticky=None if x.sticky is None else x.sticky & ~here)


_FIELDS = ("kind", "sign", "exponent", "significand")


def keeps(hop: Hop, source: Format, target: Format) -> bool:
    """Return whether every number of a format goes through a hop unchanged."""
    if isinstance(hop.type, str):
        return KEPT_BY_WORD[hop.type](hop, source, target)
    if hop.subnormals or hop.no_specials or hop.by_code or isinstance(source, Text):
        return False
    fmt = hop.type.format
    if isinstance(source, Float):
        return isinstance(fmt, Float) and _has_all(fmt, source, hop.beyond)
    if isinstance(fmt, Float):
        return source.bits - source.signed <= fmt.mantissa + 1 and source.max <= fmt.max
    return not isinstance(fmt, Text) and fmt.min <= source.min and source.max <= fmt.max


def _has_all(fmt: Float, source: Float, beyond: str) -> bool:
    """Return whether a float type has every number of another one."""
    return (
        source.mantissa <= fmt.mantissa
        and source.lowest_exponent >= fmt.lowest_exponent
        and source.max <= fmt.max
        and (beyond == BEYOND[0] or not source.infinity)
    )


def _as_float(points: Points, fmt: Float, hop: Hop) -> Codes:
    """Return numbers rounded to a float. NaN stays one: quiet, with its sign and the bits of its
    payload that fit.
    """
    x, nan = points.x, points.x.kind == NAN
    if hop.subnormals == CARRIED_TWICE:
        x = _carried_twice(x, fmt, MODES[hop.round])
    most = fmt.infinity_code if hop.beyond == "infinity" else fmt.max_magnitude
    magnitude = np.minimum(round_to(x, fmt, MODES[hop.round]).magnitude, np.uint64(most))
    codes = np.where(nan, fmt.storage.type(fmt.nan_code), encode(fmt, magnitude, x.sign))
    if nan.any() and has_payload(points.source) and has_payload(fmt):
        there = Points(points.source, fmt, points.bits, x)
        kept = cast(Codes, COMPUTATIONS["payload"][0](there, "toward-zero"))
        np.bitwise_or(codes, kept, out=codes, where=nan)
    return codes


def _wide(fmt: Float) -> Float:
    """Return a float of the same precision whose exponents have room for all numbers."""
    return replace(fmt, exponent=11, bias=1023)


def _carried_twice(x: Numbers, fmt: Float, mode: Mode) -> Numbers:
    """Return numbers with those doubled that are below the least normal number, and that as many
    bits as a normal one has round up to a power of two.
    """
    wide = _wide(fmt)
    rounded = (round_to(x, wide, mode).magnitude >> np.uint64(fmt.mantissa)).astype(np.int64)
    carried = (x.significand != 0) & (rounded - wide.bias > x.exponent)
    return replace(x, exponent=x.exponent + (carried & (x.exponent < -fmt.bias)))


def _as_integer(points: Points, fmt: Int, hop: Hop) -> Codes:
    """Return numbers rounded to an integer. Of NaN that is what becomes of it: 0 where it clamps
    or wraps, and else what every number gives that the type cannot hold.
    """
    x = points.x
    low = COMPUTATIONS["wrapped"][0]
    wrapped = cast(Codes, low(Points(points.source, fmt, points.bits, x), hop.round))
    if hop.beyond == "wrap":
        return np.where(x.kind == FINITE, wrapped, fmt.storage.type(0))
    least, most = int(fmt.min) & fmt.mask, int(fmt.max)
    if hop.beyond == "clamp":
        outside = np.where(x.kind == NAN, 0, np.where(x.sign, least, most)).astype(fmt.storage)
    else:
        outside = np.full(len(x), least if fmt.signed else most, fmt.storage)
    return np.where(holds(fmt, x, hop.round), wrapped, outside)


def holds(fmt: Int, x: Numbers, mode: str) -> Mask:
    """Return which x are, once rounded, values of an integer type."""
    rounded = round_to(x, fmt, MODES[mode])
    bound = np.where(x.sign, np.uint64(-int(fmt.min)), np.uint64(int(fmt.max)))
    held = (rounded.magnitude <= bound) & (x.kind == FINITE)
    return np.asarray(held if rounded.beyond is None else held & ~rounded.beyond)
