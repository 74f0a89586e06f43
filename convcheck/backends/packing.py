"""Tensors' memory: sub-byte codes low bits first, n of w bits in ⌈n·w/8⌉ bytes; its size."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convcheck.backends.protocol import max_elements
from convcheck.numerics.format import Bits, Bool, Codes, Numeric


def pack(fmt: Numeric, codes: Codes) -> NDArray[np.uint8]:
    """Lay codes of any shape out as a runtime's tensor memory, in C order: a 1-D array of bytes.

    Bits above the format's width are dropped; unused bits of the last byte are 0.
    """
    flat = np.ascontiguousarray(codes, fmt.storage).reshape(-1)
    if not _packed(fmt):
        return flat.view(np.uint8)
    bits = np.unpackbits(flat[:, None], axis=1, count=fmt.bits, bitorder="little")
    return np.packbits(bits, bitorder="little")


def unpack(fmt: Numeric, memory: NDArray[np.uint8], shape: tuple[int, ...]) -> NDArray[Any]:
    """Read codes of a shape out of a tensor's memory; a copy. Unused bits are ignored.

    Raises ValueError where the memory does not hold as many codes as the shape says.
    """
    if not _packed(fmt):
        return memory.view(fmt.storage).reshape(shape).copy()
    count = int(np.prod(shape, dtype=np.int64))
    if memory.size != -(-count * fmt.bits // 8):
        raise ValueError(f"{memory.size} bytes for {count} codes of {fmt.bits} bits")
    bits = np.unpackbits(memory, count=count * fmt.bits, bitorder="little")
    codes = np.packbits(bits.reshape(count, fmt.bits), axis=1, bitorder="little")
    return codes.reshape(shape)


def too_large(shape: Sequence[int], inputs: Sequence[Bits]) -> bool:
    """Tell whether an output has more elements than convcheck fetches or has a runtime make.

    One that is no larger than an input is as large as it was asked to be.
    """
    size = math.prod(shape)
    return all(size > bits.size for bits in inputs) and size > max_elements()


def _packed(fmt: Numeric) -> bool:
    return fmt.bits < 8 and not isinstance(fmt, Bool)  # a bool has a byte of its own
