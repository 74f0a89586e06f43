"""Messages of the process protocol: JSON header lines, and tensors as raw bytes.

A line of JSON is followed by the bytes of its tensors, in order, without padding, little-endian, in
C order. Types below a byte have one element per byte, in its low bits. Texts are in the header.
`schema.json` describes the headers.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from convcheck.backends.protocol import ProtocolError
from convcheck.numerics.codes import Bits, Codes, Texts
from convcheck.numerics.format import Bool, Text
from convcheck.rules.model import DType

SHOWN = 60  # characters of a quoted line
NOISE = "print diagnostics to stderr"  # hint for a line that is not a header

SMALL = 1 << 16  # bytes that are copied into one message
LITTLE = sys.byteorder == "little"


@dataclass(frozen=True)
class WireTensor:
    """A tensor in a header: `size` bytes of payload, or its texts."""

    dtype: DType
    #: () for a scalar.
    shape: tuple[int, ...]
    size: int
    texts: Texts | None = None

    def bits(self, memory: NDArray[np.uint8]) -> Bits:
        """Return the codes in a payload, without a copy. Unused high bits are cleared."""
        fmt = self.dtype.format
        if isinstance(fmt, Text):
            assert self.texts is not None  # noqa: S101
            return self.texts
        codes: Codes = memory.view(fmt.storage).reshape(self.shape)
        if not LITTLE:
            codes.byteswap(inplace=True)
        if fmt.bits < 8 and not isinstance(fmt, Bool):
            codes &= codes.dtype.type((1 << fmt.bits) - 1)
        return codes


def describe(dtype: DType, bits: Bits) -> dict[str, object]:
    """Return a tensor's header entry."""
    entry = {"type": dtype.name, "shape": bits.shape}
    if isinstance(dtype.format, Text):
        return {**entry, "bytes": 0, "values": bits.reshape(-1).tolist()}
    return {**entry, "bytes": bits.nbytes}


def message(line: bytes, tensors: Iterable[tuple[DType, Bits]]) -> list[bytes | memoryview]:
    """Return the parts of a message. A small message is one part."""
    arrays = [bits for dtype, bits in tensors if not isinstance(dtype.format, Text)]
    if not LITTLE:
        arrays = [bits.byteswap() for bits in arrays]
    if sum(bits.nbytes for bits in arrays) <= SMALL:
        return [b"".join((line, *(bits.tobytes() for bits in arrays)))]
    flat = (np.ascontiguousarray(bits).reshape(-1) for bits in arrays if bits.size)
    return [line, *(bits.view(np.uint8).data for bits in flat)]


def after(parts: list[bytes | memoryview], wrote: int) -> list[bytes | memoryview]:
    """Return the parts that remain after `wrote` bytes."""
    while parts and wrote >= len(parts[0]):
        wrote -= len(parts[0])
        parts = parts[1:]
    return [memoryview(parts[0])[wrote:], *parts[1:]] if wrote else parts


def looks_like_json(line: bytes) -> bool:
    """Return whether a line was meant as a header."""
    return line.lstrip()[:1] == b"{"


def quoted_line(line: bytes) -> str:
    """Quote the beginning of a line of any bytes."""
    text = line.rstrip(b"\r\n")[: 4 * SHOWN].decode(errors="backslashreplace")
    text = "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
    return f"`{text[:SHOWN]}…`" if len(text) > SHOWN else f"`{text}`"


def size_of(dtype: DType, count: int) -> int:
    """Return the payload size of `count` elements in bytes."""
    return 0 if isinstance(dtype.format, Text) else count * dtype.format.storage.itemsize


def wrong(message: str, hint: str) -> NoReturn:
    """Raise ProtocolError."""
    raise ProtocolError(message, hint=hint)
