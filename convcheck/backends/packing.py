"""Tensors' memory: sub-byte codes low bits first, n of w bits in ⌈n·w/8⌉ bytes; its size."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convcheck.backends.protocol import max_elements
from convcheck.numerics.codes import Bits, Codes
from convcheck.numerics.format import Bool, Numeric
from convcheck.wording import plural


def pack(fmt: Numeric, codes: Codes) -> NDArray[np.uint8]:
    """Lay codes of any shape out as a runtime's tensor memory, in C order: a 1-D array of bytes.

    Bits above the format's width are dropped; unused bits of the last byte are 0.
    """
    flat = np.ascontiguousarray(codes, fmt.storage).reshape(-1)
    if not is_packed(fmt):
        return flat.view(np.uint8)
    return _squeezed(flat, fmt.bits) if fmt.bits in _SHARING else _bitwise(flat, fmt.bits)


def unpack(fmt: Numeric, memory: NDArray[np.uint8], shape: tuple[int, ...]) -> NDArray[Any]:
    """Read codes of a shape out of a tensor's memory; a copy. Unused bits are ignored.

    Raises ValueError where the memory does not hold as many codes as the shape says.
    """
    if not is_packed(fmt):
        return memory.view(fmt.storage).reshape(shape).copy()
    count = math.prod(shape)
    if memory.size != -(-count * fmt.bits // 8):
        codes_due = f"{plural(count, 'code')} of {plural(fmt.bits, 'bit')}"
        raise ValueError(f"{plural(memory.size, 'byte')} for {codes_due}")
    if fmt.bits in _SHARING:
        codes = np.empty(memory.size * (8 // fmt.bits), np.uint8)
        _spread(memory, fmt.bits, codes)
        return codes[:count].reshape(shape)
    bits = np.unpackbits(memory, count=count * fmt.bits, bitorder="little")
    codes = np.packbits(bits.reshape(count, fmt.bits), axis=1, bitorder="little")
    return codes.reshape(shape)


def unpack_into(fmt: Numeric, memory: NDArray[np.uint8], out: Codes) -> None:
    """Read codes that share bytes into a contiguous array, as `unpack` does for its shape."""
    if fmt.bits in _SHARING and out.size * fmt.bits == memory.size * 8:
        _spread(memory, fmt.bits, out.reshape(-1))
    else:
        np.copyto(out, unpack(fmt, memory, out.shape))


def is_packed(fmt: Numeric) -> bool:
    """Return whether codes of a format share bytes: a bool has a byte of its own."""
    return fmt.bits < 8 and not isinstance(fmt, Bool)


def too_large(shape: Sequence[int], inputs: Sequence[Bits]) -> bool:
    """Return whether an output has more elements than convcheck fetches or has a runtime make.

    One that is no larger than an input is as large as it was asked to be.
    """
    size = math.prod(shape)
    for bits in inputs:
        if size <= bits.size:
            return False
    return size > max_elements()


# Codes that share a byte are moved all at once, in a word that has a byte for each of them: the
# shift by i * (8 - width) takes code i between its place in the byte and byte i of the word.
_SHARING: dict[int, tuple[np.dtype[Any], int]] = {
    4: (np.dtype("<u2"), 0x0F0F),
    2: (np.dtype("<u4"), 0x03030303),
}


def _squeezed(flat: Codes, width: int) -> NDArray[np.uint8]:
    word, mask = _SHARING[width]
    padded = np.zeros(-(-flat.size // word.itemsize) * word.itemsize, np.uint8)
    padded[: flat.size] = flat
    words = padded.view(word) & mask
    joined: NDArray[Any] = words.copy()
    for i in range(1, word.itemsize):
        joined |= words >> (i * (8 - width))
    return joined.astype(np.uint8)


def _spread(memory: NDArray[np.uint8], width: int, codes: Codes) -> None:
    word, mask = _SHARING[width]
    words = codes.view(word)
    np.copyto(words, memory)
    step = word.itemsize // 2
    while step:  # the upper half of the codes of a word, then that of either half
        words |= words << step * (8 - width)
        step //= 2
    words &= mask


def _bitwise(flat: Codes, width: int) -> NDArray[np.uint8]:
    bits = np.unpackbits(flat[:, None], axis=1, count=width, bitorder="little")
    return np.packbits(bits, bitorder="little")
