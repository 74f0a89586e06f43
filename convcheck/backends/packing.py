"""The memory of tensors. Sub-byte codes are packed low bits first."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convcheck.backends.protocol import max_elements
from convcheck.numerics.format import Bool, Numeric
from convcheck.numerics.number import Bits, Codes
from convcheck.streams import plural


def pack(fmt: Numeric, codes: Codes) -> NDArray[np.uint8]:
    """Pack codes of any shape into tensor memory: a 1-D byte array in C order, padded with 0."""
    flat = np.ascontiguousarray(codes, fmt.storage).reshape(-1)
    if not is_packed(fmt):
        return flat.view(np.uint8)
    if 8 % fmt.bits:
        bits = np.unpackbits(flat[:, None], axis=1, count=fmt.bits, bitorder="little")
        return np.packbits(bits, bitorder="little")
    each = 8 // fmt.bits  # codes per byte
    padded = np.zeros(-(-flat.size // each) * each, np.uint8)
    np.bitwise_and(flat, (1 << fmt.bits) - 1, out=padded[: flat.size])
    memory = padded[::each].copy()
    for i in range(1, each):
        memory |= padded[i::each] << np.uint8(i * fmt.bits)
    return memory


def unpack(fmt: Numeric, memory: NDArray[np.uint8], shape: tuple[int, ...]) -> NDArray[Any]:
    """Unpack codes of a shape from tensor memory, as a copy. Raises ValueError for a wrong size."""
    if not is_packed(fmt):
        return memory.view(fmt.storage).reshape(shape).copy()
    count = math.prod(shape)
    if memory.size != -(-count * fmt.bits // 8):
        codes_due = f"{plural(count, 'code')} of {plural(fmt.bits, 'bit')}"
        raise ValueError(f"{plural(memory.size, 'byte')} for {codes_due}")
    if 8 % fmt.bits == 0:
        codes = np.empty(memory.size * (8 // fmt.bits), np.uint8)
        _spread(memory, fmt.bits, codes)
        return codes[:count].reshape(shape)
    bits = np.unpackbits(memory, count=count * fmt.bits, bitorder="little")
    codes = np.packbits(bits.reshape(count, fmt.bits), axis=1, bitorder="little")
    return codes.reshape(shape)


def unpack_into(fmt: Numeric, memory: NDArray[np.uint8], out: Codes) -> None:
    """Unpack sub-byte codes into a contiguous array."""
    if 8 % fmt.bits == 0 and out.size * fmt.bits == memory.size * 8:
        _spread(memory, fmt.bits, out.reshape(-1))
    else:
        np.copyto(out, unpack(fmt, memory, out.shape))


def is_packed(fmt: Numeric) -> bool:
    """Return whether codes share bytes. Bools take a byte each."""
    return fmt.bits < 8 and not isinstance(fmt, Bool)


def too_large(shape: Sequence[int], inputs: Sequence[Bits]) -> bool:
    """Return whether an output exceeds the limit of elements and every input."""
    size = math.prod(shape)
    for bits in inputs:
        if size <= bits.size:
            return False
    return size > max_elements()


def _spread(memory: NDArray[np.uint8], width: int, codes: Codes) -> None:
    each = 8 // width
    for i in range(each):
        np.right_shift(memory, i * width, out=codes[i::each])
    codes &= (1 << width) - 1
