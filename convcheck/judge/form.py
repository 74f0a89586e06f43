"""Check the form of an answer: number of outputs, types, shapes, valid codes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from convcheck.backends.protocol import Outputs, Oversized
from convcheck.numerics.codes import Bits
from convcheck.numerics.format import Format, Text
from convcheck.rules.model import Case

Complaint = tuple[str, str]  # kind and message


def form_complaint(
    answer: Outputs | Oversized, case: Case, shape: tuple[int, ...]
) -> Complaint | None:
    """Return what is malformed about an answer, None if it is well-formed."""
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
    """Return a complaint if a call's answer has arrays that are not codes, else ''."""
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
