"""convcheck's own evaluator as a backend, to test pipelines and to plant bugs."""

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import TypeVar

from convcheck import __version__
from convcheck.backends.protocol import Answer, Declined, Outputs, Oversized, Refused, max_elements
from convcheck.numerics.number import Bits
from convcheck.rules.load import Catalog, load, user_folders
from convcheck.rules.model import Case, Spec
from convcheck.semantics.answers_at import run_program
from convcheck.semantics.body import compile_calls
from convcheck.semantics.evaluate import compile_case
from convcheck.semantics.expected import EXACT, REFUSED

T = TypeVar("T")


class Reference:
    """Answers every case with the expected values of its first reading."""

    name = "reference"
    version = f"convcheck {__version__}"

    def __init__(self, catalog: Catalog | None = None) -> None:
        self._catalog = catalog or load(user_folders())
        # calls for a case follow each other
        self._compiled = lru_cache(maxsize=1)(partial(self._compile, compile_case))
        self._compiled_calls = lru_cache(maxsize=1)(partial(self._compile, compile_calls))

    def support(self, case: Case) -> Declined | None:
        """Decline cases of specs that this process did not load."""
        if case.spec in self._catalog.specs:
            return None
        return Declined(f"no spec {case.spec} among the built-in ones", missing=True)

    def answer(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        """Evaluate the case."""
        return self._call(case, inputs) if case.whole_calls else self._elements(case, inputs[0])

    def _elements(self, case: Case, bits: Bits) -> Answer:
        reading = run_program(self._compiled(case), case, bits.reshape(-1)).readings[0]
        if bits.size and (reading.patterns == REFUSED).all():
            return Refused("the spec expects a refusal")
        codes = reading.codes.reshape(bits.shape)
        return Outputs((codes,), tuple(t.name for t in case.outputs))

    def _call(self, case: Case, inputs: Sequence[Bits]) -> Answer:
        calls = self._compiled_calls(case)
        if (size := calls.size(inputs)) > max_elements():
            return Oversized(((size,),), tuple(t.name for t in case.outputs))
        reading = calls.expect(inputs).readings[0]
        if reading.pattern != EXACT:
            return Refused("the spec expects a refusal, or nothing")
        arrays = tuple(due.answer for due in reading.outputs)
        return Outputs(arrays, tuple(due.dtype.name for due in reading.outputs))

    def _compile(self, by: Callable[[Spec, Case], T], case: Case) -> T:
        return by(self._catalog.specs[case.spec], case)
