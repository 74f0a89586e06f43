"""Convert tensors to the onnx package's numpy arrays, and back.

Narrow types use ml_dtypes, one element per byte. Texts are object arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convcheck.backends.onnx.model import tensor_type_number
from convcheck.backends.packing import too_large
from convcheck.backends.protocol import Outputs, Oversized
from convcheck.numerics.codes import Bits
from convcheck.numerics.format import Text
from convcheck.rules.model import Case, DType

_TEXT_KINDS = "OU"  # numpy's kinds of object and fixed-width text arrays


def to_array(dtype: DType, bits: Bits) -> NDArray[Any]:
    """View codes as onnx's numpy type."""
    if isinstance(dtype.format, Text):
        return bits
    codes = np.asarray(bits, dtype.format.storage, order="C")
    return codes.view(_numpy_type(dtype))


def plain_bits(dtype: DType, shape: tuple[int, ...]) -> Bits:
    """Return a small value of every format: the text "1", or code 1."""
    value = "1" if isinstance(dtype.format, Text) else 1
    return np.full(shape, value, dtype.format.storage)


def to_codes(array: NDArray[Any], types: Sequence[DType]) -> tuple[Bits, str]:
    """Return an array's codes and type name; numpy's name for an unknown type."""
    name = next((t.name for t in types if _is_of(array, t)), str(array.dtype))
    if array.dtype.kind in _TEXT_KINDS:
        return array.astype(object), name
    return array.view(f"u{array.dtype.itemsize}"), name


def to_answer(
    case: Case, results: Sequence[NDArray[Any]], inputs: Sequence[Bits], signless: bool = False
) -> Outputs | Oversized:
    """Return arrays as an answer, without outputs beyond the case's.

    If a runtime's integers are `signless`, they take the sign that the graph declares.
    """
    due = [*case.outputs, *case.inputs]
    own = results[: len(case.outputs)]
    if signless:
        pairs = zip(own, case.outputs, strict=False)
        own = [_signed(array, _numpy_type(dtype)) for array, dtype in pairs]
    found = [to_codes(array, due) for array in own]
    names = tuple(name for _, name in found)
    if any(too_large(bits.shape, inputs) for bits, _ in found):
        return Oversized(tuple(bits.shape for bits, _ in found), names)
    return Outputs(tuple(bits for bits, _ in found), names)


def _signed(array: NDArray[Any], due: np.dtype[Any]) -> NDArray[Any]:
    both = array.dtype.kind + due.kind
    alike = both in ("iu", "ui") and array.dtype.itemsize == due.itemsize
    return array.view(due) if alike else array


def _is_of(array: NDArray[Any], dtype: DType) -> bool:
    if isinstance(dtype.format, Text):
        return array.dtype.kind in _TEXT_KINDS
    return array.dtype == _numpy_type(dtype)


def _numpy_type(dtype: DType) -> np.dtype[Any]:
    from onnx import helper

    return np.dtype(helper.tensor_dtype_to_np_dtype(tensor_type_number(dtype)))
