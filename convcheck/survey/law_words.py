"""What the laws of `laws.py` are made of: functions from inputs to the answers they predict.

A law gives None where it says nothing of such formats or inputs: no law wraps an infinity. All is
integer arithmetic on codes and exact numbers, as everything that a backend is held to.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import numpy as np
from numpy.typing import NDArray

from convcheck.numerics.codec import encode
from convcheck.numerics.format import (
    Bits,
    Bool,
    Codes,
    Float,
    Format,
    Int,
    Text,
    Texts,
    is_nan,
)
from convcheck.numerics.number import FINITE, NAN
from convcheck.semantics.vocabulary import CONSTANTS, NotInFormatError, Points

Law = Callable[[Points], Bits | None]
U64 = NDArray[np.uint64]
Mask = NDArray[np.bool_]
_ZERO = np.uint64(0)


def with_one_nan(fmt: Format, got: Bits) -> Bits:
    """Return answers with every NaN as the format's canonical one."""
    if not isinstance(fmt, Float) or fmt.nan == "none":
        return got
    codes = cast(Codes, got)
    return np.where(is_nan(fmt, codes), fmt.storage.type(fmt.nan_code), codes)


# Answers that are the same whatever the input, or but for its sign.


def constant(word: str) -> Law:
    """The answer is a constant of the specs' vocabulary, where the destination has it."""
    code = CONSTANTS[word][0]

    def law(p: Points) -> Bits | None:
        try:
            return np.full(len(p.bits), code(p.target), p.target.storage)
        except NotInFormatError:
            return None

    return law


def by_sign(positive: str, negative: str) -> Law:
    """One constant for inputs without a sign and one for inputs with it; none for NaN."""

    def law(p: Points) -> Bits | None:
        one, other = constant(positive)(p), constant(negative)(p)
        if one is None or other is None or isinstance(p.target, Bool) or not p.number.all():
            return None
        return np.where(p.x.sign, other, one)

    return law


def integer_code(code: Callable[[Int], int], *, signed: bool) -> Law:
    """The answer is one code of every signed, or of every unsigned, destination."""

    def law(p: Points) -> Bits | None:
        if not isinstance(p.target, Int) or p.target.signed != signed:
            return None
        return np.full(len(p.bits), code(p.target), p.target.storage)

    return law


# Integer destinations: what the conversions of machines make of a number that is out of range.


def _whole(p: Points, mode: str) -> U64:
    """The low 64 bits of x rounded to an integer, in two's complement; x is finite."""
    rounded, far = p.rounded(mode), np.clip(p.x.exponent - 63, 0, 64).view(np.uint64)
    magnitude = rounded.magnitude
    if rounded.beyond is not None:
        shifted = p.x.significand << np.minimum(far, np.uint64(63))
        magnitude = np.where(rounded.beyond, np.where(far > 63, _ZERO, shifted), magnitude)
    return np.where(p.x.sign, _ZERO - magnitude, magnitude)


def _low(target: Int, wide: U64) -> Codes:
    return (wide & np.uint64(target.mask)).astype(target.storage)


def wrapped(mode: str) -> Law:
    """The low bits of x rounded to an integer; of no infinity and no NaN."""

    def law(p: Points) -> Bits | None:
        if not isinstance(p.target, Int) or (p.x.kind != FINITE).any():
            return None
        return _low(p.target, _whole(p, mode))

    return law


def through(bits: int, mode: str, *, clamped: bool) -> Law:
    """The low bits, sign-extended, of an integer of `bits` bits on the way. What that cannot hold
    is its smallest value (x86), or where `clamped` the nearest, and 0 for NaN (Arm).
    """
    least, most = np.uint64(2**64 - 2 ** (bits - 1)), np.uint64(2 ** (bits - 1) - 1)

    def law(p: Points) -> Bits | None:
        if not isinstance(p.target, Int):
            return None
        nearest = np.where(p.x.kind == NAN, _ZERO, np.where(p.x.sign, least, most))
        outside = nearest if clamped else least
        return _low(p.target, np.where(_holds(p, mode, most), _whole(p, mode), outside))

    return law


def _holds(p: Points, mode: str, most: np.uint64) -> Mask:
    """Return which x are, once rounded, values of the signed integer whose largest is `most`."""
    rounded = p.rounded(mode)
    held = (rounded.magnitude <= most) | (p.x.sign & (rounded.magnitude == most + np.uint64(1)))
    if rounded.beyond is not None:
        held &= ~rounded.beyond
    return np.asarray(held & (p.x.kind == FINITE))


def nonzero(p: Points) -> Bits | None:
    """Return true for every number but zero, and for NaN."""
    if isinstance(p.source, Text) or not isinstance(p.target, Bool):
        return None
    return np.asarray((p.x.significand != 0) | (p.x.kind != FINITE), np.uint8)


# Float destinations.


def rounding_law(mode: str, beyond: str, *, sign: bool) -> Law:
    """[x] by a rounding mode, with a constant beyond the largest value; without `sign`, of |x|.

    NaN gives NaN.
    """

    def law(p: Points) -> Bits | None:
        if not isinstance(p.target, Float) or not (sign or p.x.sign.any()):
            return None
        limit, nan = constant(beyond)(p), constant("nan")(p)
        if limit is None or (sign and not p.target.signed and p.x.sign.any()):
            return None
        if nan is None and not p.number.all():
            return None
        magnitude = p.rounded(mode).magnitude
        codes = _codes(p.target, magnitude, p.x.sign & sign, cast(Codes, limit))
        return codes if nan is None else np.where(p.number, codes, nan)

    return law


def _codes(fmt: Float, magnitude: U64, sign: Mask, limit: Codes) -> Codes:
    """Encode magnitudes; what has no code is the smallest, or `limit` with the sign."""
    below = magnitude >> np.uint64(63) != 0  # a format without zero counts on below its smallest
    out = ~below & (magnitude > np.uint64(fmt.max_magnitude))
    codes = encode(fmt, np.where(below | out, _ZERO, magnitude), sign)
    signed = limit | np.where(sign, fmt.storage.type(fmt.sign_bit), fmt.storage.type(0))
    return cast(Codes, with_one_nan(fmt, np.where(out, signed, codes)))


# The code itself, whatever it means.


def bits_of_code(*, high: bool = False, same: bool = False) -> Law:
    """The low (or the high) bits of the code of a wider number; `same` only of one as wide."""

    def law(p: Points) -> Bits | None:
        source, target = p.source, p.target
        if isinstance(source, Text | Bool) or isinstance(target, Text | Bool):
            return None
        drop = source.bits - target.bits
        if drop != 0 if same else drop < 1:
            return None
        codes = cast(Codes, p.bits).astype(np.uint64) >> np.uint64(drop if high else 0)
        codes &= np.uint64((1 << target.bits) - 1)
        return with_one_nan(target, codes.astype(target.storage))

    return law


# Texts.


def spelling(false: str, true: str) -> Law:
    """A bool in words."""

    def law(p: Points) -> Bits | None:
        if not isinstance(p.source, Bool) or not isinstance(p.target, Text):
            return None
        said = [true if code else false for code in cast(Codes, p.bits).tolist()]
        return np.array(said, object)

    return law


def truth(test: Callable[[str], bool]) -> Law:
    """True of texts that pass a test."""

    def law(p: Points) -> Bits | None:
        if not isinstance(p.source, Text) or not isinstance(p.target, Bool):
            return None
        return np.array([test(text) for text in cast(Texts, p.bits)], np.uint8)

    return law


def text_itself(p: Points) -> Bits | None:
    """Return a text as it is."""
    return p.bits if isinstance(p.source, Text) and isinstance(p.target, Text) else None
