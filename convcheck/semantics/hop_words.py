"""What becomes of numbers, codes and texts that go through something that is no type."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from decimal import Decimal
from typing import cast

import numpy as np
from numpy.typing import NDArray

from convcheck.numerics.codec import decode
from convcheck.numerics.codes import Codes, Texts
from convcheck.numerics.decimal import DECIMAL
from convcheck.numerics.format import Bool, Float, Format, Int, Numeric, Text
from convcheck.numerics.modes import MODES
from convcheck.numerics.number import FAR, FINITE, normalised
from convcheck.numerics.rounding import round_to
from convcheck.rules.hop import (
    ALIGNED,
    BITS,
    IEEE,
    LEAST,
    MAGNITUDE,
    MODULO,
    NEGATED,
    POWER,
    SCALE,
    TEXTS,
    WHOLE,
    Hop,
)
from convcheck.semantics.vocabulary import Points


def _whole(points: Points, hop: Hop) -> Points:
    """Return numbers rounded to whole ones, which keep their sign: -0.25 may become -0."""
    x = points.x
    magnitude = round_to(x, Int(64, signed=False), MODES[hop.round]).magnitude
    exponent, significand = normalised(magnitude, 0)
    fraction = (x.exponent < 63) & (x.kind == FINITE)
    return points.with_numbers(
        replace(
            x,
            exponent=np.where(fraction, exponent, x.exponent),
            significand=np.where(fraction, significand, x.significand),
            sticky=None,
        )
    )


def _magnitude(points: Points, hop: Hop) -> Points:
    """Return numbers without their sign."""
    return points.with_numbers(replace(points.x, sign=np.zeros_like(points.x.sign)))


def _negated(points: Points, hop: Hop) -> Points:
    """Return numbers with the other sign, but for zeros."""
    x = points.x
    return points.with_numbers(replace(x, sign=x.sign ^ (x.significand != 0)))


def _scaled(points: Points, hop: Hop) -> Points:
    """Return numbers times a power of two."""
    x = points.x
    moved = (x.kind == FINITE) & (x.significand != 0)
    exponent = np.where(moved, x.exponent + hop.number, x.exponent)
    return points.with_numbers(replace(x, exponent=exponent))


def _shifted_modulo(points: Points, hop: Hop) -> Points:
    """Return numbers as they are shifted to the place of the destination's subnormals by a count
    that is taken modulo a number. Subnormals have the exponent that they are stored with.
    """
    x, least = points.x, _least_normal(cast(Float, points.target))
    stored = np.maximum(x.exponent, _least_normal(cast(Float, points.source)))
    count = np.where((x.kind == FINITE) & (x.significand != 0), least - stored, 0)
    back = np.where(count > 0, count - count % hop.number, 0)
    return points.with_numbers(replace(x, exponent=x.exponent + back))


def _least_normal(fmt: Float) -> int:
    return fmt.lowest_exponent + fmt.mantissa


def _short(points: Points, hop: Hop) -> Points:
    """Return numbers with so many significant bits."""
    return _cut(points, points.x.exponent - (hop.number - 1))


def _aligned(points: Points, hop: Hop) -> Points:
    """Return numbers without what a significand of the source's width loses when it is shifted to
    the place of the destination's subnormals.
    """
    source, target = cast(Float, points.source), cast(Float, points.target)
    lowest = _least_normal(target) - source.mantissa
    return _cut(points, np.maximum(points.x.exponent - source.mantissa, lowest))


def _cut(points: Points, unit: NDArray[np.int64]) -> Points:
    """Return numbers without their bits below a unit 2^n, each its own."""
    x = points.x
    drop = np.clip(unit - x.exponent + 63, 0, 64).view(np.uint64)
    significand = (x.significand >> drop) << drop
    lost = (significand == 0) & (x.kind == FINITE)
    sticky = None if x.sticky is None else x.sticky & (drop == 0)
    cut = replace(
        x,
        exponent=np.where(lost, -FAR, x.exponent),
        significand=np.where(x.kind == FINITE, significand, x.significand),
        sticky=sticky,
    )
    return points.with_numbers(cut)


def _with_least(points: Points, hop: Hop) -> Points:
    """Return numbers with +0 in the place of those below a power of two, and of -0."""
    x = points.x
    little = (x.kind == FINITE) & ((x.significand == 0) | (x.exponent < hop.number))
    flushed = replace(
        x,
        sign=x.sign & ~little,
        exponent=np.where(little, -FAR, x.exponent),
        significand=np.where(little, np.uint64(0), x.significand),
        sticky=None if x.sticky is None else x.sticky & ~little,
    )
    return points.with_numbers(flushed)


def with_ieee_specials(fmt: Format) -> Format:
    """Return a float with infinities and NaNs in the place of those with the largest exponent."""
    return replace(fmt, nan="ieee", infinity=True) if isinstance(fmt, Float) else fmt


def _ieee(points: Points, hop: Hop) -> Points:
    """Return codes read as those of such a float."""
    fmt = cast(Numeric, with_ieee_specials(points.source))
    there = points.with_numbers(decode(fmt, cast(Codes, points.bits)))
    return replace(there, source=fmt, _matching={})


def _times_power(points: Points, hop: Hop) -> Points:
    """Return decimal texts as float64 numbers: the digits as an integer, times a power of ten, each
    rounded.
    """
    if not isinstance(points.source, Text):
        return points
    texts = np.empty(len(points.bits), object)
    texts[:] = list(map(_product, cast(Texts, points.bits)))
    return points.with_numbers(decode(points.source, texts))


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


def _retold(points: Points, hop: Hop) -> Points:
    """Return texts with other words in the place of what patterns match."""
    texts = np.empty(len(points.bits), object)
    texts[:] = [_with_other_words(text, hop) for text in cast(Texts, points.bits)]
    there = points.with_numbers(decode(points.source, texts))
    return replace(there, bits=texts, _matching={})


def _with_other_words(text: str, hop: Hop) -> str:
    for pattern, words in hop.texts:
        text = re.sub(pattern, words, text)
    return text


#: A word -> what it makes of points.
BY_WORD: Mapping[str, Callable[[Points, Hop], Points]] = {
    WHOLE: _whole,
    MAGNITUDE: _magnitude,
    NEGATED: _negated,
    ALIGNED: _aligned,
    IEEE: _ieee,
    POWER: _times_power,
    SCALE: _scaled,
    MODULO: _shifted_modulo,
    BITS: _short,
    LEAST: _with_least,
    TEXTS: _retold,
}


def _significant(source: Format) -> int:
    """Return how many significant bits the numbers of a format have at most."""
    if isinstance(source, Float):
        return source.mantissa + 1
    return 64 if isinstance(source, Text) else source.bits - source.signed


def _aligned_keeps(hop: Hop, source: Format, target: Format) -> bool:
    if not (isinstance(source, Float) and isinstance(target, Float) and target.zero):
        return True
    return source.lowest_exponent >= _least_normal(target) - source.mantissa


def _modulo_keeps(hop: Hop, source: Format, target: Format) -> bool:
    if not (isinstance(source, Float) and isinstance(target, Float) and target.zero):
        return True
    return _least_normal(target) - _least_normal(source) < hop.number


#: A word -> whether it leaves all numbers of a source what they are, on the way to a destination.
KEPT_BY_WORD: Mapping[str, Callable[[Hop, Format, Format], bool]] = {
    WHOLE: lambda hop, source, target: isinstance(source, Int | Bool),
    MAGNITUDE: lambda hop, source, target: not (isinstance(source, Text) or source.signed),
    NEGATED: lambda hop, source, target: False,
    ALIGNED: _aligned_keeps,
    IEEE: lambda hop, source, target: not isinstance(source, Float) or source.nan == "ieee",
    POWER: lambda hop, source, target: not isinstance(source, Text),
    SCALE: lambda hop, source, target: False,
    MODULO: _modulo_keeps,
    BITS: lambda hop, source, target: _significant(source) <= hop.number,
    LEAST: lambda hop, source, target: isinstance(source, Int | Bool) and hop.number <= 0,
    TEXTS: lambda hop, source, target: not isinstance(source, Text),
}
