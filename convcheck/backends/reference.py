"""convcheck's own evaluator as a backend, to test pipelines and to plant bugs."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import cast

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
from convcheck.numerics.format import Float
from convcheck.numerics.number import Bits, Codes
from convcheck.rules.load import Catalog, load, user_folders
from convcheck.rules.model import Case
from convcheck.semantics.answers_at import run_program
from convcheck.semantics.body import compile_calls
from convcheck.semantics.evaluate import compile_case
from convcheck.semantics.expected import (
    ANY_NAN,
    EXACT,
    REFUSED,
    CompiledCalls,
    ExpectedOutput,
    Reading,
)
from convcheck.semantics.program import Program

KEPT = 1 << 12  # inputs of a case whose expected values are cached


class Reference:
    """Answers every case with the expected values of its first reading."""

    name = "reference"
    version = f"convcheck {__version__}"

    def __init__(self, catalog: Catalog | None = None) -> None:
        self._catalog = catalog or load(user_folders())
        self._compiled = lru_cache(maxsize=1)(self._compile)  # calls for a case follow each other
        self._compiled_calls = lru_cache(maxsize=1)(self._compile_calls)
        self._known: _Known | None = None

    def support(self, case: Case) -> Declined | None:
        """Decline cases of specs that this process did not load."""
        if case.spec in self._catalog.specs:
            return None
        return Declined(f"no spec {case.spec} among the built-in ones", missing=True)

    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        """Evaluate the case."""
        return self._call(case, inputs) if case.whole_calls else self._elements(case, inputs[0])

    def _elements(self, case: Case, bits: Bits) -> Answer:
        reading = self._reading(case, bits.reshape(-1))
        if bits.size and (reading.patterns == REFUSED).all():
            return Refused("the spec expects a refusal")
        codes = reading.codes.reshape(bits.shape)
        return Outputs((codes,), tuple(t.name for t in case.outputs))

    def _reading(self, case: Case, bits: Bits) -> Reading:
        if self._known is not None and self._known.case == case:
            found = self._known.reading(bits)
            if found is not None:
                return found
        reading = run_program(self._compiled(case), case, bits).readings[0]
        if 0 < len(bits) <= KEPT:
            codes, first = np.unique(bits, return_index=True)
            due = Reading(reading.codes[first], reading.patterns[first])
            self._known = _Known(case, cast(Bits, codes), due)
        return reading

    def _call(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        calls = self._compiled_calls(case)
        if (size := calls.size(inputs)) > max_elements():
            return Oversized(((size,),), tuple(t.name for t in case.outputs))
        reading = calls.expect(inputs).readings[0]
        if reading.pattern != EXACT:
            return Refused("the spec expects a refusal, or nothing")
        arrays = tuple(map(_answer_to, reading.outputs))
        return Outputs(arrays, tuple(due.dtype.name for due in reading.outputs))

    def _compile(self, case: Case) -> Program:
        return compile_case(self._catalog.specs[case.spec], case)

    def _compile_calls(self, case: Case) -> CompiledCalls:
        return compile_calls(self._catalog.specs[case.spec], case)


def _answer_to(due: ExpectedOutput) -> Bits:
    """Return codes that match an output, for any NaN the format's own."""
    if not isinstance(due.dtype.format, Float):
        return due.codes.reshape(due.shape)
    nan, codes = due.dtype.format.nan_code, cast(Codes, due.codes)
    found = np.where(due.patterns == ANY_NAN, codes.dtype.type(nan), codes)
    return found.reshape(due.shape)


@dataclass(frozen=True)
class _Known:
    """The expected values of sorted, unique inputs of a case."""

    case: Case
    codes: Bits
    due: Reading

    def reading(self, bits: Bits) -> Reading | None:
        """Return the expected values of inputs of shape (n,), None unless all are known."""
        place = np.searchsorted(self.codes[:-1], bits)
        if not (self.codes[place] == bits).all():
            return None
        return Reading(self.due.codes[place], self.due.patterns[place])
