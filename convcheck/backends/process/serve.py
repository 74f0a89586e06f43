"""Serve a backend over the process protocol."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO, NoReturn

import numpy as np
from numpy.typing import NDArray

from convcheck.backends.checked import AnswerError, bounded, checked_answer, checked_support
from convcheck.backends.process import headers
from convcheck.backends.protocol import Answer, Backend, Declined, Raised, last_words
from convcheck.errors import UsageError
from convcheck.numerics.number import Bits
from convcheck.rules.cases import cases
from convcheck.rules.find import find_case
from convcheck.rules.load import Catalog
from convcheck.rules.model import Case
from convcheck.streams import number, plural


@dataclass(frozen=True)
class Request:
    """A request's case and tensors. An unknown case is Declined."""

    #: The number to repeat in the answer.
    run: int
    case: Case | Declined
    tensors: tuple[headers.WireTensor, ...]


def serve(backend: Backend, catalog: Catalog, requests: IO[bytes], answers: int) -> None:
    """Answer requests on file descriptor `answers`. Raises ProtocolError for a bad request."""
    side = _Side(backend, catalog)
    for line in iter(requests.readline, b""):
        request = side.read(line)
        if request is None:
            _write(answers, [_welcome(backend)])
            continue
        inputs = [_take(requests, tensor) for tensor in request.tensors]
        _write(answers, side.answer(request, inputs))


class _Side:
    def __init__(self, backend: Backend, catalog: Catalog) -> None:
        self._backend, self._cases = backend, _Cases(catalog)
        self._types = catalog.types.types
        self._supported: tuple[Case, Declined | None] | None = None

    def read(self, line: bytes) -> Request | None:
        hello = headers.read_header(line, headers.Hello, "stdin").hello
        if hello is not None:
            if hello != headers.VERSION:
                headers.wrong(f"hello of version {hello}", f"this is {headers.VERSION}")
            return None
        header = headers.read_header(line, headers.RequestHeader, "stdin")
        case = self._case(header.case)
        tensors = tuple(
            headers.read_tensor(entry, self._types, f"input {n}")
            for n, entry in enumerate(header.inputs, 1)
        )
        if isinstance(case, Case) and [t.dtype for t in tensors] != list(case.inputs):
            due = ", ".join(t.name for t in case.inputs)
            headers.wrong(f"the inputs are not those of {case.id}", f"their types are {due}")
        return Request(header.run, case, tensors)

    def _case(self, name: str) -> Case | Declined:
        try:
            return self._cases[name]
        except UsageError as error:
            return Declined(f"no case {name} here: {error.message}", missing=True)

    def answer(self, request: Request, inputs: Sequence[Bits]) -> list[bytes | memoryview]:
        try:
            found = self._found(request.case, inputs)
            restart = bool(getattr(self._backend, "spoiled", False))
            return headers.write_answer(request.run, found, self._types, restart=restart)
        except (Exception, SystemExit) as error:
            said = f"no answer: {error}" if isinstance(error, AnswerError) else last_words(error)
            raised = Raised(bounded(said))
            return headers.write_answer(request.run, raised, self._types, restart=True)

    def _found(self, case: Case | Declined, inputs: Sequence[Bits]) -> Answer:
        if isinstance(case, Declined):
            return case
        return self._declined(case) or checked_answer(self._backend.answer(case, inputs), case)

    def _declined(self, case: Case) -> Declined | None:
        if self._supported is None or self._supported[0] is not case:
            self._supported = (case, checked_support(self._backend.support(case)))
        return self._supported[1]


class _Cases(dict[str, Case]):
    """Cases by id, loaded with their spec."""

    def __init__(self, catalog: Catalog) -> None:
        super().__init__()
        self._catalog = catalog

    def __missing__(self, name: str) -> Case:
        spec = self._catalog.specs.get(name.partition("/")[0])
        if spec is not None:
            self.update((case.id, case) for case in cases(spec) if case.id not in self)
        if name not in self:  # with an unlisted attribute value
            self[name] = find_case(self._catalog, name, None, None, ())
        return self[name]


def _welcome(backend: Backend) -> bytes:
    name, version = str(backend.name), str(backend.version)
    return headers.write_header({"hello": headers.VERSION, "name": name, "version": version})


def _take(requests: IO[bytes], tensor: headers.WireTensor) -> Bits:
    if tensor.size <= headers.SMALL:
        data = bytearray(requests.read(tensor.size))
        if len(data) == tensor.size:
            return tensor.bits(np.frombuffer(data, np.uint8))
        _ended_early(len(data), tensor.size)
    return tensor.bits(_large(requests, tensor.size))


def _ended_early(done: int, size: int) -> NoReturn:
    came = f"{number(done)} of the {plural(size, 'byte')} of a tensor"
    headers.wrong(f"the input ends after {came}", "send exactly `bytes` bytes")


def _large(requests: IO[bytes], size: int) -> NDArray[np.uint8]:
    memory = np.empty(size, np.uint8)
    view, done = memory.data, 0
    while done < size:
        count = requests.readinto(view[done:])  # type: ignore[attr-defined]  # not in IO
        if not count:
            _ended_early(done, size)
        done += count
    return memory


def _write(pipe: int, parts: Sequence[bytes | memoryview]) -> None:
    left = list(parts)
    while left:
        left = headers.after(left, os.writev(pipe, left[:16]))
