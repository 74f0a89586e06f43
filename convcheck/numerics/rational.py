"""Exact arithmetic on vectors of extended reals, as fractions of Python integers.

The operations of IEEE 754-2019, 5.4.1, without rounding; clauses 6.1 to 6.3 apply, and an exact
zero sum has the sign of rounding to nearest. NaN has no payload and no meaningful sign.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from convcheck.numerics import number
from convcheck.numerics.codec import decode
from convcheck.numerics.format import Float, Int
from convcheck.numerics.modes import MODES, NEAREST, whole
from convcheck.numerics.number import FAR, FINITE, INFINITY, NAN, Numbers, normalised
from convcheck.numerics.rounding import round_to, rounded_codes

Mask = NDArray[np.bool_]
Integers = NDArray[np.object_]  # Python integers
_LENGTH = np.frompyfunc(int.bit_length, 1, 1)
_WHOLE = np.frompyfunc(whole, 3, 1)
_KEPT = 64  # bits of a significand in Numbers
_WIDEST = Int(_KEPT, signed=False)


class Parts(NamedTuple):
    """The fractions ``top * 2^exponent / bottom``, arrays of shape (n,)."""

    top: Integers  # signed; 1 or -1 if not finite
    exponent: NDArray[np.int64]
    bottom: Integers  # at least 1


@dataclass(frozen=True)
class Rational:
    """n extended reals, as arrays of shape (n,)."""

    #: FINITE, INFINITY or NAN
    kind: NDArray[np.uint8]
    sign: Mask  # zeros and infinities have a sign
    #: Numbers if 64 bits suffice
    value: Parts | Numbers

    def __len__(self) -> int:
        return len(self.kind)

    @cached_property
    def parts(self) -> Parts:
        """The numbers as fractions; a sticky bit is half of the last bit."""
        x = self.value
        if isinstance(x, Parts):
            return x
        lowest = np.bitwise_or.reduce(x.significand, initial=0)
        spare = (int(lowest) & -int(lowest)).bit_length() - 1 if lowest and x.sticky is None else 0
        top = (x.significand >> np.uint64(spare)).astype(object)
        exponent = np.where(x.significand == 0, 0, x.exponent - (63 - spare))
        if x.sticky is not None:
            top, exponent = (top << 1) | x.sticky, exponent - 1
        special = x.kind != FINITE
        if special.any():
            top, exponent = np.where(special, 1, top), np.where(special, 0, exponent)
        return Parts(np.where(x.sign, -top, top), exponent, _ones(len(x)))

    @cached_property
    def numbers(self) -> Numbers:
        """The numbers with 64 bits and a sticky bit, for a single rounding."""
        if isinstance(self.value, Numbers):
            return self.value
        top, exponent, bottom = self.value
        top, room, sticky = np.abs(top), 0, None
        if (bottom != 1).any():
            least = int(np.min(top, where=top != 0, initial=1 << _KEPT)).bit_length()
            room = _KEPT + 1 + int(bottom.max()).bit_length() - least
        wide = top << room
        quotient = wide // bottom if room else top
        try:
            short, exponent = quotient.astype(np.uint64), exponent - room
        except OverflowError:
            drop = np.maximum(np.asarray(_LENGTH(quotient), np.int64) - _KEPT, 0)
            kept = quotient >> drop
            lost = (kept << drop) * bottom != wide
            sticky = lost if lost.any() else None
            short, exponent = kept.astype(np.uint64), exponent + drop - room
        place, significand = normalised(short, 0)
        exponent = np.where(significand == 0, -FAR, place + exponent)
        exponent = np.where(self.kind != FINITE, FAR, exponent)
        return Numbers(self.kind, self.sign, exponent, significand, sticky)

    @cached_property
    def is_zero(self) -> Mask:
        """Mask of zeros."""
        x = self.value
        return np.asarray(x.top == 0 if isinstance(x, Parts) else x.significand == 0, bool)


def of_numbers(x: Numbers) -> Rational:
    """Return Numbers as Rational."""
    return Rational(x.kind, x.sign, x)


def of_fractions(values: Sequence[Fraction]) -> Rational:
    """Return exact fractions. Zeros are positive."""
    n = len(values)
    top, bottom = _ones(n), _ones(n)
    top[:] = [v.numerator for v in values]
    bottom[:] = [v.denominator for v in values]
    parts = Parts(top, np.zeros(n, np.int64), bottom)
    return Rational(np.zeros(n, np.uint8), np.asarray(top < 0, bool), parts)


def of_integer(value: int, n: int) -> Rational:
    """Return a non-negative integer, n times."""
    parts = Parts(np.full(n, value, object), np.zeros(n, np.int64), _ones(n))
    return Rational(np.zeros(n, np.uint8), np.zeros(n, bool), parts)


def to_fraction(x: Rational, index: int) -> Fraction:
    """Return the value of a finite element."""
    top, exponent, bottom = (part[index] for part in x.parts)
    return Fraction(top, bottom) * Fraction(2) ** int(exponent)


def add(a: Rational, b: Rational) -> Rational:
    """Return ``a + b``, shape (n,)."""
    (top, exponent, bottom), (top_b, exponent_b, bottom_b) = a.parts, b.parts
    low = np.minimum(exponent, exponent_b)
    total = (top << (exponent - low)) * bottom_b + (top_b << (exponent_b - low)) * bottom
    one, other = a.kind == INFINITY, b.kind == INFINITY
    sign = np.where(total == 0, a.sign & b.sign, total < 0)
    sign = np.where(one, a.sign, np.where(other, b.sign, sign))
    invalid = one & other & (a.sign != b.sign)
    return _result(a, b, sign, Parts(total, low, bottom * bottom_b), one | other, invalid)


def subtract(a: Rational, b: Rational) -> Rational:
    """Return ``a - b``."""
    return add(a, negate(b))


def multiply(a: Rational, b: Rational) -> Rational:
    """Return ``a * b``."""
    (top, exponent, bottom), (top_b, exponent_b, bottom_b) = a.parts, b.parts
    infinite = (a.kind == INFINITY) | (b.kind == INFINITY)
    parts = Parts(top * top_b, exponent + exponent_b, bottom * bottom_b)
    return _result(a, b, a.sign ^ b.sign, parts, infinite, infinite & (a.is_zero | b.is_zero))


def divide(a: Rational, b: Rational) -> Rational:
    """Return ``a / b``; nonzero / 0 is infinite, and 0 / 0 is NaN."""
    (top, exponent, bottom), (top_b, exponent_b, bottom_b) = a.parts, b.parts
    vanishing = b.kind == INFINITY
    quotient = np.where(vanishing, 0, np.where(b.sign, -top, top) * bottom_b)
    parts = Parts(quotient, exponent - exponent_b, np.where(b.is_zero, 1, np.abs(top_b)) * bottom)
    infinite = (a.kind == INFINITY) | b.is_zero
    invalid = ((a.kind == INFINITY) & vanishing) | (a.is_zero & b.is_zero)
    return _result(a, b, a.sign ^ b.sign, parts, infinite, invalid)


def negate(x: Rational) -> Rational:
    """Return ``-x``, also for zeros and infinities."""
    top, exponent, bottom = x.parts
    return Rational(x.kind, ~x.sign, Parts(-top, exponent, bottom))


def larger(a: Rational, b: Rational) -> Rational:
    """Return the elementwise maximum; NaN wins."""
    return _chosen(a, b, subtract(a, b).sign)


def smaller(a: Rational, b: Rational) -> Rational:
    """Return the elementwise minimum; NaN wins."""
    return _chosen(a, b, subtract(b, a).sign)


def compared(a: Rational, relation: str, b: Rational) -> Mask:
    """Return a mask of ``a relation b`` (`<`, `<=`, `>`, `>=`), false for NaN."""
    if relation in (">", ">="):
        return compared(b, relation.replace(">", "<"), a)
    off = subtract(a, b)
    same = off.is_zero | ((a.kind == INFINITY) & (b.kind == INFINITY) & (a.sign == b.sign))
    less = off.sign & ~same
    either = less | same if relation == "<=" else less
    return np.asarray(either & (a.kind != NAN) & (b.kind != NAN))


def chosen(holds: Mask, a: Rational, b: Rational) -> Rational:
    """Return elements of a under the mask, else of b."""
    columns = zip(*((x.kind, x.sign, *x.parts) for x in (a, b)), strict=True)
    kind, sign, top, exponent, bottom = (np.where(holds, *pair) for pair in columns)
    return Rational(kind, sign, Parts(top, exponent, bottom))


def take(x: Rational, index: NDArray[np.intp]) -> Rational:
    """Return the elements of an index array, shape (m,)."""
    if isinstance(x.value, Numbers):
        return of_numbers(number.take(x.value, index))
    top, exponent, bottom = x.value
    parts = Parts(top[index], exponent[index], bottom[index])
    return Rational(x.kind[index], x.sign[index], parts)


def end_to_end(several: Sequence[Rational]) -> Rational:
    """Concatenate vectors."""
    columns = zip(*((x.kind, x.sign, *x.parts) for x in several), strict=True)
    kind, sign, top, exponent, bottom = map(np.concatenate, columns)
    return Rational(kind, sign, Parts(top, exponent, bottom))


def rounded(x: Rational, fmt: Float, mode: str = NEAREST) -> Rational:
    """Round to a float format as `rounded_codes` does."""
    return of_numbers(decode(fmt, rounded_codes(x.numbers, fmt, mode)))


def rounded_whole(x: Rational, mode: str = NEAREST) -> Rational:
    """Round to integers; negative numbers may become -0."""
    n = x.numbers
    finite = n.kind == FINITE
    if (n.exponent[finite] < _KEPT - 1).all():
        exponent, significand = normalised(round_to(n, _WIDEST, MODES[mode]).magnitude, 0)
        exponent = np.where(finite, exponent, n.exponent)
        significand = np.where(finite, significand, n.significand)
        return of_numbers(Numbers(n.kind, n.sign, exponent, significand))
    top, exponent, bottom = x.parts
    top = _WHOLE(top << np.maximum(exponent, 0), bottom << np.maximum(-exponent, 0), mode)
    return Rational(x.kind, x.sign, Parts(top, np.zeros(len(x), np.int64), _ones(len(x))))


def _ones(n: int) -> Integers:
    return np.ones(n, object)


def _chosen(a: Rational, b: Rational, other: Mask) -> Rational:
    """Return b if `other` holds or b is NaN, else a."""
    return chosen((other & (a.kind != NAN)) | (b.kind == NAN), b, a)


def _result(
    a: Rational, b: Rational, sign: Mask, parts: Parts, infinite: Mask, invalid: Mask
) -> Rational:
    """Return a result with NaN for NaN operands and invalid operations, and infinities."""
    nan = invalid | (a.kind == NAN) | (b.kind == NAN)
    special = nan | infinite
    kind = np.where(nan, NAN, np.where(infinite, INFINITY, FINITE))
    if special.any():
        top, exponent, bottom = parts
        top = np.where(special, np.where(sign, -1, 1), top)
        parts = Parts(top, np.where(special, 0, exponent), np.where(special, 1, bottom))
    return Rational(kind, sign & ~nan, parts)
