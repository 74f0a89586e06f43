"""Compare answers with readings, by element and by call."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from convcheck.backends.protocol import Outputs, Oversized
from convcheck.judge.kinds import kinds_of
from convcheck.numerics.format import Float, Format, Numeric, Text
from convcheck.numerics.number import Bits, Codes, is_nan, is_negative
from convcheck.numerics.order import order_key
from convcheck.rules.model import Case
from convcheck.semantics import expected as pattern
from convcheck.semantics.expected import (
    EXACT,
    REFUSED,
    UNDEFINED,
    CallReading,
    ExpectedCall,
    ExpectedOutput,
    Reading,
    satisfies,
)
from convcheck.streams import plural

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


Index = NDArray[np.intp]
Mask = NDArray[np.bool_]
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
    return np.asarray(order_key(fmt, cast(Codes, codes.reshape(-1)))).astype(np.int64)
