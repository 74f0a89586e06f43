"""Compare answers with readings, by element and by call, and name kinds of error."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from convcheck.backends.protocol import Outputs, Oversized
from convcheck.numerics.format import Bool, Float, Format, Int, Numeric, Text
from convcheck.numerics.number import Bits, Codes, is_nan, is_negative
from convcheck.numerics.order import order_key, rough_indices
from convcheck.rules.model import Case
from convcheck.semantics import expected as pattern
from convcheck.semantics.expected import (
    ANY_NAN,
    EXACT,
    NEGATIVE_NAN,
    REFUSED,
    UNDEFINED,
    CallReading,
    ExpectedCall,
    ExpectedOutput,
    Reading,
    satisfies,
)
from convcheck.streams import plural

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


Complaint = tuple[str, str]


def form_complaint(
    answer: Outputs | Oversized, case: Case, shape: tuple[int, ...]
) -> Complaint | None:
    """Return what is malformed about an answer, if anything."""
    if isinstance(answer, Oversized):
        return "wrong shape", f"{answer.shapes[0]}, not {shape}"
    if len(answer.arrays) != len(case.outputs):
        return "wrong number of outputs", f"{len(answer.arrays)}, not {len(case.outputs)}"
    due = [dtype.name for dtype in case.outputs]
    if [*answer.types] != due:
        return "wrong type", f"{', '.join(answer.types)}, not {', '.join(due)}"
    for array, dtype in zip(answer.arrays, case.outputs, strict=True):
        if array.dtype != dtype.format.storage:
            return "wrong type", f"codes as {array.dtype}, not {dtype.format.storage}"
        if array.shape != shape:
            return "wrong shape", f"{array.shape}, not {shape}"
    return None


def codes_complaint(answer: Outputs) -> str:
    """Return a complaint about outputs that are not codes, else ''."""
    return next((f"codes as {a.dtype}" for a in answer.arrays if a.dtype.kind != "u"), "")


def strangers(fmt: Format, codes: Bits) -> NDArray[np.bool_] | None:
    """Return a mask of invalid codes, None if all are valid."""
    if isinstance(fmt, Text):
        strange = np.array([not isinstance(text, str) for text in codes], bool)
    elif fmt.bits == 8 * fmt.storage.itemsize:
        return None
    else:
        strange = np.asarray(codes >= codes.dtype.type(1 << fmt.bits))
    return strange if np.count_nonzero(strange) else None


Returned = Outputs | Oversized


def matching(reading: Reading, got: Bits, fmt: Format, source: Format, inputs: Bits) -> Mask:
    """Return a mask of answers that satisfy a reading, shape (n,).

    The reading has shape () if it expects the same of all elements.
    """
    exact = reading.patterns == EXACT
    right: Mask = np.asarray(np.logical_and(got == reading.codes, exact), bool)
    if np.count_nonzero(exact) == exact.size:
        return right

    def accept(wanted: int, fit: Callable[[], Mask]) -> None:
        here = reading.patterns == wanted
        if np.count_nonzero(here):
            np.logical_or(right, fit() & here, out=right)

    accept(UNDEFINED, lambda: np.ones(got.shape, bool))
    if isinstance(fmt, Text):
        for i in np.flatnonzero(reading.patterns >= pattern.PLAIN_TO_X):
            code, wanted = int(cast(Codes, inputs)[i]), int(reading.patterns[i])
            right[i] = satisfies(wanted, str(got[i]), cast(Numeric, source), code)
    elif isinstance(fmt, Float):
        codes = cast(Codes, got)
        accept(pattern.ANY_NAN, lambda: is_nan(fmt, codes))
        accept(pattern.NEGATIVE_NAN, lambda: is_nan(fmt, codes) & is_negative(fmt, codes))
        accept(pattern.ANY_ZERO, lambda: (codes & codes.dtype.type(fmt.magnitude_mask)) == 0)
    return right


@dataclass(frozen=True)
class Difference:
    """The difference between an answer and a reading.

    `distance` orders answers by closeness: outputs and types, then shapes, then elements. `where`
    is (output, element), with element -1 for a type or shape. `wrong` counts elements.
    """

    #: The kind of error, in words; '' if only elements differ (see `kind_of_elements`).
    kind: str
    distance: tuple[int, int, int]
    where: tuple[int, int] | None = None
    wrong: int = 0
    #: The indices of wrong elements of each output.
    elements: tuple[Index, ...] = ()


def difference(reading: CallReading, got: Returned) -> Difference | None:
    """Return the difference between an answer and a reading, if any."""
    if reading.pattern == UNDEFINED:
        return None
    if reading.pattern == REFUSED:
        return Difference("an answer instead of a refusal", (4, 0, 0))
    shapes = shapes_of(got)
    if len(shapes) != len(reading.outputs):
        kind = f"{plural(len(shapes), 'output')} instead of {len(reading.outputs)}"
        return Difference(kind, (3, 0, 0))
    if len(got.types) != len(shapes):
        kind = f"{plural(len(shapes), 'output')} of {plural(len(got.types), 'type')}"
        return Difference(kind, (3, 0, 0))
    for output, due in enumerate(reading.outputs):
        name, shape = got.types[output], shapes[output]
        if name != due.dtype.name:
            return Difference(f"{name} instead of {due.dtype}", (2, 0, 0), (output, -1))
        if shape != due.shape:
            if len(shape) != 1 or len(due.shape) != 1:
                return Difference("wrong shape", (1, 1 << 62, 0), (output, -1))
            longer = shape[0] - due.shape[0]
            kind = "too many elements" if longer > 0 else "too few elements"
            kind = {1: "one element too many", -1: "one element too few"}.get(longer, kind)
            if shape[0] == 0:
                kind = "empty; elements were expected"
            wrong = 0
            if isinstance(got, Outputs) and got.arrays[output].dtype == due.dtype.format.storage:
                common = min(shape[0], due.shape[0])
                wrong = int((~_right(due, got.arrays[output], common)).sum())
            return Difference(kind, (1, abs(longer), wrong), (output, -1))
    if isinstance(got, Oversized):
        return None
    elements: tuple[Index, ...] = ()
    for due, array in zip(reading.outputs, got.arrays, strict=True):
        if _has_codes(due, array):
            strange = strangers(due.dtype.format, array.reshape(-1))
            bad = ~_right(due, array, array.size) if strange is None else strange
            elements = (*elements, np.flatnonzero(bad))
        else:
            elements = (*elements, np.arange(max(array.size, 1)))
    first = next(((i, int(bad[0])) for i, bad in enumerate(elements) if len(bad)), None)
    wrong = sum(map(len, elements))
    return Difference("", (0, 0, wrong), first, wrong, elements) if first else None


def _has_codes(due: ExpectedOutput, array: Bits) -> bool:
    return array.dtype == due.dtype.format.storage


def shapes_of(got: Returned) -> tuple[tuple[int, ...], ...]:
    """Return the shape of each output."""
    return got.shapes if isinstance(got, Oversized) else tuple(a.shape for a in got.arrays)


def _right(due: ExpectedOutput, got: Bits, count: int) -> Mask:
    reading = Reading(due.codes[:count], due.patterns[:count])
    flat = got.reshape(-1)[:count]
    return matching(reading, flat, due.dtype.format, due.dtype.format, reading.codes)


def kind_of_elements(reading: CallReading, got: Outputs, elements: Sequence[Index]) -> str:
    """Return the kind of error of wrong elements."""
    kinds: set[str] = set()
    for due, array, bad in zip(reading.outputs, got.arrays, elements, strict=True):
        fmt, flat = due.dtype.format, array.reshape(-1)
        if not _has_codes(due, array):
            kinds.add(f"codes as {array.dtype}")
        elif strangers(fmt, flat) is not None:
            kinds.add("not a code of the type")
        else:
            kinds |= set(kinds_of(fmt, due.codes[bad], due.patterns[bad], flat[bad]))
    return kinds.pop() if len(kinds) == 1 else "wrong elements of several kinds"


def closest(expected: ExpectedCall, got: Returned) -> tuple[CallReading, Difference | None]:
    """Return the closest reading, and the difference unless it matches."""
    found: list[tuple[CallReading, Difference]] = []
    for reading in expected.readings:
        off = difference(reading, got)
        if off is None:
            return reading, None
        found.append((reading, off))
    return min(found, key=lambda pair: pair[1].distance)


def beyond(expected: ExpectedCall, got: Returned) -> tuple[Index, ...] | None:
    """Return the indices outside the range of all readings, by output; None without a range.

    The range spans readings of the answer's shape, widened by one ulp.
    """
    if not (expected.between and isinstance(got, Outputs)):
        return None
    alike = []
    for reading in expected.readings:
        form = [(due.dtype.name, due.shape) for due in reading.outputs]
        if reading.pattern == EXACT and form == list(zip(got.types, shapes_of(got), strict=True)):
            alike.append(reading.outputs)
    outside = []
    for dues, array in zip(zip(*alike, strict=True), got.arrays, strict=False):
        fmt = dues[0].dtype.format
        if not (isinstance(fmt, Float) and _has_codes(dues[0], array)):
            return None
        key, keys = _key(fmt, array), np.stack([_key(fmt, due.codes) for due in dues])
        inside = (key >= keys.min(axis=0) - 1) & (key <= keys.max(axis=0) + 1)
        inside |= np.stack([due.patterns == UNDEFINED for due in dues]).any(axis=0)
        inside |= np.stack([_right(due, array, array.size) for due in dues]).any(axis=0)
        outside.append(np.flatnonzero(~inside))
    return tuple(outside) or None


def is_between(expected: ExpectedCall, got: Returned) -> bool:
    """Return whether every element lies within the range of all readings."""
    outside = beyond(expected, got)
    return outside is not None and not any(map(len, outside))


def _key(fmt: Numeric, codes: Bits) -> NDArray[Any]:
    return order_key(fmt, cast(Codes, codes.reshape(-1)))
