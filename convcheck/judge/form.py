"""Whether an answer has the form it must have, before anyone looks at its values."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from convcheck.backends.protocol import Outputs, Oversized
from convcheck.numerics.codes import Bits
from convcheck.numerics.format import Format, Text
from convcheck.rules.model import Case, DType

Complaint = tuple[str, str]  # kind and message


def form_complaint(answer: object, case: Case, shape: tuple[int, ...]) -> Complaint | None:
    """Say what is wrong with an answer as a whole, None where it is well-formed."""
    if isinstance(answer, Outputs) and len(case.outputs) == 1 and _fits(answer, case, shape):
        return None
    if isinstance(answer, Oversized):
        return "wrong shape", f"{answer.shapes[0]}, not {shape}"
    if not isinstance(answer, Outputs) or not isinstance(answer.arrays, Sequence):
        return "wrong type", f"the answer is a {type(answer).__name__}, not tensors"
    if len(answer.arrays) != len(case.outputs):
        return "wrong number of outputs", f"{len(answer.arrays)}, not {len(case.outputs)}"
    if tuple(answer.types) != tuple(t.name for t in case.outputs):
        want = ", ".join(t.name for t in case.outputs)
        return "wrong type", f"{', '.join(map(str, answer.types))}, not {want}"
    found = (_of_array(a, t, shape) for a, t in zip(answer.arrays, case.outputs, strict=True))
    return next((one for one in found if one), None)


def loose_form(answer: object, case: Case, shape: tuple[int, ...]) -> str:
    """Say in what form an answer came of a case that the text leaves out, where it has another one
    than the case states: that is no fault. '' for every other case and answer.
    """
    complaint = form_complaint(answer, case, shape) if case.outside else None
    return f"answered: {complaint[0]}, {complaint[1]}" if complaint else ""


def _fits(answer: Outputs, case: Case, shape: tuple[int, ...]) -> bool:
    """Return whether an answer is plainly well-formed, as nearly all are: quick to find out."""
    (wanted,) = case.outputs
    if type(answer.arrays) is not tuple or answer.types != (wanted.name,):
        return False
    if len(answer.arrays) != 1 or type(answer.arrays[0]) is not np.ndarray:
        return False
    return answer.arrays[0].dtype == wanted.format.storage and answer.arrays[0].shape == shape


def _of_array(array: object, dtype: DType, shape: tuple[int, ...]) -> Complaint | None:
    if not isinstance(array, np.ndarray):
        return "wrong type", f"the output is a {type(array).__name__}, not a tensor"
    if array.dtype != dtype.format.storage:
        return "wrong type", f"codes as {array.dtype}, not {dtype.format.storage}"
    if array.shape != shape:
        return "wrong shape", f"{array.shape}, not {shape}"
    return None


def strangers(fmt: Format, codes: Bits) -> NDArray[np.bool_] | None:
    """Return which entries of an array are no codes of the format; None where every one is."""
    if isinstance(fmt, Text):
        strange = np.array([not isinstance(text, str) for text in codes], bool)
    elif fmt.bits == 8 * fmt.storage.itemsize:
        return None
    else:
        strange = np.asarray(codes >= codes.dtype.type(1 << fmt.bits))
    return strange if np.count_nonzero(strange) else None
