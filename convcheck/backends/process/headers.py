"""The header lines of the process protocol."""

import json
import math
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, NoReturn, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from convcheck.backends.protocol import (
    Answer,
    Declined,
    Outputs,
    Oversized,
    ProtocolError,
    Raised,
    Refused,
)
from convcheck.errors import Place, UnavailableError
from convcheck.numerics.format import Bool, Opaque, Text
from convcheck.numerics.number import Bits, Codes, Texts
from convcheck.rules.model import DType
from convcheck.streams import plural

SHOWN = 60  # characters of a quoted line
NOISE = "print diagnostics to stderr"  # hint for a line that is not a header

SMALL = 1 << 16  # bytes that are copied into one message
LITTLE = sys.byteorder == "little"


@dataclass(frozen=True)
class WireTensor:
    """A tensor in a header: `size` bytes of payload, or texts."""

    dtype: DType
    shape: tuple[int, ...]
    size: int
    texts: Texts | None = None

    def bits(self, memory: NDArray[np.uint8]) -> Bits:
        """View a payload as codes, with unused high bits cleared."""
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
    """Return the parts of a message, one if it is small."""
    arrays = [bits for dtype, bits in tensors if not isinstance(dtype.format, Text)]
    if not LITTLE:
        arrays = [bits.byteswap() for bits in arrays]
    if sum(bits.nbytes for bits in arrays) <= SMALL:
        return [b"".join((line, *(bits.tobytes() for bits in arrays)))]
    flat = (np.ascontiguousarray(bits).reshape(-1) for bits in arrays if bits.size)
    return [line, *(bits.view(np.uint8).data for bits in flat)]


def after(parts: list[bytes | memoryview], wrote: int) -> list[bytes | memoryview]:
    """Return the parts after `wrote` bytes."""
    while parts and wrote >= len(parts[0]):
        wrote -= len(parts[0])
        parts = parts[1:]
    return [memoryview(parts[0])[wrote:], *parts[1:]] if wrote else parts


def looks_like_json(line: bytes) -> bool:
    """Return whether a line was meant as a header."""
    return line.lstrip()[:1] == b"{"


def quoted_line(line: bytes) -> str:
    """Quote the beginning of a line."""
    text = line.rstrip(b"\r\n")[: 4 * SHOWN].decode(errors="backslashreplace")
    text = "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
    return f"`{text[:SHOWN]}…`" if len(text) > SHOWN else f"`{text}`"


def wrong(message: str, hint: str) -> NoReturn:
    """Raise ProtocolError."""
    raise ProtocolError(message, hint=hint)


VERSION = 1
HELLO = b'{"hello": 1}\n'
KINDS = ("outputs", "declined", "refused", "oversized", "error")
_WIDTHS = 1, 2, 4, 8  # bytes of a code

T = TypeVar("T")
Size = Annotated[int, msgspec.Meta(ge=0)]
Types = Mapping[str, DType]


class Welcome(msgspec.Struct, frozen=True):
    """The answer to hello, or why the runtime is unavailable."""

    hello: int
    name: str | None = None
    version: str | None = None
    native: str = ""  # the runtime that gets native requests
    unavailable: str | None = None

    def __str__(self) -> str:
        return f"{self.name} {self.version}"


class TensorEntry(msgspec.Struct, frozen=True):
    """A tensor whose bytes follow. Texts are in `values`."""

    type: str
    shape: tuple[Size, ...]
    bytes: Size
    values: tuple[str, ...] | None = None


class OversizedEntry(msgspec.Struct, frozen=True):
    """A tensor that is too large to send."""

    type: str
    shape: tuple[Size, ...]


class Hello(msgspec.Struct, frozen=True):
    """A greeting, if it has a version."""

    hello: int | None = None


class RequestHeader(msgspec.Struct, frozen=True):
    """A request for a case."""

    run: int
    case: str
    inputs: tuple[TensorEntry, ...]


class AnswerHeader(msgspec.Struct, frozen=True):
    """An answer with one of KINDS."""

    run: int
    outputs: tuple[TensorEntry, ...] | None = None
    declined: str | None = None
    refused: str | None = None
    oversized: tuple[OversizedEntry, ...] | None = None
    error: str | None = None
    missing: bool = False
    restart: bool = False


def read_header(line: bytes, kind: type[T], pipe: str = "stdout") -> T:
    """Parse a header line. Raises ProtocolError."""
    try:
        return msgspec.json.decode(line, type=kind)
    except (ValueError, RecursionError):
        found = _parsed(line, pipe)  # reports columns, and accepts half surrogate pairs
    try:
        return msgspec.convert(found, kind)
    except msgspec.ValidationError as error:
        hint = "docs/protocol.md has the keys of each line, and their types"
        wrong(f"wrong header ({error}): {quoted_line(line)}", hint)


def _parsed(line: bytes, pipe: str) -> object:
    found = None
    try:
        found = json.loads(line)
    except (ValueError, RecursionError) as error:
        if looks_like_json(line):
            hint = "a header is a JSON object on one line, in UTF-8"
            wrong(f"wrong JSON ({error}): {quoted_line(line)}", hint)
    if not isinstance(found, dict):
        due = "an answer" if pipe == "stdout" else "a request"
        came = quoted_line(line) if line.strip() else "an empty line"
        wrong(f"{pipe} had {came}, which is not {due}", NOISE)
    return found


def read_welcome(line: bytes) -> Welcome:
    """Parse the answer to hello. Raises ProtocolError or UnavailableError."""
    found = read_header(line, Welcome)
    if found.hello != VERSION:
        wrong(f"hello is answered with version {found.hello}, not {VERSION}: {quoted_line(line)}",
              'answer {"hello": 1, "name": "mine", "version": "1.0"}')  # fmt: skip
    if found.unavailable is not None:
        raise UnavailableError(found.unavailable)
    for key in ("name", "version"):
        if getattr(found, key) is None:
            wrong(f"the answer to hello has no `{key}`: {quoted_line(line)}", f'"{key}": "…"')
    return found


def read_answer(
    line: bytes, run: int, types: Types, *, own_types: bool = False
) -> tuple[Answer | tuple[WireTensor, ...], bool]:
    """Parse the answer to request `run`: an answer or its tensors, and the restart flag.

    With `own_types`, outputs may have types outside the specs. Raises ProtocolError.
    """
    found = read_header(line, AnswerHeader)
    if found.run == run - 1:
        wrong(f"run {found.run} is answered twice: {quoted_line(line)}",
              "answer each request exactly once")  # fmt: skip
    if found.run != run:
        late = "late" if found.run < run else "it was not asked yet"
        wrong(f"answers run {found.run} when run {run} was asked: {late}",
              "answer requests in order")  # fmt: skip
    kinds = [kind for kind in KINDS if getattr(found, kind) is not None]
    if len(kinds) != 1:
        has = " and ".join(kinds) or "no outputs, nor why there are none"
        wrong(f"the answer has {has}: {quoted_line(line)}", f"it has one of {', '.join(KINDS)}")
    restart = found.restart or kinds == ["error"]
    if found.outputs is not None:
        entries = enumerate(found.outputs, 1)
        return tuple(
            read_tensor(entry, types, f"output {n}", own_types=own_types) for n, entry in entries
        ), restart
    for n, entry in enumerate(found.oversized or (), 1):
        _type(entry.type, types, f"output {n}", own_types)
    return without_tensors(found), restart


def without_tensors(found: AnswerHeader) -> Answer:
    """Return an answer without outputs."""
    if found.declined is not None:
        return Declined(found.declined, found.missing)
    if found.refused is not None:
        return Refused(found.refused)
    if found.error is not None:
        return Raised(found.error)
    left = found.oversized or ()
    return Oversized(tuple(t.shape for t in left), tuple(t.type for t in left))


def read_tensor(
    entry: TensorEntry, types: Types, what: str, *, own_types: bool = False
) -> WireTensor:
    """Return the tensor of an entry, `what` in messages. Raises ProtocolError.

    With `own_types`, a type outside the specs is known by its width.
    """
    count = math.prod(entry.shape)
    dtype = _type(entry.type, types, what, own_types, entry.bytes // count if count else 1)
    due = 0 if isinstance(dtype.format, Text) else count * dtype.format.storage.itemsize
    if entry.bytes != due:
        elements = f"{plural(count, 'element')} of {dtype} (shape {list(entry.shape)})"
        wrong(
            f"{what} is {plural(entry.bytes, 'byte')}, but {elements} take {plural(due, 'byte')}",
            "`bytes` is the number of elements times the size of one",
        )
    if not isinstance(dtype.format, Text):
        return WireTensor(dtype, entry.shape, due)
    values = entry.values or ()
    if len(values) != count:
        said = f"{what} has {plural(len(values), 'value')}, not {count}"
        wrong(f"{said} (shape {list(entry.shape)})", "`values` has the strings, in C order")
    texts: Texts = np.empty(count, object)
    texts[:] = values
    return WireTensor(dtype, entry.shape, 0, texts.reshape(entry.shape))


def _type(name: str, types: Types, what: str, own_types: bool, width: int = 1) -> DType:
    if name in types:
        return types[name]
    if not own_types:
        wrong(f"{what} has the unknown type {name!r}", "`convcheck show types` has the names")
    return DType(name, Opaque(8 * width if width in _WIDTHS else 8), (), Place("", 0))


def write_header(header: Mapping[str, object]) -> bytes:
    """Return a header line."""
    return f"{json.dumps(header)}\n".encode()


def write_answer(
    run: int, answer: Answer, types: Types, *, restart: bool
) -> list[bytes | memoryview]:
    """Return an answer as a message. Raises TypeError for a malformed one."""
    more = {"restart": True} if restart else {}
    if not isinstance(answer, Outputs):
        return [write_header({"run": run, **_without_payload(answer), **more})]
    pairs = [
        _stored(name, types, bits) for name, bits in zip(answer.types, answer.arrays, strict=True)
    ]
    entries = [describe(*pair) for pair in pairs]
    return message(write_header({"run": run, "outputs": entries, **more}), pairs)


def _without_payload(answer: Answer) -> Mapping[str, object]:
    if isinstance(answer, Raised):
        return {"error": answer.message}
    if isinstance(answer, Refused):
        return {"refused": answer.message}
    if isinstance(answer, Declined):
        missing = {"missing": True} if answer.missing else {}
        return {"declined": answer.message, **missing}
    if isinstance(answer, Oversized):
        pairs = zip(answer.types, answer.shapes, strict=True)
        return {"oversized": [{"type": name, "shape": shape} for name, shape in pairs]}
    raise TypeError(f"the answer is a {type(answer).__name__}, not tensors")


def _stored(name: str, types: Types, bits: Bits) -> tuple[DType, Bits]:
    if name not in types:
        raise TypeError(f"the answer has the type {name}, which convcheck does not know")
    dtype = types[name]
    if not isinstance(bits, np.ndarray) or bits.dtype != dtype.format.storage:
        kind = getattr(bits, "dtype", type(bits).__name__)
        raise TypeError(f"codes as {kind}, not {dtype.format.storage}, for {dtype}")
    return dtype, bits
