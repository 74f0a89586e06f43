"""Runtimes that are asked in their own words, by the servers of `standalone.py`.

Such a server knows nothing of specs and types. A question brings all that its runtime has to be
given, the server passes on what that says, and this side tells what the answer means. It is the
same in this process, and in another Python at the end of a pipe.
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
    """How one runtime is asked in its own words."""

    #: Says why a case cannot be asked, None where it can; without the runtime.
    support: Callable[[Case, Catalog], Declined | None]
    #: Returns what a request has under `native`, but for the limit of an output's elements.
    ask: Callable[[Case, Catalog], Question]
    #: Returns what an answer means that has the runtime's own words.
    heard: Callable[[Answer], Answer]

    def question(self, case: Case, catalog: Catalog) -> Question:
        """Return what a request has under `native`."""
        return {**self.ask(case, catalog), "limit": max_elements()}


class Direct:
    """A runtime's server in this process. It keeps the last case's question."""

    def __init__(self, native: Native, server: Any, catalog: Catalog) -> None:
        self._native, self._server, self._catalog = native, server, catalog
        self._last: tuple[Case, Question] | None = None

    def question(self, case: Case) -> Question:
        """Return what the server is asked of a case."""
        if self._last is None or self._last[0] is not case:
            self._last = (case, self._native.question(case, self._catalog))
        return self._last[1]

    def answer(
        self, case: Case, inputs: Sequence[Bits], question: Question | None = None
    ) -> Answer:
        """Put a question to the server, that of the case unless another is given."""
        asked = question or self.question(case)
        given = [fed(t, bits, asked) for t, bits in zip(case.inputs, inputs, strict=True)]
        try:
            made = self._server.answer(asked, given)
        except Told as told:
            return self.told(told)
        return Outputs(tuple([codes for _, _, codes in made]), tuple([name for name, _, _ in made]))

    def told(self, told: Told) -> Answer:
        """Return the answer of a server that has no outputs."""
        header = msgspec.convert({"run": 0, **told.answer}, headers.AnswerHeader)
        return self._native.heard(headers.without_tensors(header))


def fed(dtype: DType, bits: Bits, question: Question) -> Fed:
    """Return an input as a server takes it: a copy, since a runtime may write to it."""
    known = question["types"][dtype.name]
    codes = np.array(bits, dtype.format.storage, order="C")
    return Fed(known["own"], known["bits"], bits.shape, codes)


def known_types(own: Callable[[DType], object], types: Iterable[DType]) -> dict[str, object]:
    """Return what a server has to know of types: what the runtime calls each, and its bits, 0 for
    texts; the first of those that it calls alike.
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
