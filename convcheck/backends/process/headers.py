"""The header lines of the process protocol: the answer to hello, and answers to requests."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from convcheck.backends.process.wire import (
    VERSION,
    Header,
    WireTensor,
    describe,
    flag,
    list_of,
    message,
    quoted_line,
    read_header,
    read_tensor,
    remember,
    split_run,
    string_of,
    wrong,
)
from convcheck.backends.protocol import (
    Answer,
    Declined,
    Outputs,
    Oversized,
    Raised,
    Refused,
)
from convcheck.errors import UnavailableError
from convcheck.numerics.codes import Bits
from convcheck.rules.model import DType

KINDS = ("outputs", "declined", "refused", "oversized", "error")


@dataclass(frozen=True)
class Said:
    """An answer's header: an answer without tensors, or the tensors to come.

    `restart`: the program asks to be started anew before the next request.
    """

    answer: Answer | None
    tensors: tuple[WireTensor, ...] = ()
    restart: bool = False

    @cached_property
    def types(self) -> tuple[str, ...]:
        """The names of the tensors' types."""
        return tuple(t.dtype.name for t in self.tensors)

    @cached_property
    def named(self) -> tuple[tuple[str, WireTensor], ...]:
        """The tensors, each with what people call it."""
        return tuple((f"output {n}", t) for n, t in enumerate(self.tensors, 1))


@dataclass(frozen=True)
class Welcome:
    """The answer to hello: the program's name and version."""

    name: str
    version: str
    #: The runtime whose own questions it is to be sent with each request, '' for none.
    native: str = ""

    def __str__(self) -> str:
        return f"{self.name} {self.version}"


def read_welcome(line: bytes) -> Welcome:
    """Read the answer to hello. Raises ProtocolError, and UnavailableError where it says that its
    runtime cannot be asked.
    """
    header = read_header(line)
    if header.get("hello") != VERSION or isinstance(header["hello"], bool):
        said = f"version {json.dumps(header['hello'])}" if "hello" in header else "no version"
        wrong(f"hello is answered with {said}, not {VERSION}: {quoted_line(line)}",
              'answer {"hello": 1, "name": "mine", "version": "1.0"}')  # fmt: skip
    what = f"the answer to hello, {quoted_line(line)},"
    if "unavailable" in header:
        raise UnavailableError(string_of(header, "unavailable", what))
    native = string_of(header, "native", what) if "native" in header else ""
    return Welcome(string_of(header, "name", what), string_of(header, "version", what), native)


class AnswerReader:
    """Reads the headers of answers; those that differ in the run only are parsed once."""

    def __init__(self, types: Mapping[str, DType], *, own_types: bool = False) -> None:
        """Take the types of the specs; with `own_types`, outputs may be of others as well."""
        self._types, self._own_types = types, own_types
        self._known: dict[bytes, Said] = {}

    def read(self, line: bytes, run: int) -> Said:
        """Read the header that answers request number `run`. Raises ProtocolError."""
        said_run, rest = split_run(line)
        said = self._known.get(rest) if said_run == run else None
        if said is None:
            said = read_answer(line, run, self._types, own_types=self._own_types)
            if said_run == run and not any(t.texts is not None for t in said.tensors):
                remember(self._known, rest, said)
        return said


def read_answer(
    line: bytes, run: int, types: Mapping[str, DType], *, own_types: bool = False
) -> Said:
    """Read the header that answers request number `run`; with `own_types`, outputs may be of types
    that no spec has. Raises ProtocolError.
    """
    header = read_header(line)
    _check_run(header, run, line)
    kinds = [kind for kind in KINDS if kind in header]
    if len(kinds) != 1:
        found = " and ".join(kinds) or "no outputs, nor why there are none"
        wrong(f"the answer has {found}: {quoted_line(line)}", f"it has one of {', '.join(KINDS)}")
    return _said(header, kinds[0], types, own_types)


def _said(header: Header, kind: str, types: Mapping[str, DType], own_types: bool) -> Said:
    restart = flag(header, "restart")
    if kind == "outputs":
        entries = list_of(header, kind)
        found = (
            read_tensor(e, types, f"output {n}", own_types=own_types)
            for n, e in enumerate(entries, 1)
        )
        return Said(None, tuple(found), restart)
    if kind == "oversized":
        left = [read_tensor(e, types, f"output {n}", sized=False, own_types=own_types)
                for n, e in enumerate(list_of(header, kind), 1)]  # fmt: skip
        shapes, names = tuple(t.shape for t in left), tuple(t.dtype.name for t in left)
        return Said(Oversized(shapes, names), (), restart)
    words = string_of(header, kind, "the answer")
    if kind == "error":
        return Said(Raised(words), (), restart=True)
    if kind == "declined":
        return Said(Declined(words, missing=flag(header, "missing")), (), restart)
    return Said(Refused(words), (), restart)


def _check_run(header: Header, run: int, line: bytes) -> None:
    said = header.get("run")
    if said == run and not isinstance(said, bool):
        return
    if not isinstance(said, int) or isinstance(said, bool):
        wrong(
            f"the answer has no number `run`: {quoted_line(line)}", f"repeat the request's: {run}"
        )
    if said == run - 1:
        wrong(
            f"run {said} is answered twice: {quoted_line(line)}", "answer each request exactly once"
        )
    late = "late" if said < run else "it was not asked yet"
    wrong(f"answers run {said} when run {run} was asked: {late}", "answer requests in order")


def write_answer(
    run: int, answer: Answer, types: Mapping[str, DType], restart: bool
) -> list[bytes | memoryview]:
    """Write an answer: the header line, then the payloads.

    Raises TypeError for what is no answer, and for codes that are not in their type's storage.
    """
    more = ', "restart": true' if restart else ""
    if not isinstance(answer, Outputs):
        return [f'{{"run": {run}, {_without_payload(answer)}{more}}}\n'.encode()]
    dtypes = (_known(name, types) for name in answer.types)
    pairs = [_stored(*pair) for pair in zip(dtypes, answer.arrays, strict=True)]
    entries = ", ".join([describe(*pair) for pair in pairs])
    return message(f'{{"run": {run}, "outputs": [{entries}]{more}}}\n', pairs)


def _without_payload(answer: Answer) -> str:
    if isinstance(answer, Raised):
        return f'"error": {json.dumps(answer.message)}'
    if isinstance(answer, Refused):
        return f'"refused": {json.dumps(answer.message)}'
    if isinstance(answer, Declined):
        missing = ', "missing": true' if answer.missing else ""
        return f'"declined": {json.dumps(answer.message)}{missing}'
    if isinstance(answer, Oversized):
        left = [{"type": t, "shape": s} for t, s in zip(answer.types, answer.shapes, strict=True)]
        return f'"oversized": {json.dumps(left)}'
    raise TypeError(f"the answer is a {type(answer).__name__}, not tensors")


def _known(name: str, types: Mapping[str, DType]) -> DType:
    if name not in types:
        raise TypeError(f"the answer has the type {name}, which convcheck does not know")
    return types[name]


def _stored(dtype: DType, bits: Bits) -> tuple[DType, Bits]:
    if not isinstance(bits, np.ndarray) or bits.dtype != dtype.format.storage:
        kind = getattr(bits, "dtype", type(bits).__name__)
        raise TypeError(f"codes as {kind}, not {dtype.format.storage}, for {dtype}")
    return dtype, bits
