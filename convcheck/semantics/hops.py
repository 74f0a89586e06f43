"""Hops of numbers on their way to the destination."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

from convcheck.numerics.codec import decode, encode
from convcheck.numerics.format import Bool, Float, Format, Int, Text
from convcheck.numerics.modes import MODES
from convcheck.numerics.number import FAR, FINITE, NAN, Codes, Numbers, Texts, normalised
from convcheck.numerics.rounding import round_to
from convcheck.numerics.words import DECIMAL
from convcheck.rules.hop import (
    ALIGNED,
    BEYOND,
    BITS,
    CARRIED_TWICE,
    HIDDEN_BIT,
    IEEE,
    LEAST,
    MAGNITUDE,
    MODULO,
    NEGATED,
    POWER,
    SCALE,
    TEXTS,
    UNBOUNDED,
    WHOLE,
    Hop,
    code_width,
)
from convcheck.semantics.vocabulary import COMPUTATIONS, Mask, Points, has_payload

if TYPE_CHECKING:
    from convcheck.numerics.modes import Mode


def _whole(points: Points, hop: Hop) -> Numbers:
    """Numbers keep their sign: -0.25 may become -0."""
    x = points.x
    magnitude = round_to(x, Int(64, signed=False), MODES[hop.round]).magnitude
    exponent, significand = normalised(magnitude, 0)
    fraction = (x.exponent < 63) & (x.kind == FINITE)
    return replace(
        x,
        exponent=np.where(fraction, exponent, x.exponent),
        significand=np.where(fraction, significand, x.significand),
        sticky=None,
    )


def _scaled(points: Points, hop: Hop) -> Numbers:
    x = points.x
    moved = (x.kind == FINITE) & (x.significand != 0)
    return replace(x, exponent=np.where(moved, x.exponent + hop.number, x.exponent))


def _shifted_modulo(points: Points, hop: Hop) -> Numbers:
    """Shift to the destination's subnormals, by a count modulo a number."""
    x, least = points.x, _least_normal(cast(Float, points.target))
    stored = np.maximum(x.exponent, _least_normal(cast(Float, points.source)))
    count = np.where((x.kind == FINITE) & (x.significand != 0), least - stored, 0)
    back = np.where(count > 0, count - count % hop.number, 0)
    return replace(x, exponent=x.exponent + back)


def _least_normal(fmt: Float) -> int:
    return fmt.lowest_exponent + fmt.mantissa


def _aligned(points: Points, hop: Hop) -> Numbers:
    """Drop the bits that a significand loses when shifted to a subnormal."""
    source, target = cast(Float, points.source), cast(Float, points.target)
    lowest = _least_normal(target) - source.mantissa
    return _cut(points.x, np.maximum(points.x.exponent - source.mantissa, lowest))


def _cut(x: Numbers, unit: NDArray[np.int64]) -> Numbers:
    """Drop the bits below a unit 2^n."""
    drop = np.clip(unit - x.exponent + 63, 0, 64).view(np.uint64)
    significand = (x.significand >> drop) << drop
    lost = (significand == 0) & (x.kind == FINITE)
    return replace(
        x,
        exponent=np.where(lost, -FAR, x.exponent),
        significand=np.where(x.kind == FINITE, significand, x.significand),
        sticky=None if x.sticky is None else x.sticky & (drop == 0),
    )


def _with_least(points: Points, hop: Hop) -> Numbers:
    """Replace numbers below a power of two, and -0, by +0."""
    x = points.x
    little = (x.kind == FINITE) & ((x.significand == 0) | (x.exponent < hop.number))
    return replace(
        x,
        sign=x.sign & ~little,
        exponent=np.where(little, -FAR, x.exponent),
        significand=np.where(little, np.uint64(0), x.significand),
        sticky=None if x.sticky is None else x.sticky & ~little,
    )


def with_ieee_specials(fmt: Format) -> Format:
    """Return a float with infinities and NaNs instead of the largest exponent."""
    return replace(fmt, nan="ieee", infinity=True) if isinstance(fmt, Float) else fmt


def _times_power(points: Points, hop: Hop) -> Numbers:
    """Read decimal texts as an integer times a power of ten, in float64."""
    if not isinstance(points.source, Text):
        return points.x
    texts = np.empty(len(points.bits), object)
    texts[:] = list(map(_product, cast(Texts, points.bits)))
    return decode(points.source, texts)


def _product(text: str) -> str:
    found = DECIMAL.fullmatch(text)
    if found is None or not (found[2] or found[3]):
        return text
    sign, whole, fraction, power = (part or "" for part in found.groups())
    exponent = int(power or 0) - len(fraction)
    try:
        number = float(int(whole + fraction)) * float(f"1e{exponent}")
    except OverflowError:  # more digits than a float64 has
        return text
    return sign + format(Decimal(number), "f")


def _reread(points: Points, hop: Hop) -> Points:
    source, bits = with_ieee_specials(points.source), points.bits.copy()
    for pattern, words in hop.texts:
        bits[:] = [re.sub(pattern, words, text) for text in cast(Texts, bits)]
    there = points.with_numbers(decode(source, bits))
    return replace(there, source=source, bits=bits, _matching={})


BY_WORD: Mapping[str, Callable[[Points, Hop], Numbers]] = {
    WHOLE: _whole,
    MAGNITUDE: lambda points, hop: replace(points.x, sign=np.zeros_like(points.x.sign)),
    NEGATED: lambda points, hop: replace(
        points.x, sign=points.x.sign ^ (points.x.significand != 0)
    ),
    ALIGNED: _aligned,
    POWER: _times_power,
    SCALE: _scaled,
    MODULO: _shifted_modulo,
    BITS: lambda points, hop: _cut(points.x, points.x.exponent - (hop.number - 1)),
    LEAST: _with_least,
}


def _bits_keep(hop: Hop, source: Format, target: Format) -> bool:
    if isinstance(source, Float):
        return source.mantissa < hop.number
    return (64 if isinstance(source, Text) else source.bits - source.signed) <= hop.number


def _shifts_keep(hop: Hop, source: Format, target: Format) -> bool:
    if not (isinstance(source, Float) and isinstance(target, Float) and target.zero):
        return True
    count = _least_normal(target) - _least_normal(source)
    return count <= 0 if hop.type == ALIGNED else count < hop.number


# whether a word leaves all numbers of a source unchanged on the way to a destination
KEPT_BY_WORD: Mapping[str, Callable[[Hop, Format, Format], bool]] = {
    WHOLE: lambda hop, source, target: isinstance(source, Int | Bool),
    MAGNITUDE: lambda hop, source, target: not (isinstance(source, Text) or source.signed),
    NEGATED: lambda hop, source, target: False,
    ALIGNED: _shifts_keep,
    IEEE: lambda hop, source, target: not isinstance(source, Float) or source.nan == "ieee",
    POWER: lambda hop, source, target: not isinstance(source, Text),
    SCALE: lambda hop, source, target: False,
    MODULO: _shifts_keep,
    BITS: _bits_keep,
    LEAST: lambda hop, source, target: isinstance(source, Int | Bool) and hop.number <= 0,
    TEXTS: lambda hop, source, target: not isinstance(source, Text),
}


def gone_through(points: Points, hop: Hop, retyped: bool) -> Points:
    """Return points as a type holds them: as its codes if `retyped`, else only with another x."""
    return points.kept((hop, retyped), lambda: _gone_through(points, hop, retyped))


def _gone_through(points: Points, hop: Hop, retyped: bool) -> Points:
    if points.part_of:
        every, index = points.part_of
        return gone_through(every, hop, retyped).at(index)
    if isinstance(hop.type, str):
        if hop.type in (IEEE, TEXTS):
            return _reread(points, hop)
        return points.with_numbers(BY_WORD[hop.type](points, hop))
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
    if not hop.normal_only:
        return there
    here = (x.kind == FINITE) & (there.kind == FINITE)
    here &= x.exponent >= fmt.lowest_exponent + fmt.mantissa
    kept = {name: np.where(here, getattr(there, name), getattr(x, name)) for name in _FIELDS}
    return replace(x, **kept, sticky=None if x.sticky is None else x.sticky & ~here)


_FIELDS = ("kind", "sign", "exponent", "significand")


def keeps(hop: Hop, source: Format, target: Format) -> bool:
    """Whether a hop leaves all numbers of a format unchanged."""
    if isinstance(hop.type, str):
        return KEPT_BY_WORD[hop.type](hop, source, target)
    if hop.subnormals or hop.no_specials or hop.by_code or isinstance(source, Text):
        return False
    fmt = hop.type.format
    if isinstance(source, Float):
        held = isinstance(fmt, Float) and fmt.has_all(source)
        return held and (hop.beyond == BEYOND[0] or not source.infinity)
    if isinstance(fmt, Float):
        return source.bits - source.signed <= fmt.mantissa + 1 and source.max <= fmt.max
    return not isinstance(fmt, Text) and fmt.min <= source.min and source.max <= fmt.max


def _as_float(points: Points, fmt: Float, hop: Hop) -> Codes:
    """NaN becomes quiet and keeps its sign and leading payload bits."""
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
    """The same precision, with room for all exponents."""
    return replace(fmt, exponent=11, bias=1023)


def _carried_twice(x: Numbers, fmt: Float, mode: "Mode") -> Numbers:
    """Double numbers below the least normal one that round up to a power of two."""
    wide = _wide(fmt)
    rounded = (round_to(x, wide, mode).magnitude >> np.uint64(fmt.mantissa)).astype(np.int64)
    carried = (x.significand != 0) & (rounded - wide.bias > x.exponent)
    return replace(x, exponent=x.exponent + (carried & (x.exponent < -fmt.bias)))


def _as_integer(points: Points, fmt: Int, hop: Hop) -> Codes:
    """NaN gives 0 if the hop clamps or wraps, else its value for overflow."""
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
    """Return a mask of x that round to values of an integer type."""
    rounded = round_to(x, fmt, MODES[mode])
    bound = np.where(x.sign, np.uint64(-int(fmt.min)), np.uint64(int(fmt.max)))
    held = (rounded.magnitude <= bound) & (x.kind == FINITE)
    return np.asarray(held if rounded.beyond is None else held & ~rounded.beyond)
