"""Name the kind of error of wrong answers. Failures are grouped by it."""

from collections.abc import Iterator
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from convcheck.numerics.format import Bool, Float, Format, Int, Text
from convcheck.numerics.number import Bits, Codes, is_nan, is_negative
from convcheck.numerics.order import rough_indices
from convcheck.semantics.expected import ANY_NAN, NEGATIVE_NAN, REFUSED

Mask = NDArray[np.bool_]
Index = NDArray[np.intp]
_Signed = NDArray[np.signedinteger[Any]]


class Kinds:
    """The kind of each of n answers."""

    def __init__(self, n: int, name: str) -> None:
        self.names = [name]
        self.numbers = np.zeros(n, np.uint8)

    def __setitem__(self, where: Mask, name: str) -> None:
        if not np.count_nonzero(where):  # most masks are empty; faster than any()
            return
        if name in self.names:
            np.putmask(self.numbers, where, np.uint8(self.names.index(name)))
            return
        new = where.view(np.uint8) * np.uint8(len(self.names))  # the largest number so far
        np.maximum(self.numbers, new, out=self.numbers)
        self.names.append(name)

    def by_name(self) -> Iterator[tuple[str, Index]]:
        """Yield each kind, sorted, with the indices of its answers."""
        for name in sorted(self.names):
            index = np.flatnonzero(self.numbers == self.names.index(name))
            if len(index):
                yield name, index


def kinds_of(fmt: Format, due: Bits, patterns: NDArray[np.uint8], got: Bits) -> NDArray[np.object_]:
    """Return the kind of each wrong answer, shape (n,)."""
    kinds = named_kinds(fmt, due, patterns, got)
    return np.array(kinds.names, object)[kinds.numbers]


def named_kinds(fmt: Format, due: Bits, patterns: NDArray[np.uint8], got: Bits) -> Kinds:
    """Return the kinds of wrong answers, shape (n,)."""
    default = {Text: "another text", Bool: "False instead of True"}
    kinds = Kinds(len(got), default.get(type(fmt), "another value"))
    if isinstance(fmt, Bool):
        kinds[got == 1] = "True instead of False"
    elif isinstance(fmt, Int):
        _integer_kinds(kinds, fmt, cast(Codes, due), cast(Codes, got))
    elif isinstance(fmt, Float):
        _float_kinds(kinds, fmt, cast(Codes, due), patterns, cast(Codes, got))
    kinds[patterns == REFUSED] = "an answer instead of a refusal"
    return kinds


def errors_of(fmt: Format, due: Bits, got: Bits) -> NDArray[np.float64]:
    """Return the rough error of each answer in steps of the format."""
    if isinstance(fmt, Text):
        return np.zeros(len(got))
    mine, others = (rough_indices(fmt, cast(Codes, one)) for one in (due, got))
    return np.abs(mine - others).astype(np.float64, copy=False)


def _integer_kinds(kinds: Kinds, fmt: Int, due: Codes, got: Codes) -> None:
    one, mask = due.dtype.type(1), due.dtype.type(fmt.mask)
    low, high = due.dtype.type(int(fmt.min) & fmt.mask), due.dtype.type(int(fmt.max))
    kinds[got == 0] = "zero instead of another value"
    kinds[got == low] = "the lowest value instead of another"
    kinds[got == high] = "the largest value instead of another"
    kinds[got == ((due + one) & mask)] = "off by one, too large"
    kinds[got == ((due - one) & mask)] = "off by one, too small"
    kinds[(due == high) & (got == low)] = "the lowest value instead of the largest"
    kinds[(due == low) & (got == high)] = "the largest value instead of the lowest"


def _float_kinds(
    kinds: Kinds, fmt: Float, due: Codes, patterns: NDArray[np.uint8], got: Codes
) -> None:
    magnitudes = due.dtype.type(fmt.magnitude_mask)
    signed = np.int32 if fmt.bits < 32 else np.int64  # the shortest is the fastest
    due_m: _Signed = (due & magnitudes).astype(signed)
    got_m: _Signed = (got & magnitudes).astype(signed)
    off = got_m - due_m
    kinds[off > 0] = "too large in magnitude"
    kinds[off < 0] = "too small in magnitude"
    if fmt.mantissa > 1:
        kinds[off == 1 << fmt.mantissa] = "twice the value"
        kinds[off == -1 << fmt.mantissa] = "half the value"
    kinds[off == 1] = "one ulp too large in magnitude"
    kinds[off == -1] = "one ulp too small in magnitude"
    flipped = is_negative(fmt, due) != is_negative(fmt, got)
    kinds[flipped] = "wrong sign and value"
    kinds[flipped & (off == 0)] = "wrong sign"
    kinds[flipped & (off == 0) & (due_m == 0)] = "zero with the wrong sign"
    if fmt.zero:
        kinds[(got_m == 0) & (due_m != 0)] = "zero instead of a number"
        kinds[(due_m == 0) & (got_m != 0)] = "a number instead of zero"
    if fmt.infinity:
        infinity, top = fmt.infinity_code, fmt.max_magnitude
        kinds[(due_m == infinity) & (got_m < infinity)] = "a finite number instead of infinity"
        kinds[(due_m == infinity) & (got_m == top)] = "max instead of infinity"
        kinds[(got_m == infinity) & (due_m < infinity)] = "infinity instead of a finite number"
        kinds[(got_m == infinity) & (due_m == top)] = "infinity instead of max"
    nan = is_nan(fmt, got)
    nan_due = (patterns == ANY_NAN) | (patterns == NEGATIVE_NAN)
    kinds[nan & ~nan_due] = "NaN instead of a number"
    kinds[nan_due & ~nan] = "a number instead of NaN"
    if fmt.infinity:
        kinds[nan_due & (got_m == fmt.infinity_code)] = "infinity instead of NaN"
    kinds[nan_due & (got_m == fmt.max_magnitude) & ~nan] = "max instead of NaN"
    kinds[nan_due & nan] = "NaN with the wrong sign"
