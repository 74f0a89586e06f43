"""Serve a backend over the process protocol."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO

import numpy as np

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

    run: int
    case: Case | Declined
    tensors: tuple[headers.WireTensor, ...]


def serve(backend: Backend, catalog: Catalog, requests: IO[bytes], answers: int) -> None:
    """Answer requests on file descriptor `answers`. Raises ProtocolError for a bad request."""
    side = _Side(backend, catalog)
    for line in iter(requests.readline, b""):
        request = side.read(line)
        if request is None:
            name, version = str(backend.name), str(backend.version)
            welcome = {"hello": headers.VERSION, "name": name, "version": version}
            _write(answers, [headers.write_header(welcome)])
            continue
        inputs = [_take(requests, tensor) for tensor in request.tensors]
        _write(answers, side.answer(request, inputs))


class _Side:
    def __init__(self, backend: Backend, catalog: Catalog) -> None:
        self._backend, self._catalog, self._types = backend, catalog, catalog.types.types
        self._cases: dict[str, Case] = {}
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
        if name not in self._cases:
            spec = self._catalog.specs.get(name.partition("/")[0])
            new = {case.id: case for case in cases(spec)} if spec else {}
            self._cases = {**new, **self._cases}
        if name not in self._cases:  # with an unlisted attribute value
            try:
                self._cases[name] = find_case(self._catalog, name)
            except UsageError as error:
                return Declined(f"no case {name} here: {error.message}", missing=True)
        return self._cases[name]

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
        if self._supported is None or self._supported[0] is not case:
            self._supported = (case, checked_support(self._backend.support(case)))
        return self._supported[1] or checked_answer(self._backend.answer(case, inputs), case)


def _take(requests: IO[bytes], tensor: headers.WireTensor) -> Bits:
    memory = np.empty(tensor.size, np.uint8)
    view, done = memory.data, 0
    while done < tensor.size:
        count = requests.readinto(view[done:])  # type: ignore[attr-defined]  # not in IO
        if not count:
            came = f"{number(done)} of the {plural(tensor.size, 'byte')} of a tensor"
            headers.wrong(f"the input ends after {came}", "send exactly `bytes` bytes")
        done += count
    return tensor.bits(memory)


def _write(pipe: int, parts: Sequence[bytes | memoryview]) -> None:
    left = list(parts)
    while left:
        left = headers.after(left, os.writev(pipe, left[:16]))
