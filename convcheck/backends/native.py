"""Run runtimes through the servers of `standalone.py`.

A server knows no specs and types. A request has all inputs of its runtime, and this module
interprets the answer. Servers run in this process or in another Python behind a pipe.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np

from convcheck.backends.packing import is_packed
from convcheck.backends.process import headers
from convcheck.backends.process.standalone import Fed, Told
from convcheck.backends.protocol import Answer, Declined, Outputs, max_elements
from convcheck.numerics.codes import Bits
from convcheck.numerics.format import Format, Text
from convcheck.rules.load import Catalog
from convcheck.rules.model import Case, DType

Question = dict[str, Any]


@dataclass(frozen=True)
class Native:
    """The requests and answers of a runtime's server."""

    #: Returns why a case cannot be run, None if it can. Needs no runtime.
    support: Callable[[Case, Catalog], Declined | None]
    #: Returns the `native` part of a request, except the limit of output elements.
    ask: Callable[[Case, Catalog], Question]
    #: Interprets an answer with the runtime's message.
    heard: Callable[[Answer], Answer]

    def question(self, case: Case, catalog: Catalog) -> Question:
        """Return the `native` part of a request."""
        return {**self.ask(case, catalog), "limit": max_elements()}


class Direct:
    """A runtime's server in this process. It caches the last case's request."""

    def __init__(self, native: Native, server: Any, catalog: Catalog) -> None:
        self._native, self._server, self._catalog = native, server, catalog
        self._last: tuple[Case, Question] | None = None

    def question(self, case: Case) -> Question:
        """Return the request of a case."""
        if self._last is None or self._last[0] is not case:
            self._last = (case, self._native.question(case, self._catalog))
        return self._last[1]

    def answer(
        self, case: Case, inputs: Sequence[Bits], question: Question | None = None
    ) -> Answer:
        """Run a request on the server, by default the case's."""
        asked = question or self.question(case)
        given = [fed(t, bits, asked) for t, bits in zip(case.inputs, inputs, strict=True)]
        try:
            made = self._server.answer(asked, given)
        except Told as told:
            return self.told(told)
        return Outputs(tuple([codes for _, _, codes in made]), tuple([name for name, _, _ in made]))

    def told(self, told: Told) -> Answer:
        """Return an answer without outputs."""
        header = msgspec.convert({"run": 0, **told.answer}, headers.AnswerHeader)
        return self._native.heard(headers.without_tensors(header))


def fed(dtype: DType, bits: Bits, question: Question) -> Fed:
    """Return an input for a server: a copy, since a runtime may write to it."""
    known = question["types"][dtype.name]
    codes = np.array(bits, dtype.format.storage, order="C")
    return Fed(known["own"], known["bits"], bits.shape, codes)


def known_types(own: Callable[[DType], object], types: Iterable[DType]) -> dict[str, object]:
    """Return types for a server: the runtime's name and the number of bits, 0 for texts.

    If several types share a name, the first is used.
    """
    found: dict[str, object] = {}
    taken = set()
    for dtype in types:
        name = own(dtype)
        if name and name not in taken:
            taken.add(name)
            found[dtype.name] = {"own": name, "bits": _bits(dtype.format)}
    return found


def _bits(fmt: Format) -> int:
    if isinstance(fmt, Text):
        return 0
    return fmt.bits if is_packed(fmt) else 8 * fmt.storage.itemsize
