"""The reference: convcheck's own evaluator as a backend.

It passes by construction; what it is for is to try a pipeline, to be asked what is right, and to
be planted with bugs. The proof that it is right is in the tests, against an independent oracle.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from convcheck import __version__
from convcheck.backends.protocol import (
    Answer,
    Declined,
    Outputs,
    Oversized,
    Refused,
    max_elements,
)
from convcheck.numerics.format import Bits
from convcheck.rules.load import Catalog, load, user_folders
from convcheck.rules.model import Case
from convcheck.semantics.body import compile_calls
from convcheck.semantics.evaluate import run_program
from convcheck.semantics.expected import EXACT, REFUSED
from convcheck.semantics.expected_calls import CompiledCalls
from convcheck.semantics.program import Program, compile_case


class Reference:
    """Answers every case with what is expected; under the first reading where there are several."""

    name = "reference"
    version = f"convcheck {__version__}"

    def __init__(self, catalog: Catalog | None = None) -> None:
        self._catalog = catalog or load(user_folders())
        self._compiled = lru_cache(maxsize=1)(self._compile)  # a case is asked many times in a row
        self._compiled_calls = lru_cache(maxsize=1)(self._compile_calls)
        self._last: tuple[Case, tuple[Bits, ...], Answer] | None = None

    def support(self, case: Case) -> Declined | None:
        """Decline what no spec file describes: a user's spec that this process did not load."""
        if case.spec in self._catalog.specs:
            return None
        return Declined(f"no spec {case.spec} among the built-in ones", missing=True)

    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        """Evaluate the case on inputs of any shape; the last inputs, which may come a hundred
        times, once.
        """
        if self._last is None or not _is_asked_again(case, inputs, self._last):
            found = self._call(case, inputs) if case.whole_calls else self._elements(case, *inputs)
            self._last = case, tuple(bits.copy() for bits in inputs), found
        return _to_keep(self._last[2])

    def _elements(self, case: Case, bits: Bits, *likes: Bits) -> Answer:
        """Answer element by element."""
        reading = run_program(self._compiled(case), case, bits.reshape(-1)).readings[0]
        if bits.size and (reading.patterns == REFUSED).all():
            return Refused("the spec expects a refusal")
        codes = reading.codes.reshape(bits.shape)
        return Outputs((codes,), tuple(t.name for t in case.outputs))

    def _call(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        """Answer a whole call."""
        calls = self._compiled_calls(case)
        if (size := calls.size(inputs)) > max_elements():
            return Oversized(((size,),), tuple(t.name for t in case.outputs))
        reading = calls.expect(inputs).readings[0]
        if reading.pattern != EXACT:
            return Refused("the spec expects a refusal, or nothing")
        arrays = tuple(due.codes.reshape(due.shape) for due in reading.outputs)
        return Outputs(arrays, tuple(due.dtype.name for due in reading.outputs))

    def _compile(self, case: Case) -> Program:
        return compile_case(self._catalog.specs[case.spec], case)

    def _compile_calls(self, case: Case) -> CompiledCalls:
        return compile_calls(self._catalog.specs[case.spec], case)


def _is_asked_again(
    case: Case, inputs: Sequence[Bits], last: tuple[Case, tuple[Bits, ...], Answer]
) -> bool:
    pairs = zip(inputs, last[1], strict=False)
    return case == last[0] and all(a.dtype == b.dtype and np.array_equal(a, b) for a, b in pairs)


def _to_keep(answer: Answer) -> Answer:
    """Return an answer that whoever asked may change."""
    if not isinstance(answer, Outputs):
        return answer
    return replace(answer, arrays=tuple(array.copy() for array in answer.arrays))
