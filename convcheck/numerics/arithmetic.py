"""Exact arithmetic on arrays of numbers, and one rounding of what comes out.

The four operations of IEEE 754-2019, 5.4.1, computed in 64-bit integers: a result is right to at
least 62 bits and a sticky bit, so that one rounding to any format of up to 53 bits gives what
rounding the exact result would. Zeros, infinities and NaN go by clauses 6.1 to 6.3, the sign of
an exact zero sum as in rounding to nearest. A NaN has no sign and no payload here.

Operands are exact and have up to 53 significant bits: values of the float formats, and products
of two values of up to 26 bits each, which is what fuses a multiplication with an addition.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from convcheck.numerics.codec import decode, encode
from convcheck.numerics.codes import Codes
from convcheck.numerics.format import Float
from convcheck.numerics.modes import MODES
from convcheck.numerics.number import FAR, FINITE, INFINITY, NAN, Numbers, normalised
from convcheck.numerics.rounding import round_to, split

if TYPE_CHECKING:
    from convcheck.numerics.modes import Mode

U64 = NDArray[np.uint64]
I64 = NDArray[np.int64]
Mask = NDArray[np.bool_]
_SPARE = np.uint64((1 << 11) - 1)  # the low bits that an operand of 53 bits does not have
_HALF, _LOW = np.uint64(32), np.uint64((1 << 32) - 1)
_ONE = np.uint64(1)
_LEADING = np.uint64(1 << 63)


class InexactError(ValueError):
    """An operand that has too many bits, or is not known to its last one: it is rounded first."""


def add(a: Numbers, b: Numbers) -> Numbers:
    """Return ``a + b`` of arrays of shape (n,). Raises ValueError for operands that do not fit."""
    _check(a, b)
    swap = (b.exponent > a.exponent) | (
        (b.exponent == a.exponent) & (b.significand > a.significand)
    )
    exponent = np.where(swap, b.exponent, a.exponent)
    large, small = (np.where(s, b.significand, a.significand) for s in (swap, ~swap))
    apart = np.minimum(np.abs(a.exponent - b.exponent), 63).view(np.uint64)
    opposite = a.sign != b.sign
    total, sticky = _sum(large >> _ONE, small >> _ONE, apart, opposite)
    length, significand = normalised(total, -62)
    zero = significand == 0
    sign = np.where(zero, a.sign & b.sign, np.where(swap, b.sign, a.sign))
    infinite = (a.kind == INFINITY) | (b.kind == INFINITY)
    nan = (a.kind == INFINITY) & (b.kind == INFINITY) & opposite
    return _result(a, b, sign, exponent + length, significand, sticky, infinite, nan)


def subtract(a: Numbers, b: Numbers) -> Numbers:
    """Return ``a - b``. Raises ValueError for operands that do not fit."""
    return add(a, negate(b))


def multiply(a: Numbers, b: Numbers) -> Numbers:
    """Return ``a * b``. Raises ValueError for operands that do not fit."""
    _check(a, b)
    high, low = _product(a.significand, b.significand)
    short = high < _LEADING
    significand = np.where(short, (high << _ONE) | (low >> np.uint64(63)), high)
    sticky = np.where(short, low << _ONE, low) != 0
    exponent = a.exponent + b.exponent + ~short
    infinite = (a.kind == INFINITY) | (b.kind == INFINITY)
    nan = infinite & ((a.significand == 0) | (b.significand == 0))
    return _result(a, b, a.sign ^ b.sign, exponent, significand, sticky, infinite, nan)


def divide(a: Numbers, b: Numbers) -> Numbers:
    """Return ``a / b``; a finite number by zero is infinite, and zero by zero NaN.

    Raises ValueError for operands that do not fit.
    """
    _check(a, b)
    by_zero = b.significand == 0
    short = a.significand < b.significand
    significand, sticky = _quotient(a.significand, np.where(by_zero, _LEADING, b.significand))
    vanishing = b.kind == INFINITY
    significand, sticky = np.where(vanishing, np.uint64(0), significand), sticky & ~vanishing
    exponent = a.exponent - b.exponent - short
    both = (a.kind == INFINITY) & (b.kind == INFINITY)
    infinite = (a.kind == INFINITY) | by_zero
    nan = both | (by_zero & (a.significand == 0))
    return _result(a, b, a.sign ^ b.sign, exponent, significand, sticky, infinite, nan)


def negate(x: Numbers) -> Numbers:
    """Return ``-x``; zeros and infinities change sign too."""
    return Numbers(x.kind, ~x.sign, x.exponent, x.significand, x.sticky)


def larger(a: Numbers, b: Numbers) -> Numbers:
    """Return the larger one of each two numbers, NaN where one of them is. Raises ValueError for
    operands that do not fit.
    """
    return _chosen(a, b, subtract(a, b).sign)


def smaller(a: Numbers, b: Numbers) -> Numbers:
    """Return the smaller one of each two numbers, as `larger` does."""
    return _chosen(a, b, subtract(b, a).sign)


def _chosen(a: Numbers, b: Numbers, other: Mask) -> Numbers:
    """Return b where `other` says so, or where it is NaN; else a."""
    return chosen((other & (a.kind != NAN)) | (b.kind == NAN), b, a)


def compared(a: Numbers, relation: str, b: Numbers) -> Mask:
    """Return where two numbers compare so (`<`, `<=`, `>`, `>=`): nowhere where one is NaN. Raises
    ValueError for operands that do not fit.
    """
    if relation in (">", ">="):
        return compared(b, relation.replace(">", "<"), a)
    off = subtract(a, b)
    same = (off.significand == 0) | (
        (a.kind == INFINITY) & (b.kind == INFINITY) & (a.sign == b.sign)
    )
    less = off.sign & ~same
    either = less | same if relation == "<=" else less
    return np.asarray(either & (a.kind != NAN) & (b.kind != NAN))


def chosen(holds: Mask, a: Numbers, b: Numbers) -> Numbers:
    """Return a where something holds, else b."""
    none = np.zeros(len(holds), bool)
    one, other = (none if x.sticky is None else x.sticky for x in (a, b))
    return Numbers(
        np.where(holds, a.kind, b.kind),
        np.where(holds, a.sign, b.sign),
        np.where(holds, a.exponent, b.exponent),
        np.where(holds, a.significand, b.significand),
        None if a.sticky is b.sticky is None else np.where(holds, one, other),
    )


def rounded_whole(x: Numbers, mode: str = "nearest-even") -> Numbers:
    """Return the whole number to which a mode rounds, by default the nearest one, of two equally
    near the even one; -0 for what is negative and rounds to zero. One of more than 53 bits is to
    odd at 53, so that it can be an operand.
    """
    exponent = np.clip(x.exponent, -2, 64)
    drop = np.where(exponent > 52, 11, 63 - exponent)
    near, odd = (split(x, drop, MODES[one]) for one in (mode, "odd"))
    length, significand = normalised(np.where(exponent > 52, odd, near), 0)
    finite = x.kind == FINITE
    place = np.where(exponent > 52, x.exponent, length)
    zero = significand == 0
    return Numbers(
        x.kind,
        x.sign,
        np.where(finite, np.where(zero, -FAR, place), x.exponent),
        np.where(finite, significand, x.significand),
    )


def near_tie(x: Numbers, fmt: Float) -> Mask:
    """Return which values of a format are within one ulp of half-way between whole numbers."""
    below_point = fmt.mantissa - x.exponent
    has = (x.kind == FINITE) & (below_point > 0) & (below_point <= fmt.mantissa + 2)
    half = np.uint64(1) << np.where(has, below_point - 1, 0).astype(np.uint64)
    ulps = (x.significand >> np.uint64(63 - fmt.mantissa)) & (2 * half - np.uint64(1))
    return np.asarray(has & (np.abs(ulps.astype(np.int64) - half.astype(np.int64)) <= 1))


def rounded_codes(x: Numbers, fmt: Float, mode: str = "nearest-even") -> Codes:
    """Round to a format and encode, zeros with their signs, NaN as the format's canonical one.

    What is beyond max becomes infinity, or max where the mode does not round up from there
    (IEEE 754-2019, 7.4). Raises ValueError for a format without infinity or NaN.
    """
    if not fmt.infinity or fmt.nan == "none":
        raise ValueError("rounding overflows to infinity, which the format does not have")
    magnitude = round_to(x, fmt, MODES[mode]).magnitude
    far = magnitude > np.uint64(fmt.max_magnitude)
    if far.any():
        np.copyto(magnitude, _overflow(x.sign, fmt, MODES[mode]), where=far)
    np.copyto(magnitude, np.uint64(fmt.infinity_code), where=x.kind == INFINITY)
    np.copyto(magnitude, np.uint64(fmt.nan_code), where=x.kind == NAN)
    return encode(fmt, magnitude, x.sign)


def rounded(x: Numbers, fmt: Float, mode: str = "nearest-even") -> Numbers:
    """Round to a format, as exact numbers again; see `rounded_codes`."""
    return decode(fmt, rounded_codes(x, fmt, mode))


def _overflow(sign: Mask, fmt: Float, mode: Mode) -> U64:
    """Infinity where a mode rounds up from more than half way past max, which is odd; or max."""
    yes = np.ones(len(sign), bool)
    up = mode(sign, yes, yes, yes)
    return np.where(up, np.uint64(fmt.infinity_code), np.uint64(fmt.max_magnitude))


def _check(*operands: Numbers) -> None:
    for x in operands:
        if x.sticky is not None and x.sticky.any():
            raise InexactError("an operand is not exact: it has a sticky bit")
        if ((x.significand & _SPARE) != 0).any():
            raise InexactError("an operand has more than 53 significant bits")


def _result(
    a: Numbers,
    b: Numbers,
    sign: Mask,
    exponent: I64,
    significand: U64,
    sticky: Mask,
    infinite: Mask,
    invalid: Mask,
) -> Numbers:
    """Put specials in: NaN of a NaN or an invalid operation, then infinities, then zeros."""
    nan = invalid | (a.kind == NAN) | (b.kind == NAN)
    if infinite.any() or nan.any():
        kind = np.where(nan, NAN, np.where(infinite, INFINITY, FINITE))
        special = nan | infinite
        exponent = np.where(special, FAR, exponent)
        significand = np.where(special, _LEADING, significand)
        sticky, sign = sticky & ~special, sign & ~nan
    else:
        kind = np.zeros(len(sign), np.uint8)
    exponent = np.where(significand == 0, -FAR, exponent)
    return Numbers(kind, sign, exponent, significand, sticky if sticky.any() else None)


def _sum(large: U64, small: U64, apart: U64, opposite: Mask) -> tuple[U64, Mask]:
    """Add or take away magnitudes of which the second is `apart` binades lower.

    Both have a spare bit at the top and ten at the bottom, so that nothing is lost unless they
    are so far apart that at most one leading bit cancels.
    """
    shifted = small >> apart
    sticky = (shifted << apart) != small
    less = large - shifted - sticky.astype(np.uint64)
    return np.where(opposite, less, large + shifted), sticky


def _product(a: U64, b: U64) -> tuple[U64, U64]:
    """The 128 bits of a product, high and low half, from products of 32-bit halves."""
    ah, al, bh, bl = a >> _HALF, a & _LOW, b >> _HALF, b & _LOW
    low, cross, other = al * bl, ah * bl, al * bh
    middle = (low >> _HALF) + (cross & _LOW) + (other & _LOW)
    high = ah * bh + (cross >> _HALF) + (other >> _HALF) + (middle >> _HALF)
    return high, (middle << _HALF) | (low & _LOW)


def _quotient(a: U64, b: U64) -> tuple[U64, Mask]:
    """64 bits of ``a / b``, the leading one at the top, and whether a remainder is left.

    Long division, eleven bits at a time: a remainder is below 2^53, so that it can be shifted by
    as much. Where a is less than b it is doubled first; zero by anything is zero.
    """
    divisor = b >> np.uint64(11)
    rest = (a >> np.uint64(11)) << (a < b).astype(np.uint64)
    quotient, rest = np.divmod(rest, divisor)
    for bits in (11, 11, 11, 11, 11, 8):
        digit, rest = np.divmod(rest << np.uint64(bits), divisor)
        quotient = (quotient << np.uint64(bits)) | digit
    return quotient, rest != 0
