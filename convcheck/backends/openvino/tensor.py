"""OpenVINO's tensors as raw bits, both ways.

Every numeric type's memory is read and written as bytes: numpy has no bfloat16 and float8, and
types below eight bits are packed, low bits first (those of one bit: high bits first), the pad bits
whatever the runtime left there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from convcheck.backends.openvino.graph import WORLD, element_type
from convcheck.backends.packing import is_packed, pack, too_large, unpack
from convcheck.backends.protocol import Outputs, Oversized
from convcheck.numerics.codes import Bits
from convcheck.numerics.format import Numeric, Text
from convcheck.rules.model import Case, DType

if TYPE_CHECKING:
    from openvino import Tensor


def feed(dtype: DType, bits: Bits) -> Tensor:
    """Make a tensor of codes (or texts) of any shape."""
    import openvino

    if isinstance(dtype.format, Text):
        return openvino.Tensor(np.array(bits.tolist(), np.str_).reshape(bits.shape))
    tensor = openvino.Tensor(element_type(dtype.name_in(WORLD)), openvino.Shape(bits.shape))
    memory = pack(dtype.format, np.asarray(bits, dtype.format.storage))
    _memory(tensor)[:] = _turned(dtype.format, memory)
    return tensor


def copy(tensor: Tensor, target: Tensor) -> None:
    """Copy a tensor's shape and bits to a tensor of the same type."""
    if target.shape != tensor.shape:
        target.set_shape(tensor.shape)
    _memory(target)[:] = _memory(tensor)


class Names:
    """The types by OpenVINO's names: a case's own before others of the same name."""

    def __init__(self, types: Iterable[DType]) -> None:
        self._all = {dtype.name_in(WORLD): dtype for dtype in types}

    def find(self, case: Case, name: str) -> DType | None:
        """Find a type by OpenVINO's name; None for one that convcheck does not have."""
        for dtype in (*case.outputs, *case.inputs):
            if dtype.name_in(WORLD) == name:
                return dtype
        return self._all.get(name)

    def known(self, case: Case, names: Sequence[str]) -> tuple[str, ...]:
        """Return convcheck's names for OpenVINO's, and OpenVINO's where there is none."""
        found = [self.find(case, name) for name in names]
        return tuple(
            dtype.name if dtype else name for name, dtype in zip(names, found, strict=True)
        )


def fetch(
    case: Case, tensors: Sequence[Tensor], inputs: Sequence[Bits], names: Names
) -> Outputs | Oversized:
    """Read tensors in their own shapes, and name their types: of an unknown one, the bytes."""
    own = [tensor.element_type.to_string() for tensor in tensors]
    huge = oversized(case, own, [tuple(tensor.shape) for tensor in tensors], inputs, names)
    if huge:
        return huge
    codes = (_codes(t, names.find(case, name)) for t, name in zip(tensors, own, strict=True))
    return Outputs(tuple(codes), names.known(case, own))


def oversized(
    case: Case,
    types: Sequence[str],
    shapes: Sequence[tuple[int, ...]],
    inputs: Sequence[Bits],
    names: Names,
) -> Oversized | None:
    """Answer with shapes and types (given in OpenVINO's names) where an output is too large."""
    if any(too_large(shape, inputs) for shape in shapes):
        return Oversized(tuple(shapes), names.known(case, types))
    return None


def _codes(tensor: Tensor, dtype: DType | None) -> Bits:
    if dtype is None:
        return _memory(tensor).copy()
    shape = tuple(tensor.shape)
    if isinstance(dtype.format, Text):
        return np.asarray(tensor.str_data, object).reshape(shape)
    return unpack(dtype.format, _turned(dtype.format, _memory(tensor)), shape)


def _turned(fmt: Numeric, memory: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return memory with the bits of each byte from the other end, where codes have one bit."""
    if not (is_packed(fmt) and fmt.bits == 1):
        return memory
    return np.packbits(np.unpackbits(memory, bitorder="little"), bitorder="big")


def _memory(tensor: Tensor) -> NDArray[Any]:
    """View a numeric tensor's memory as bytes: good only while the tensor lives."""
    return np.asarray(tensor.data).reshape(-1).view(np.uint8)
