"""What both ends of the process protocol share: JSON header lines, and tensors as raw bytes.

A message is a line of JSON and then the bytes of its tensors, one after the other, without
padding, in the order of the header, little-endian, in C order. A type narrower than a byte has an
element a byte, in its low bits; texts are in the header. `schema.json` has the headers.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from convcheck.backends.protocol import ProtocolError
from convcheck.errors import Place
from convcheck.numerics.codes import Bits, Codes, Texts
from convcheck.numerics.format import Bool, Opaque, Text
from convcheck.rules.model import DType
from convcheck.wording import plural

VERSION = 1
HELLO = b'{"hello": 1}\n'
SHOWN = 60  # characters of a line that is quoted
NOISE = "print diagnostics to stderr"  # what to do about a line that is no header

SMALL = 1 << 16  # bytes that are copied rather than handed on
LITTLE = sys.byteorder == "little"
_WIDTHS = 1, 2, 4, 8  # bytes that a code may have
LONGEST_KEPT, MOST_KEPT = 1 << 10, 1 << 12  # bytes of a header, and headers

T = TypeVar("T")
Header = dict[str, Any]


@dataclass(frozen=True)
class WireTensor:
    """A tensor as a header describes it: `size` bytes of payload, or its texts."""

    dtype: DType
    #: The tensor's shape, () for a scalar.
    shape: tuple[int, ...]
    size: int
    texts: Texts | None = None

    def bits(self, memory: NDArray[np.uint8]) -> Bits:
        """Read the codes out of the payload's memory, uncopied; unused high bits are cleared."""
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


def describe(dtype: DType, bits: Bits, start: str = "{") -> str:
    """Write the header's entry for a tensor; `start` is `{`, or an entry's beginning."""
    shape = ", ".join(map(str, bits.shape))
    if isinstance(dtype.format, Text):
        values = json.dumps(bits.reshape(-1).tolist())
        return (
            f'{start}"type": "{dtype.name}", "shape": [{shape}], "bytes": 0, "values": {values}}}'
        )
    return f'{start}"type": "{dtype.name}", "shape": [{shape}], "bytes": {bits.nbytes}}}'


def message(line: str, tensors: Iterable[tuple[DType, Bits]]) -> list[bytes | memoryview]:
    """Make a message of a header line and its tensors: in one piece, unless that is large."""
    arrays = [bits for dtype, bits in tensors if not isinstance(dtype.format, Text)]
    if not LITTLE:
        arrays = [bits.byteswap() for bits in arrays]
    if sum(bits.nbytes for bits in arrays) <= SMALL:
        return [b"".join((line.encode(), *(bits.tobytes() for bits in arrays)))]
    flat = (np.ascontiguousarray(bits).reshape(-1) for bits in arrays if bits.size)
    return [line.encode(), *(bits.view(np.uint8).data for bits in flat)]


def after(parts: list[bytes | memoryview], wrote: int) -> list[bytes | memoryview]:
    """Return what is left to write of a message, of which so many bytes were written."""
    while parts and wrote >= len(parts[0]):
        wrote -= len(parts[0])
        parts = parts[1:]
    return [memoryview(parts[0])[wrote:], *parts[1:]] if wrote else parts


def split_run(line: bytes) -> tuple[int | None, bytes]:
    """Take the run off a header that begins with it; None where another key is the first."""
    start, comma, rest = line.partition(b",")
    number = start.removeprefix(b'{"run": ')
    if not comma or not number.isdigit() or len(number) == len(start):
        return None, line
    return int(number), rest


def remember(known: dict[bytes, T], rest: bytes, value: T) -> None:
    """Keep what a header's rest meant, unless it is long; what is too much is forgotten."""
    if len(rest) <= LONGEST_KEPT:
        if len(known) >= MOST_KEPT:
            known.clear()
        known[rest] = value


def read_request(line: bytes) -> Header:
    """Parse the header line of a request. Raises ProtocolError for what is no JSON object."""
    try:
        header = json.loads(line)
    except ValueError as error:
        raise ProtocolError(
            f"not JSON: {quoted_line(line)}", hint=f"a request is one line of JSON: {error}"
        ) from None
    if not isinstance(header, dict):
        wrong(f"no request: {quoted_line(line)}", "a request is a JSON object on one line")
    return header


def read_header(line: bytes) -> Header:
    """Parse the header line of an answer. Raises ProtocolError for what is no JSON object."""
    try:
        found = json.loads(line)
    except UnicodeDecodeError:
        if not looks_like_json(line):
            _noise(line)
        wrong(f"not UTF-8: {quoted_line(line)}", "a header line is JSON in UTF-8")
    except RecursionError:
        wrong(f"nested too deep: {quoted_line(line)}", "a header line is a flat JSON object")
    except ValueError as error:
        if not looks_like_json(line):
            _noise(line)
        where = f"{error.msg}, column {error.colno}" if isinstance(error, json.JSONDecodeError) \
            else str(error)  # fmt: skip
        wrong(f"wrong JSON ({where}): {quoted_line(line)}", "a header is a JSON object on one line")
    if not isinstance(found, dict):
        _noise(line)
    return found


def _noise(line: bytes) -> NoReturn:
    what = quoted_line(line) if line.strip() else "an empty line"
    wrong(f"stdout had {what}, which is not an answer", NOISE)


def looks_like_json(line: bytes) -> bool:
    """Return whether a line was meant as a header."""
    return line.lstrip()[:1] == b"{"


def quoted_line(line: bytes) -> str:
    """Quote the beginning of a line, whatever its bytes are."""
    text = line.rstrip(b"\r\n")[: 4 * SHOWN].decode(errors="backslashreplace")
    text = "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
    return f"`{text[:SHOWN]}…`" if len(text) > SHOWN else f"`{text}`"


def read_tensor(
    entry: object,
    types: Mapping[str, DType],
    what: str,
    *,
    sized: bool = True,
    own_types: bool = False,
) -> WireTensor:
    """Read the header's entry for a tensor. Raises ProtocolError; `what` names the tensor.

    A tensor that is not `sized` has neither bytes nor values: it is not sent. With `own_types` it
    may have a type of the runtime's own, of which no more than the width is known.
    """
    if not isinstance(entry, dict):
        wrong(f"{what} is {json.dumps(entry)[:SHOWN]}, not an object", "type, shape and bytes")
    name = string_of(entry, "type", what)
    if name not in types and not own_types:
        wrong(f"{what} has the unknown type {name!r}", "`convcheck list types` has the names")
    shape = _shape(entry, what)
    dtype = types[name] if name in types else _own_type(name, entry, math.prod(shape))
    if not sized:
        return WireTensor(dtype, shape, 0)
    size, count = entry.get("bytes"), math.prod(shape)
    if isinstance(size, bool) or not isinstance(size, int) or size < 0:
        wrong(f"{what} has no number of `bytes`", f'"bytes": {_size(dtype, count)}')
    if size != _size(dtype, count):
        elements = f"{plural(count, 'element')} of {name} (shape {list(shape)})"
        due = plural(_size(dtype, count), "byte")
        wrong(
            f"{what} is {plural(size, 'byte')}, but {elements} take {due}",
            "`bytes` is the number of elements times the size of one",
        )
    texts = _texts(entry, shape, what) if isinstance(dtype.format, Text) else None
    return WireTensor(dtype, shape, size, texts)


def _own_type(name: str, entry: Header, count: int) -> DType:
    """Return a type that no spec has, as wide as the elements of a tensor."""
    size = entry.get("bytes")
    width = size // count if count and isinstance(size, int) else 1
    return DType(name, Opaque(8 * width if width in _WIDTHS else 8), (), Place("", 0))


def _size(dtype: DType, count: int) -> int:
    return 0 if isinstance(dtype.format, Text) else count * dtype.format.storage.itemsize


def _shape(entry: Header, what: str) -> tuple[int, ...]:
    shape = entry.get("shape")
    good = isinstance(shape, list) and all(type(n) is int and n >= 0 for n in shape)
    if not good:
        wrong(f"{what} has no `shape`, a list of whole numbers", '"shape": [] is a scalar')
    return tuple(cast(list[int], shape))


def _texts(entry: Header, shape: tuple[int, ...], what: str) -> Texts:
    values, count = entry.get("values"), math.prod(shape)
    if not isinstance(values, list) or not all(isinstance(v, str) for v in values):
        wrong(f"{what} has no `values`, a list of strings", "strings are sent in the header")
    if len(values) != count:
        wrong(f"{what} has {plural(len(values), 'value')}, not {count} (shape {list(shape)})",
               "one for each element, in C order")  # fmt: skip
    texts: Texts = np.empty(count, object)
    texts[:] = values
    return texts.reshape(shape)


def string_of(header: Header, key: str, what: str) -> str:
    """Read a string. Raises ProtocolError; `what` names what should have it."""
    if not isinstance(header.get(key), str):
        wrong(f"{what} has no `{key}`, a string", f'"{key}": "…"')
    return str(header[key])


def list_of(header: Header, key: str) -> Sequence[object]:
    """Read a list that is there. Raises ProtocolError."""
    if not isinstance(header[key], list):
        wrong(f"`{key}` of the answer is not a list", f'"{key}": [{{"type": …, "shape": …}}]')
    return cast(Sequence[object], header[key])


def flag(header: Header, key: str) -> bool:
    """Read a flag, false where it is left out. Raises ProtocolError."""
    value = header.get(key, False)
    if not isinstance(value, bool):
        wrong(
            f"`{key}` of the answer is {json.dumps(value)[:SHOWN]}", "write true, or leave it out"
        )
    return bool(value)


def wrong(message: str, hint: str) -> NoReturn:
    """Raise the ProtocolError of a message and what to do."""
    raise ProtocolError(message, hint=hint)
